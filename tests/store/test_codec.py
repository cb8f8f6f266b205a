"""Counts survive the way through bytes, and damaged bytes are refused in one line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from prewarm.history import MinuteBatch, hour_segment
from prewarm.store.codec import DamagedError, decode_batch, decode_segment, encode_batch, encode_segment
from tests.store.counting import batch

COUNTS = arrays.arrays(np.float32, 3, elements=st.floats(0, 1e6, width=32))
START = 1_000_020


@given(COUNTS, st.none() | COUNTS, st.none() | st.just(np.array([0, 6], np.int32)), st.sampled_from(["sum", "max"]))
def test_a_batch_comes_back(
    count: np.ndarray[tuple[int], np.dtype[np.float32]],
    concurrency: np.ndarray[tuple[int], np.dtype[np.float32]] | None,
    known: np.ndarray[tuple[int], np.dtype[np.int32]] | None,
    repeat: str,
) -> None:
    rows = np.array([5, 2, 2], np.int32)
    written = MinuteBatch(START, rows, count, concurrency, known, "max" if repeat == "max" else "sum")
    read = decode_batch(encode_batch(written, 9))
    assert (read.minute, read.repeat) == (START, repeat)
    np.testing.assert_array_equal(read.rows, rows)
    np.testing.assert_array_equal(read.count, count)
    assert (read.concurrency is None) == (concurrency is None)
    np.testing.assert_array_equal(
        read.concurrency if concurrency is not None else 0, concurrency if concurrency is not None else 0
    )
    assert read.known is not None
    assert read.known.tolist() == ([0, 6] if known is not None else list(range(9)))


@pytest.mark.parametrize("step", [1, 5, 60])
def test_an_hour_comes_back(step: int) -> None:
    batches = [
        batch(START + minute, {minute % 3: 1.0 + minute}, [0, 2] if minute % 7 else None) for minute in range(59)
    ]
    segment = hour_segment(START, 3, batches)
    written = segment if step == 1 else segment.coarsened(step)
    read = decode_segment(encode_segment(written))
    assert (read.start_minute, read.minutes, read.step) == (START, 60, step)
    for name in ("indptr", "bucket", "count", "concurrency"):
        np.testing.assert_array_equal(getattr(read, name), getattr(written, name), name)
    masks = [[(first, until, known.mask(3).tolist()) for first, until, known in one.known] for one in (read, written)]
    assert masks[0] == masks[1]


def test_an_hour_taken_apart_and_put_together_is_the_same_hour() -> None:
    batches = [
        batch(START + minute, {0: 2.0, 1: minute * 1.0}, [0] if minute % 2 else None) for minute in range(0, 60, 4)
    ]
    segment = hour_segment(START, 2, batches)
    assert encode_segment(hour_segment(START, 2, segment.batches())) == encode_segment(segment)


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (b"", "damaged"),
        (b"\x01nonsense", "damaged"),
        (b"\x09" + encode_batch(batch(START, {0: 1.0}), 1)[1:], "written in format 9, this prewarm reads 1"),
        (encode_batch(batch(START, {0: 1.0}), 1)[:-9], "damaged"),
    ],
    ids=["empty", "nonsense", "newer", "cut"],
)
def test_damage_is_refused_in_one_line(payload: bytes, words: str) -> None:
    with pytest.raises(DamagedError, match=rf"^stored batch: [^\n]*{words}"):
        decode_batch(payload)
