"""The actor without torch: the same weights and the same sums in numpy, for the service.

A process that serves must start in a second and stay small, so it cannot import torch; and at the size of one decision
numpy is no slower. Equality with the network that was trained is a test, not a hope. A student remembers what it can
use again of the question before, so one thread asks it, and nobody changes an array that it was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import orjson
from numpy.typing import NDArray

from gnn.attend import READ, Attention
from gnn.forms import Form, Rule, width_of
from gnn.graph.features import width
from gnn.graph.value import NODE_TYPES
from gnn.observation import Observation
from gnn.shape import EncoderShape, Kind, NetworkShape
from gnn.wiring import WIDTH
from prewarm.domain import Float32Array, InputError, IntArray


class Student:
    """An actor of the given shape; `weights` under the names that the trained network gave them."""

    def __init__(self, shape: NetworkShape, weights: Mapping[str, Float32Array]) -> None:
        self.shape = shape
        self.weights = dict(weights)
        attends = shape.encoder.kind is Kind.ATTENTION
        self._attention = Attention(shape.encoder, self.weights) if attends else None

    def act(self, observation: Observation) -> Float32Array:
        """The action (k, F + 1) or (p, 1), as the trained actor's; the observation must be fit (`unfit`)."""
        nodes = self._encoded(observation)
        function = nodes["function"][observation["ask/function"]]
        ask, cluster = observation["ask/pairs"]
        values = observation["ask/values"]
        told = np.concatenate([np.sign(values) * np.log1p(np.abs(values)), observation["ask/room"][:, None]], axis=1)
        row = np.concatenate([nodes["cluster"][cluster], function[ask], told], axis=1)
        pair = _relu(self._linear("question.second", _relu(self._linear("question.first", row))))
        pooled = _mean_by(pair, ask, len(function))
        parts = [function, pooled] if self.shape.form is Form.WEIGHTS else [pair, pooled[ask]]
        hidden = _relu(self._linear("head", np.concatenate(parts, axis=1)))
        out: Float32Array = np.tanh(self._linear("last", hidden))
        return out

    def _encoded(self, given: Observation) -> dict[str, Float32Array]:
        nodes = {kind: _relu(self._linear(f"encoder.enter.{kind}", given[f"node/{kind}"])) for kind in NODE_TYPES}
        if self._attention is not None:
            return self._attention.encode(nodes, given)
        fleet = np.zeros((1, 0), np.float32)
        if self.shape.encoder.kind is Kind.DEEPSETS:
            fleet = np.concatenate([_mean(nodes[kind]) for kind in NODE_TYPES], axis=1)
        joined = {kind: np.concatenate([nodes[kind], np.repeat(fleet, len(nodes[kind]), 0)], 1) for kind in READ}
        return {kind: _relu(self._linear(f"encoder.mix.{kind}", row)) for kind, row in joined.items()}

    def _linear(self, name: str, rows: Float32Array) -> Float32Array:
        return rows @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]


def write_student(path: Path, shape: NetworkShape, weights: Mapping[str, NDArray[Any]]) -> None:
    """Write weights and shape as one .npz; the same weights give the same bytes."""
    told = np.frombuffer(orjson.dumps(asdict(shape), option=orjson.OPT_SORT_KEYS), np.uint8)
    arrays: dict[str, Any] = {name: weights[name].astype(np.float32) for name in sorted(weights)}
    with path.open("wb") as file:
        np.savez(file, shape=told, **arrays)


def read_student(path: Path) -> Student:
    """The student of a file; only arrays are read, never pickled objects. Raises InputError where it is none."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
        shape = _shape_of(orjson.loads(arrays.pop("shape").tobytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, BadZipFile) as error:
        raise InputError(f"{path}: not the weights of a placement policy ({error})") from error
    _check(path, shape, arrays)
    return Student(shape, arrays)


def _shape_of(told: dict[str, Any]) -> NetworkShape:
    encoder = {**told["encoder"], "kind": Kind(told["encoder"]["kind"])}
    rule = Rule(tuple(told["rule"]["weights"]), told["rule"]["temperature"])
    return NetworkShape(rule, Form(told["form"]), EncoderShape(**encoder), tuple(told.get("factors", ())))


def _check(path: Path, shape: NetworkShape, weights: Mapping[str, NDArray[Any]]) -> None:
    """The weights must be finite and made for the features of today."""
    hidden, factors = shape.encoder.hidden, len(shape.rule.weights)
    wanted = {f"encoder.enter.{kind}.weight": (hidden, width(kind)) for kind in NODE_TYPES}
    wanted["question.first.weight"] = (hidden, 2 * hidden + factors + 1)
    if shape.encoder.kind is Kind.ATTENTION:
        wanted |= {f"encoder.rounds.{i}.edge.weight": (2 * hidden, WIDTH) for i in range(shape.encoder.layers)}
    wanted["last.weight"] = (width_of(shape.form, factors), hidden)
    for name, size in wanted.items():
        if name not in weights or weights[name].shape != size:
            raise InputError(f"{path}: {name} must be {size[0]} x {size[1]}; the features have changed, train anew")
    if not all(np.isfinite(one).all() for one in weights.values()):
        raise InputError(f"{path}: weights must be finite")


def _starts(sorted_rows: IntArray) -> IntArray:
    """Where each run of equal numbers begins."""
    return np.flatnonzero(np.diff(sorted_rows, prepend=-1))


def _relu(rows: Float32Array) -> Float32Array:
    return np.maximum(rows, 0.0, out=rows)


def _mean(rows: Float32Array) -> Float32Array:
    total: Float32Array = rows.sum(axis=0, keepdims=True) / np.float32(max(len(rows), 1))
    return total


def _mean_by(rows: Float32Array, group: IntArray, groups: int) -> Float32Array:
    out = np.zeros((groups, rows.shape[1]), np.float32)
    if len(rows):
        starts = _starts(group)
        out[group[starts]] = np.add.reduceat(rows, starts, axis=0)
    return out / np.maximum(np.bincount(group, minlength=groups), 1).astype(np.float32)[:, None]
