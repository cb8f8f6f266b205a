"""Lines do not depend on how they were cut, and only our memory bounds them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.members.lines import Lines, LongLineError

ROW = st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"").replace(b"\r", b""))


@given(rows=st.lists(ROW, max_size=8), cuts=st.lists(st.integers(0, 300), max_size=12), last=ROW)
def test_any_cutting_gives_the_same_lines(rows: list[bytes], cuts: list[int], last: bytes) -> None:
    whole = b"".join(row + b"\n" for row in rows) + last
    edges = sorted({0, len(whole), *(min(cut, len(whole)) for cut in cuts)})
    lines, found = Lines(1_000), list[bytes]()
    for start, end in pairwise(edges):
        found += lines.feed(whole[start:end])
    assert found == [row for row in rows if row]
    assert lines.end() == last


def test_a_line_of_five_mebibytes_comes_whole() -> None:
    lines = Lines(16 << 20)
    big = b"x" * (5 << 20)
    found = [line for at in range(0, len(big), 65_536) for line in lines.feed(big[at : at + 65_536])]
    assert found == []
    assert lines.feed(b"\nnext\n") == [big, b"next"]


def test_a_line_without_end_is_an_error_before_it_fills_the_memory() -> None:
    lines = Lines(100)
    lines.feed(b"x" * 90)
    with pytest.raises(LongLineError, match="longer than 100 bytes"):
        lines.feed(b"x" * 11)


def test_the_limit_is_of_one_line_and_not_of_a_chunk() -> None:
    assert Lines(10).feed(b"123456789\n" * 50) == [b"123456789"] * 50


def test_returns_are_left_out() -> None:
    lines = Lines(10)
    assert lines.feed(b"a\r\nb") == [b"a"]
    assert lines.feed(b"\r\n") == [b"b"]
