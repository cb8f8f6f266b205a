"""Counts as bytes: small enough for a row a minute, versioned, and refused in one line when damaged.

A payload is one byte of format, then zlib over a header of array lengths and the arrays, little-endian. Compression
level 1: counts are mostly ones and rows ascend, so it already shrinks them several times.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prewarm.domain import PrewarmError
from prewarm.history import MinuteBatch, Segment
from prewarm.history.known import KnownSet

_FORMAT = 1


class DamagedError(PrewarmError):
    """Stored counts that cannot be read back."""


def _pack(numbers: Sequence[int], arrays: Sequence[NDArray[Any]]) -> bytes:
    head = [len(numbers), *numbers, len(arrays), *(array.nbytes for array in arrays)]
    body = b"".join([struct.pack(f"<I{len(head)}q", len(head), *head), *(array.tobytes() for array in arrays)])
    return bytes([_FORMAT]) + zlib.compress(body, 1)


def _unpack(payload: bytes, place: str) -> tuple[list[int], list[bytes]]:
    try:
        if payload[0] != _FORMAT:
            raise DamagedError(f"{place}: written in format {payload[0]}, this prewarm reads {_FORMAT}")
        body = zlib.decompress(payload[1:])
        size = struct.unpack_from("<I", body)[0]
        head = struct.unpack_from(f"<{size}q", body, 4)
    except (IndexError, zlib.error, struct.error) as error:
        raise DamagedError(f"{place}: damaged ({error})") from error
    count = head[0]
    parts, offset = [], 4 + 8 * size
    for length in head[count + 2 :]:
        parts.append(body[offset : offset + length])
        offset += length
    return list(head[1 : count + 1]), parts


def encode_batch(batch: MinuteBatch, functions: int) -> bytes:
    """A batch; `functions` is how many there were when it was accepted, for `known=None`."""
    none = np.zeros(0, np.float32)
    arrays = [
        batch.rows.astype("<i4"),
        batch.count.astype("<f4"),
        (none if batch.concurrency is None else batch.concurrency).astype("<f4"),
        (np.zeros(0, np.int32) if batch.known is None else batch.known).astype("<i4"),
    ]
    flags = [int(batch.concurrency is not None), functions if batch.known is None else -1, int(batch.repeat == "max")]
    return _pack([batch.minute, *flags], arrays)


def decode_batch(payload: bytes) -> MinuteBatch:
    """The batch again; a `known=None` comes back as the functions there were then."""
    numbers, parts = _unpack(payload, "stored batch")
    minute, has_concurrency, functions, is_max = numbers
    return MinuteBatch(
        minute,
        np.frombuffer(parts[0], "<i4"),
        np.frombuffer(parts[1], "<f4"),
        np.frombuffer(parts[2], "<f4") if has_concurrency else None,
        np.frombuffer(parts[3], "<i4") if functions < 0 else np.arange(functions, dtype=np.int32),
        "max" if is_max else "sum",
    )


def encode_segment(segment: Segment) -> bytes:
    """An hour or more of counts; buckets are kept as offsets from the start."""
    numbers = [segment.start_minute, segment.minutes, segment.step]
    arrays: list[NDArray[Any]] = [
        np.diff(segment.indptr).astype("<u2"),
        (segment.bucket - segment.start_minute // segment.step).astype("<u2"),
        segment.count.astype("<f4"),
        segment.concurrency.astype("<f4"),
    ]
    for first, until, known in segment.known:
        numbers += [first, until, known.count, int(known.bits is not None)]
        if known.bits is not None:
            arrays.append(known.bits)
    return _pack(numbers, arrays)


def decode_segment(payload: bytes) -> Segment:
    """The segment again."""
    numbers, parts = _unpack(payload, "stored hour")
    start, minutes, step = numbers[:3]
    lengths = np.frombuffer(parts[0], "<u2")
    indptr = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=indptr[1:])
    known, bits = [], iter(parts[4:])
    for position in range(3, len(numbers), 4):
        first, until, count, has_bits = numbers[position : position + 4]
        known.append((first, until, KnownSet(count, np.frombuffer(next(bits), np.uint8) if has_bits else None)))
    bucket = np.frombuffer(parts[1], "<u2").astype(np.int64) + start // step
    count_, concurrency = np.frombuffer(parts[2], "<f4"), np.frombuffer(parts[3], "<f4")
    return Segment(start, minutes, step, indptr, bucket, count_, concurrency, tuple(known))
