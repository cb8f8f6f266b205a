"""Files as tables: what is skipped with a notice, what is an error with its line, who wins a merge."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.kubeconfig.listing import contexts
from federation.kubeconfig.syntax import entries
from federation.kubeconfig.syntax.documents import merge, parse
from prewarm.domain import InputError
from tests.federation.kubeconfig.made import config

FILE = Path("/fleet/config")
WORDS = sorted(entries._CLUSTER | entries._USER | entries._EXEC | {"name", "cluster", "user", "context", "namespace"})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"clusters: [\n  {name: a,\n", "/fleet/config, line 2: is not YAML"),
        (b"a: b\n\tc: d\n", "/fleet/config, line 2: is not YAML"),
        (b"apiVersion: v1\nkind: Config\nusers: !!python/object:os.system x\n", "/fleet/config, line 3: is not YAML"),
        (b"a: \x00\n", "/fleet/config, line 1: is not YAML"),
        (b"a: 1\nb: \xff\n", "/fleet/config, line 2: is not UTF-8"),
        (b"a: 1\n? [b]\n: c\n", "/fleet/config, line 2: is not YAML"),
        (b"- a\n", "/fleet/config: a kubeconfig must be a mapping"),
        (b"kind: Pod\n", "/fleet/config: must be of apiVersion v1 and kind Config, is v1 Pod"),
        (b"apiVersion: v2\n", "is v2 Config"),
        (b"[" * 100_000, "/fleet/config"),
    ],
)
def test_what_is_no_kubeconfig_is_an_error_that_names_file_and_line(data: bytes, said: str) -> None:
    with pytest.raises(InputError, match=r"^/fleet/config") as caught:
        parse(data, FILE)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("token", ["made-up-secret: {", "!made-up-secret x", "*made-up-secret", "'made-up-secret"])
def test_an_error_never_quotes_the_line_it_is_in(token: str) -> None:
    with pytest.raises(InputError, match="is not YAML") as caught:
        parse(f"users:\n- name: u\n  user:\n    token: {token}\n".encode(), FILE)
    assert "made-up" not in str(caught.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "u", "c", "https://a", "\n"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)
tables = st.fixed_dictionaries({}, optional=dict.fromkeys(("clusters", "users", "contexts"), json_values))
entry = st.dictionaries(st.sampled_from(WORDS), json_values, max_size=6)
tidy = st.builds(
    lambda c, u, x: config({"c": c}, {"u": u}, {"x": x, "y": {"cluster": "c", "user": "u"}}), entry, entry, entry
)


@settings(max_examples=50)
@given(tables | tidy)
def test_whatever_stands_in_a_file_each_context_is_a_member_or_says_why(tree: dict[str, object]) -> None:
    document = parse(yaml.safe_dump(tree).encode(), FILE)
    members, broken = contexts(document, separate=False)
    assert len(members) + len(broken) == len(document.contexts)
    assert all(one.why.startswith("/fleet/config: ") and "\n" not in one.why for one in broken)


@given(st.binary(max_size=200) | st.text("[]{}:-?&*!|>'\"%@ \n\tab", max_size=60).map(str.encode))
def test_whatever_the_bytes_are_they_are_read_or_an_error_of_one_line(data: bytes) -> None:
    try:
        parse(data, FILE)
    except InputError as error:
        assert str(error).startswith("/fleet/config")
        assert "\n" not in str(error)


@pytest.mark.parametrize("data", [b"", b"# nothing\n", b"---\n", b"null\n", b"{}", b"clusters: null\nusers:\n"])
def test_a_file_with_nothing_in_it_is_one_notice(data: bytes) -> None:
    found = parse(data, FILE)
    assert not (found.clusters or found.users or found.contexts)
    assert len(found.notices) == 1
    assert found.notices[0].startswith("/fleet/config: ")


def test_what_cannot_be_read_of_a_section_leaves_the_rest() -> None:
    found = parse(
        b"clusters: text\ncontexts: [null, {name: 7}, {context: {}}, {name: a, context: {cluster: c}}]\n", FILE
    )
    assert list(found.contexts) == ["a"]
    assert found.notices == (
        "/fleet/config: clusters must be a list; nothing of it is used",
        "/fleet/config: contexts[0] must be a mapping with a name; it is not used",
        "/fleet/config: contexts[1] must be a mapping with a name; it is not used",
        "/fleet/config: contexts[2] must be a mapping with a name; it is not used",
    )


def test_json_may_be_indented_by_tabs_and_yaml_may_begin_with_a_mark() -> None:
    assert list(parse(b'{\n\t"users": [{"name": "u", "user": {}}]\n}', FILE).users) == ["u"]
    assert list(parse(b"\xef\xbb\xbfusers: [{name: u, user: {}}]", FILE).users) == ["u"]


@pytest.mark.parametrize("text", ["1:30", "2026-01-01", "2026-01-01T00:00:00Z", "12:34:56.7", "1e3x"])
def test_what_go_reads_as_text_is_text(text: str) -> None:
    entry = parse(f"users: [{{name: u, user: {{token: {text}}}}}]".encode(), FILE).users["u"]
    assert entry.value == {"token": text}


@pytest.mark.parametrize(("text", "value"), [("7", 7), ("0x1F", 31), ("1.5", 1.5), ("yes", True), ("~", None)])
def test_what_go_reads_as_something_else_is_no_text(text: str, value: object) -> None:
    assert parse(f"users: [{{name: u, user: {text}}}]".encode(), FILE).users["u"].value == value


def test_the_first_file_wins_with_its_whole_entry() -> None:
    a = parse(b"users: [{name: u, user: {username: ann}}]", Path("/a"))
    b = parse(b"current-context: two\nusers: [{name: u, user: {token: t}}, {name: v, user: {}}]", Path("/b"))
    c = parse(b"current-context: three", Path("/c"))
    merged = merge([a, b, c])
    assert merged.users["u"].value == {"username": "ann"}
    assert merged.users["u"].file == Path("/a")
    assert merged.users["v"].file == Path("/b")
    assert merged.current_context == "two"


def test_a_name_that_stands_twice_in_one_file_is_counted() -> None:
    found = parse(b"users: [{name: u, user: {token: a}}, {name: u, user: {token: b}}]", FILE)
    assert found.users["u"].count == 2
