"""`override`, `explain` and `config`: what a person types, what the service is told, and one line for what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from prewarm.cli.client import ServiceClient, ServiceError
from prewarm.cli.config import config
from prewarm.cli.explain import explain
from prewarm.cli.override import override
from prewarm.domain import InputError
from tests.cli.running import Process, serving

PROGRAM = str(Path(sys.executable).with_name("prewarm"))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A running world."""
    with serving(tmp_path_factory.mktemp("clients")) as process:
        process.until("/readyz")
        yield process


def said(command: object, *arguments: str) -> Result:
    done = CliRunner().invoke(command, list(arguments))  # type: ignore[arg-type]
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_an_override_is_set_listed_explained_and_ended(service: Process) -> None:
    at = ("--service", service.url)
    done = said(override, "set", "shop/checkout", "pin", "3", "--for", "2h", "--reason", "launch", "--owner", "me", *at)
    assert done.output.startswith("shop/checkout: pin 3 until ")
    assert done.output.endswith("(me: launch)\n")
    listed = json.loads(said(override, "list", "--json", *at).output)
    assert [(one["function"], one["value"]) for one in listed] == [("shop/checkout", 3)]
    before = service.until("/readyz")["now"]
    while service.until("/readyz")["now"] <= before + 60:
        pass
    why = said(explain, "shop/checkout", *at).output
    assert "pin by me: launch" in why
    identity = why.split("id ")[1].strip()
    made = json.loads(said(explain, identity, "--json", *at).output) if len(identity) == 26 else {}
    assert made.get("function", "shop/checkout") == "shop/checkout"
    assert said(override, "end", "shop/checkout", *at).output.startswith("ended: shop/checkout: pin 3")
    assert said(override, "list", *at).output == "no override holds\n"


def test_it_has_to_be_said_when_an_override_ends() -> None:
    with pytest.raises(InputError, match="one of --for, --until and --forever"):
        override.main(["set", "a/b", "pin", "1", "--reason", "x"], standalone_mode=False)
    with pytest.raises(InputError, match="must be a number with s, m, h, d or w"):
        override.main(["set", "a/b", "pin", "1", "--reason", "x", "--for", "soon"], standalone_mode=False)


def test_the_sentence_of_the_service_is_what_is_printed(service: Process) -> None:
    client = ServiceClient(service.url)
    with pytest.raises(ServiceError, match="function 'no/such' is not known here"):
        client.read("/v1/functions/no%2Fsuch/decision")


def test_without_a_service_there_is_one_line_and_a_hint() -> None:
    done = subprocess.run(
        [PROGRAM, "explain", "a/b", "--service", "http://127.0.0.1:9"], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 2
    assert done.stderr.startswith("prewarm: no service answers at http://127.0.0.1:9 (")
    assert done.stderr.count("\n") == 1
    with pytest.raises(InputError, match="must begin with http"):
        ServiceClient("127.0.0.1:8808")


@pytest.mark.parametrize(
    ("token", "address", "told"),
    [
        ("a\nb", "http://127.0.0.1:9", "PREWARM_TOKEN: must be plain characters"),
        ("日本", "http://127.0.0.1:9", "PREWARM_TOKEN: must be plain characters"),
        ("a", "http://[::1", "service: is no address"),
    ],
)
def test_a_token_or_address_that_no_request_can_carry_is_wrong_use(
    monkeypatch: pytest.MonkeyPatch, token: str, address: str, told: str
) -> None:
    monkeypatch.setenv("PREWARM_TOKEN", token)
    with pytest.raises(InputError, match=told):
        ServiceClient(address)


def test_what_answers_without_json_is_not_the_service(service: Process) -> None:
    with pytest.raises(ServiceError, match="is not prewarm: no JSON"):
        ServiceClient(service.url).read("/metrics")


@pytest.mark.parametrize(
    ("when", "told"),
    [
        (["--for", "999999999999w"], "--for: must be 10 years or less"),
        (["--for", "9" * 5000 + "d"], "--for: must be a number with s, m, h, d or w"),
        (["--until", "9999-12-31T23:59:59-14:00"], "--until: must be in the years 1 to 9999"),
    ],
)
def test_an_end_beyond_the_calendar_is_wrong_use(when: list[str], told: str) -> None:
    with pytest.raises(InputError, match=told):
        override.main(["set", "a/b", "pin", "1", "--reason", "x", *when], standalone_mode=False)


def test_the_example_of_the_manual_is_good(tmp_path: Path) -> None:
    manual = Path(__file__).parents[2] / "docs" / "configuration.md"
    example = tmp_path / "example.toml"
    example.write_text(manual.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0], encoding="utf-8")
    assert said(config, "check", str(example)).output.startswith(f"{example}: good (1 function entries, 1 calls")


def test_a_speed_that_is_no_number_is_wrong_use() -> None:
    done = subprocess.run([PROGRAM, "serve", "--speed", "nan"], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (2, "prewarm: --speed: must be a number from 1 to 3600, is nan\n")


def test_a_configuration_is_checked_without_starting_anything(tmp_path: Path) -> None:
    good = tmp_path / "good.toml"
    good.write_text('[serve]\nlisten = "127.0.0.1:9000"\n[[function]]\nkey = "shop/*"\nmin = 1\n')
    assert said(config, "check", str(good)).output == (
        f"{good}: good (1 function entries, 0 calls, listening on 127.0.0.1:9000)\n"
    )
    assert json.loads(said(config, "check", str(good), "--json").output)["function"][0]["min"] == 1
    open_to_all = tmp_path / "open.toml"
    open_to_all.write_text('[serve]\nlisten = "0.0.0.0:9000"\n')
    with pytest.raises(InputError, match="which needs a token"):
        config.main(["check", str(open_to_all)], standalone_mode=False)
    bad = tmp_path / "bad.toml"
    bad.write_text('[[function]]\nkey = "shop/*"\nmin = -1\n')
    with pytest.raises(InputError, match=r"function\[0\].min"):
        config.main(["check", str(bad)], standalone_mode=False)


@pytest.mark.parametrize("command", ["serve", "override", "explain", "config"])
def test_help_shows_an_example(command: str) -> None:
    done = subprocess.run([PROGRAM, command, "--help"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0
    assert "Example" in done.stdout
