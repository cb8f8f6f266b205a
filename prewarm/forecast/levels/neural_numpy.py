"""The sequence model at work: the trained weights in plain numpy, the same numbers as torch without loading it.

The state is the sparse history alone; every minute the network reads each (row, level) anew, in chunks of bounded
memory. Loads arrays only, never pickles. Imports numba by way of `neural_tokens`: worker processes and simulations
only.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from prewarm.domain import Float32Array, InputError, IntArray
from prewarm.forecast.levels.history_view import LevelProbabilities, SparseHistory
from prewarm.forecast.levels.neural_tokens import AT_RISK, DAY, EXACT, FEATURES, HEADS, SCALARS, count_tokens, describe

_CHUNK: Final = 512  # queries at a time: their tokens stay in the cache
_LAYERS: Final = ("token1", "token2", "mix", "body1", "body2", "out")


class NeuralLevels:
    """P(need >= level) for the minute to come, from the weights of a trained `neural.LevelNet`."""

    def __init__(self, arrays: Mapping[str, Float32Array]) -> None:
        """Arrays by torch's names (`token1.weight`, ...). InputError: one is missing, or of another version's shape."""
        names = [f"{layer}.{part}" for layer in _LAYERS for part in ("weight", "bias")]
        missing = [name for name in names if name not in arrays]
        if missing:
            raise InputError(f"sequence model: no array {missing[0]}")
        self._layers = {x: (arrays[f"{x}.weight"].T.copy(), arrays[f"{x}.bias"]) for x in _LAYERS}
        self._width = self._layers["token2"][1].size
        reads = self._layers["token1"][0].shape[0], self._layers["body1"][0].shape[0]
        if reads != (FEATURES, SCALARS + 2 * self._width + self._layers["mix"][1].size):
            raise InputError("sequence model: the weights are of another version of the model")

    @classmethod
    def load(cls, path: Path) -> "NeuralLevels":
        """Weights of a file written by `neural_train.write`."""
        with np.load(path, allow_pickle=False) as file:
            return cls({name: file[name] for name in file.files})

    def p_at_least(self, history: SparseHistory) -> LevelProbabilities:
        """Every row's levels 1 to the largest need of the last day, never rising with the level."""
        row, level = list_levels(history)
        p = _never_rising(self.p_of(history, row, level), level)
        return LevelProbabilities(row=row.astype(np.int32), level=level.astype(np.int16), p=p)

    def p_of(self, history: SparseHistory, row: IntArray, level: IntArray, now: IntArray | None = None) -> Float32Array:
        """Probabilities float32[n] of chosen rows and levels: all, or those another model leaves in doubt.

        `now`: the minute of each question, from the hits before it; the history's own minute where it is left out.
        """
        when = np.full(len(row), history.now_minute) if now is None else now
        queries = np.column_stack([row, level, when]).astype(np.int64)
        size = np.stack([history.hit_need.astype(np.float32), history.marks], axis=1)
        since = history.since.astype(np.int64)
        out = np.empty(len(queries), dtype=np.float32)
        for start in range(0, len(queries), _CHUNK):
            part = queries[start : start + _CHUNK]
            count = count_tokens(history.hit_minute, size, history.indptr, part)
            tokens, scalars = describe(history.hit_minute, size, history.indptr, since, part, count)
            out[start : start + len(part)] = 1.0 / (1.0 + np.exp(-self.logits(tokens, count, scalars)))
        return out

    def logits(self, tokens: Float32Array, count: IntArray, scalars: Float32Array) -> Float32Array:
        """The network: packed tokens, tokens of each query, scalars -> float32[Q]."""
        x = self._relu("body1", np.concatenate([scalars, self._pool(tokens, count)], axis=1))
        return np.asarray(self._apply("out", self._relu("body2", x))[:, 0])

    def _apply(self, layer: str, x: Float32Array) -> Float32Array:
        weight, bias = self._layers[layer]
        y = x @ weight
        y += bias
        return y

    def _relu(self, layer: str, x: Float32Array) -> Float32Array:
        y = self._apply(layer, x)
        return np.maximum(y, 0.0, out=y)

    def _pool(self, tokens: Float32Array, count: IntArray) -> Float32Array:
        width, heads = self._width, HEADS
        h = self._relu("token2", self._relu("token1", tokens))
        m = self._apply("mix", h)
        weight = np.exp(np.clip(m[:, : 2 * heads], -10, 10))
        per_head = width // heads
        attended = (h.reshape(-1, heads, per_head) * weight[:, :heads, None]).reshape(-1, width)
        hazard = weight[:, heads:]
        parts = [attended, weight[:, :heads], hazard * tokens[:, EXACT, None], hazard * tokens[:, AT_RISK, None]]
        parts += [1.0 / (1.0 + np.exp(-m[:, 2 * heads :]))]
        summed = _reduce(np.add, np.concatenate(parts, axis=1), count)
        largest = _reduce(np.maximum, h, count)
        top, w, ended, risk, soft = np.split(summed, np.cumsum([width, heads, heads, heads]), axis=1)
        mean = top / (np.repeat(w, per_head, axis=1) + 1e-4)
        rate = np.log((ended + 0.02) / (risk + 0.2)) / 3
        return np.concatenate([mean, largest, np.log1p(soft), rate, np.log1p(risk) / 3], axis=1, dtype=np.float32)


def list_levels(history: SparseHistory) -> tuple[IntArray, IntArray]:
    """(row, level), int64[n] each: of each row all levels that the last day reached, at least the first."""
    row = np.repeat(np.arange(history.rows), np.diff(history.indptr))
    lag = history.now_minute - history.hit_minute[: row.size]
    known = (lag > 0) & (lag <= DAY)
    top = np.ones(history.rows, dtype=np.int64)
    np.maximum.at(top, row[known], history.hit_need[: row.size][known].astype(np.int64))
    rows = np.repeat(np.arange(history.rows), top)
    return rows, np.arange(rows.size) - np.repeat(np.cumsum(top) - top, top) + 1


def _never_rising(p: Float32Array, level: IntArray) -> Float32Array:
    """Each probability lowered to that of the level before it; rows lie one after another, levels ascending."""
    for k in range(2, int(level.max(initial=1)) + 1):
        at = np.flatnonzero(level == k)
        p[at] = np.minimum(p[at], p[at - 1])
    return p


def _reduce(ufunc: np.ufunc, values: Float32Array, count: IntArray) -> Float32Array:
    """Sum or maximum of each query's tokens; 0 for a query without (values of a maximum are not negative)."""
    out = np.zeros((len(count), values.shape[1]), dtype=np.float32)
    some = count > 0
    if some.any():
        out[some] = ufunc.reduceat(values, (np.cumsum(count) - count)[some], axis=0)
    return out
