"""Idle times of all functions as one table: how often was it silent for g minutes, and how long is it silent now.

Bins are one step wide, 240 of them by default (four hours of minutes, after "Serverless in the Wild", ATC'20, section
4.2). An idle time of g means a call g steps after the previous one. A gap that contains an unknown step is not
counted: nobody knows whether it was one gap or two. The table is the common ground of the hybrid histogram policy, of
the hazard forecaster and of the priors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prewarm.domain import FloatArray, IntArray

RANGE = 240  # bins: four hours of minutes


@dataclass(frozen=True, slots=True)
class IdleTable:
    """counts (n, R): idle times of 1..R steps; beyond (n,): longer ones; age (n,): silent steps now, 0 just called."""

    counts: FloatArray
    beyond: FloatArray
    age: FloatArray
    calls: FloatArray

    def exposed(self) -> FloatArray:
        """Times at risk (n, R): how often the idle age g was reached, the running silence included."""
        at_least = np.cumsum(self.counts[:, ::-1], axis=1)[:, ::-1] + self.beyond[:, None]
        ages = np.arange(1, self.counts.shape[1] + 1)
        running = (self.age[:, None] >= ages[None, :]) & (self.calls[:, None] > 0)
        reached: FloatArray = at_least + running
        return reached


def call_gaps(values: FloatArray) -> tuple[IntArray, IntArray]:
    """Row and length of every idle time that has no unknown step inside, in order of time within a row."""
    row, column = np.nonzero(np.nan_to_num(values) > 0)
    same = row[1:] == row[:-1]
    unknown = np.cumsum(np.isnan(values), axis=1)
    crossed = unknown[row, column]
    whole = same & (crossed[1:] == crossed[:-1])
    return row[1:][whole], (column[1:] - column[:-1])[whole]


def idle_age(values: FloatArray) -> FloatArray:
    """Known steps since the last call, (n,); since the first known step where there was none."""
    called = np.nan_to_num(values) > 0
    length = values.shape[1]
    if length == 0:
        return np.zeros(values.shape[0])
    last = np.where(called.any(axis=1), length - 1 - np.argmax(called[:, ::-1], axis=1), -1)
    after = np.arange(length)[None, :] > last[:, None]
    silent: FloatArray = (after & ~np.isnan(values)).sum(axis=1).astype(np.float64)
    return silent


def idle_table(values: FloatArray, range_steps: int = RANGE) -> IdleTable:
    """The table of values (n, T), NaN unknown."""
    n = values.shape[0]
    row, gap = call_gaps(values)
    inside = gap <= range_steps
    cells = row[inside] * range_steps + gap[inside] - 1
    counts = np.bincount(cells, minlength=n * range_steps).reshape(n, range_steps)
    beyond = np.bincount(row[~inside], minlength=n)
    calls = (np.nan_to_num(values) > 0).sum(axis=1)
    return IdleTable(counts.astype(np.float64), beyond.astype(np.float64), idle_age(values), calls.astype(np.float64))
