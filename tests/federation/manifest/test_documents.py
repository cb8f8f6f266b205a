"""Files that nobody should trust: broken, huge, odd."""

from __future__ import annotations

import pytest

from federation.manifest import read_documents
from prewarm.domain import InputError


def refused(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read_documents(text, "f.yaml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_dates_and_version_numbers_in_texts_stay_texts() -> None:
    [(body, place)] = read_documents("a: 2026-01-01\nb: 2026-01-01T00:00:00Z\nc: '1.10'\n", "f.yaml")
    assert body == {"a": "2026-01-01", "b": "2026-01-01T00:00:00Z", "c": "1.10"}
    assert place == "f.yaml: document 1"


def test_places_count_every_document_even_empty_ones() -> None:
    found = read_documents("---\n---\na: 1\n---\n{kind: List, apiVersion: v1, items: [{b: 2}]}\n", "f.yaml")
    assert [place for _, place in found] == ["f.yaml: document 2", "f.yaml: document 3.items[0]"]


def test_json_is_yaml() -> None:
    assert read_documents('{"a": [1, null, true]}', "f.json")[0][0] == {"a": [1, None, True]}


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("", "holds no object"),
        ("---\n", "holds no object"),
        ("a: [", "is not YAML"),
        ("a: !!python/object/apply:os.system ['true']", "is not YAML"),
        ("- 1\n", "document 1: must be an object"),
        ("1: a\n", "names of fields must be texts"),
        ("a: !!binary aGVsbG8=\n", "JSON has no word for"),
        ("a: " + "[" * 200 + "]" * 200, "or 100 levels"),
        ("a: " + "[" * 20_000, "nested too deeply"),
        ("{apiVersion: v1, kind: List, items: [x]}", "items[0]: must be an object"),
    ],
)
def test_a_bad_file_is_one_line_with_the_rule(text: str, rule: str) -> None:
    assert rule in refused(text)


def test_aliases_that_unfold_without_end_are_stopped() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 9)]
    assert "unfolds to more than 200000 values" in refused("\n".join(lines))


def test_an_ordinary_alias_is_copied() -> None:
    [(body, _)] = read_documents("a: &x {k: 1}\nb: *x\n", "f.yaml")
    assert body == {"a": {"k": 1}, "b": {"k": 1}}
    assert body["a"] is not body["b"]
