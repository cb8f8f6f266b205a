"""From our values to the JSON that the API writes; the log, the page and the answers share these shapes."""

from __future__ import annotations

import math
from dataclasses import asdict

import numpy as np

from prewarm.control import DATA_STATES
from prewarm.domain import Decision, FloatArray, Int32Array, IntArray, Override, rfc3339
from prewarm.loop.fleet import Fleet
from prewarm.loop.track import UNKNOWN, FleetMinute
from prewarm.loop.view import TickView

Json = dict[str, object]


def decision_json(made: Decision, step_s: float = 60.0) -> Json:
    """One decision with its explanation."""
    inputs: Json = dict(made.inputs)
    per_step = made.inputs.get("cost_idle_per_step")
    inputs["cost_idle_per_min"] = per_step * 60 / step_s if isinstance(per_step, float) else None
    return {
        "id": made.id,
        "kind": made.kind,
        "at": rfc3339(made.at),
        "function": made.function,
        "cluster": made.cluster,
        "from": made.from_count,
        "to": made.to_count,
        "applied": made.applied,
        "mode": made.mode,
        "policy": asdict(made.policy),
        "inputs": inputs,
        "reasons": [asdict(reason) for reason in made.reasons],
        "held": made.held,
        **(made.detail or {}),
    }


def override_json(override: Override) -> Json:
    """An override as it stands."""
    return {
        "function": override.function,
        "cluster": override.cluster,
        "action": override.action,
        "value": override.value,
        "owner": override.owner,
        "reason": override.reason,
        "created_at": rfc3339(override.created_at),
        "expires_at": None if override.expires_at is None else rfc3339(override.expires_at),
    }


def function_json(fleet: Fleet, view: TickView, row: int) -> Json:
    """One line of the list of functions."""
    state, key = view.decisions.state, view.keys[row]
    age, last, score = float(state.data_age_s[row]), int(view.last_call[row]), fleet.track.score
    said = view.decisions.spoken.get(row, ())
    return {
        "key": key,
        "warm": int(state.warm[row]),
        "needed": int(view.decisions.to_count[row]),
        "data": DATA_STATES[int(state.data[row])],
        "data_age_s": round(age, 1) if math.isfinite(age) else None,
        "last_call": rfc3339(last * 60.0) if last >= 0 else None,
        "model": view.model,
        "mode": view.modes.of(key),
        "override": override_json(said[-1]) if said else None,
        "cold": int(score.cold[row]),
        "cold_ka10": int(score.cold_ka10[row]),
        "waste_gb_s": round(float(score.waste_gb_s[row]), 1),
        "waste_ka10_gb_s": round(float(score.waste_ka10_gb_s[row]), 1),
    }


def fleet_minutes_json(minutes: list[FleetMinute]) -> Json:
    """The fleet's minutes as columns; the band is the central 80 %, as wide as the last minutes' errors ask for."""
    mean = np.array([one.mean for one in minutes])
    need = np.array([one.need if one.known else np.nan for one in minutes], dtype=np.float64)
    half = 1.2816 * np.array([one.sd for one in minutes])
    banded = np.isfinite(need) & (half > 0)  # the plain rule forecasts no band
    if banded.sum() >= 30:
        missed = np.abs(need - mean)[banded] / half[banded]
        half = half * max(0.5, float(np.quantile(missed, 0.8)))
    return {
        "at": [one.minute * 60 for one in minutes],
        "need": _numbers(need),
        "mean": np.round(mean, 3).tolist(),
        "low": np.round(np.maximum(mean - half, 0), 3).tolist(),
        "high": np.round(mean + half, 3).tolist(),
        "warm": [one.warm for one in minutes],
        "warm_ka10": [one.warm_ka10 for one in minutes],
        "cold": [one.cold for one in minutes],
        "cold_ka10": [one.cold_ka10 for one in minutes],
        "waste_gb_s": [round(one.waste_gb_s, 1) for one in minutes],
        "waste_ka10_gb_s": [round(one.waste_ka10_gb_s, 1) for one in minutes],
        "unknown": [one.unknown for one in minutes],
    }


def function_minutes_json(fleet: Fleet, row: int, minutes: IntArray) -> Json:
    """One function's recorded minutes as columns, null where nothing is known."""
    columns = minutes % fleet.track.width
    track = fleet.track
    return {
        "at": (minutes * 60).tolist(),
        "need": _counts(track.need[columns, row]),
        "mean": _numbers(track.mean[columns, row]),
        "low": _counts(track.low[columns, row]),
        "high": _counts(track.high[columns, row]),
        "warm": _counts(track.warm[columns, row]),
    }


def _counts(values: Int32Array) -> list[int | None]:
    return [None if value == UNKNOWN else value for value in values.tolist()]


def _numbers(values: FloatArray) -> list[float | None]:
    return [round(value, 4) if math.isfinite(value) else None for value in values.tolist()]
