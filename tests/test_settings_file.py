"""The configuration file: what is read, and one line for each thing that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from prewarm.domain import InputError, Mode
from prewarm.settings import Settings
from prewarm.settings_file import read_settings


def settings(tmp_path: Path, text: str, **environ: str) -> Settings:
    """The settings of a file with this text."""
    path = tmp_path / "prewarm.toml"
    path.write_text(text, encoding="utf-8")
    return read_settings(path, environ)


def test_nothing_said_gives_the_safe_defaults() -> None:
    """Loopback, shadow, no tokens."""
    plain = read_settings(None, {})
    assert (plain.serve.listen, plain.serve.mode) == ("127.0.0.1:8808", Mode.SHADOW)
    assert plain.auth.read_token_sha256 == ()


def test_a_file_is_read_and_variables_win_over_it(tmp_path: Path) -> None:
    """Operators override one value without touching the file."""
    read = settings(
        tmp_path,
        '[serve]\ntick_s = 30\nmode = "active"\n[[function]]\nkey = "shop/*"\nmin = 2\n'
        '[[call]]\ncaller="a/b"\ncallee="a/c"\n',
        PREWARM_SERVE__TICK_S="5",
    )
    assert (read.serve.tick_s, read.serve.mode) == (5.0, Mode.ACTIVE)
    assert read.policy_of("shop/cart").min == 2
    assert read.policy_of("blog/feed").min == 0
    assert read.call[0].calls_per_invocation == 1.0


def test_a_token_is_kept_as_its_digest_only(tmp_path: Path) -> None:
    """Nothing that prints the settings can print the token."""
    read = settings(tmp_path, "", PREWARM_WRITE_TOKEN="s3cret")
    assert "s3cret" not in repr(read)
    assert read.auth.write_token_sha256 == ("1ec1c26b50d5d3c58d9583181af8076655fe00756bf7285940ba3670f99fcba0",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[serve]\ntick_s = 0\n", "serve.tick_s: input should be greater than or equal to 1, is 0"),
        ("[serve]\ntick = 5\n", "serve: tick: unknown field"),
        ("[[function]]\nmin = -1\n", "function[0].min: input should be greater than or equal to 0, is -1"),
        ("[[function]]\nmin = 5\nmax = 2\n", "function[0]: max: must be at least min (5), is 2"),
        ('[[function]]\nwindows = [{zone = "Mars/Base"}]\n', "windows[0]: zone: is not a time zone: 'Mars/Base'"),
        ("[[function]]\nwindows = [{min = 5, max = 2}]\n", "windows[0]: max: must be at least min (5), is 2"),
        ("[[function]]\nwindows = [{mim = 5}]\n", "windows[0]: mim: unknown field"),
        (
            '[[event]]\nname="a"\nfunction="*"\nstart=2026-11-30T10:00:00\nend=2026-11-30T11:00:00Z\nneed=1\n',
            "start: needs a zone",
        ),
        (
            '[[event]]\nname="a"\nfunction="*"\nstart=2026-11-30T12:00:00Z\nend=2026-11-30T11:00:00Z\nneed=1\n',
            "event[0]: end: must be after start",
        ),
        ('[[function]]\nwindows = [{zone = "Europe"}]\n', "windows[0]: zone: is not a time zone: 'Europe'"),
        ('[function]\nkey = "a/b"\n', "function: must be a list of tables, written [[function]]"),
        ('[[call]]\ncaller = "a"\ncallee = "a/b"\n', "call[0].caller: must be namespace/name"),
        ("[retention]\nminute_days = 10\n", "retention: minute_days <= five_minute_days <= hour_days is required"),
        ("[serve]\nstale_s = 0\n", "serve.stale_s: input should be greater than 0"),
        ("[[function]]\nmemory_mib = inf\n", "memory_mib: input should be less than or equal to 1000000000, is inf"),
        ('[auth]\ntls_cert = "c"\n', "auth: tls_cert and tls_key go together"),
        (
            '[[event]]\nname="a"\nfunction="*"\nstart=0001-01-01T00:00:00+14:00\nend=2026-01-01T00:00:00Z\nneed=1\n',
            "start: must be in the years 1900 to 8999",
        ),
        ("serve = 3\n", "serve: input should be a dictionary or an instance of serve, is 3"),
        ("[serve\n", "is not TOML"),
    ],
)
def test_a_fault_is_one_line_with_file_field_and_rule(tmp_path: Path, text: str, told: str) -> None:
    """What is printed is enough to mend it."""
    with pytest.raises(InputError) as caught:
        settings(tmp_path, text)
    assert told in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "prewarm.toml"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("field", ["read_token_sha256", "write_token_sha256"])
def test_a_token_in_the_place_of_its_digest_is_told_but_not_shown(tmp_path: Path, field: str) -> None:
    """It would match nothing, and the log is no place for it."""
    with pytest.raises(InputError, match=rf"auth.{field}\[0\]: must be 64 hexadecimal digits") as caught:
        settings(tmp_path, f'[auth]\n{field} = ["s3cret-ä"]\n')
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "environ", "told"),
    [
        ("", {"PREWARM_WRITE_TOKEN": " "}, "PREWARM_WRITE_TOKEN: is empty"),
        ("auth = 3\n", {"PREWARM_READ_TOKEN": "a"}, "auth: must be a table"),
        ('[auth]\nread_token_sha256 = "a"\n', {"PREWARM_READ_TOKEN": "a"}, "auth.read_token_sha256: must be a list"),
        ('serve = "x"\n', {"PREWARM_SERVE__TICK_S": "5"}, "serve: must be a table"),
    ],
)
def test_a_variable_on_top_of_a_faulty_file_is_one_line(
    tmp_path: Path, text: str, environ: dict[str, str], told: str
) -> None:
    """Whatever the two say together."""
    with pytest.raises(InputError, match=told):
        settings(tmp_path, text, **environ)


def test_blanks_around_a_token_are_none_of_it(tmp_path: Path) -> None:
    """Secrets kept in files often end in a new line."""
    assert settings(tmp_path, "", PREWARM_READ_TOKEN="a\n").auth == settings(tmp_path, "", PREWARM_READ_TOKEN="a").auth


def test_a_missing_file_and_a_wrong_variable_are_named(tmp_path: Path) -> None:
    """Before anything is started."""
    with pytest.raises(InputError, match="no such file"):
        read_settings(tmp_path / "absent.toml", {})
    with pytest.raises(InputError, match="PREWARM_SERV__LISTEN: no such table"):
        read_settings(None, {"PREWARM_SERV__LISTEN": "x"})


def test_an_event_covers_the_time_from_its_start_to_its_end(tmp_path: Path) -> None:
    """Any overlap counts, touching does not."""
    times = "start=2026-11-30T10:00:00Z\nend=2026-11-30T11:00:00+00:00\n"
    event = settings(tmp_path, f'[[event]]\nname="sale"\nfunction="shop/*"\nneed=72\n{times}').event[0]
    ten = 1796032800.0
    assert event.covers(ten - 60, ten + 1)
    assert not event.covers(ten - 60, ten)
    assert not event.covers(ten + 3600, ten + 3660)
