"""Forecasts: of a known function from its own history, and of any series that is sent along.

The next minute is what the last tick decided on, the rest of the quarter of an hour the level model's word on so many
minutes ahead; later ones come from the model that a backtest chose for the function. Both are computed in a worker
process and kept as bytes until the next tick. Where the worker is late or gone, the
last forecast is read on, else the tick's own chances stand for all steps, and the reason says so. What people announced
is in every step that it covers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import orjson

from prewarm.control import DATA_STATES
from prewarm.domain import DataState, Forecast, FunctionKey
from prewarm.forecast import stateless
from prewarm.forecast.batch import COUNTS
from prewarm.forecast.local.calendar import announce
from prewarm.forecast.local.prior import FLEET, HazardPrior, learn_prior
from prewarm.forecast.models import Setting
from prewarm.forecast.pool import Outcome, aged, forecast_in_worker
from prewarm.forecast.series import Series
from prewarm.http.desk import Desk
from prewarm.http.models import ForecastAnswer, ForecastAnswers, ForecastRequest
from prewarm.http.parameters import KEY_PARAMETER
from prewarm.http.problem import ProblemError
from prewarm.http.queries import ForecastQuery
from prewarm.http.routes import Call, Route, json_response
from prewarm.policy.pool import span_of

LEVELS = (0.1, 0.5, 0.9, 0.99)
HISTORY_MIN = 1_440
RECHOOSE_MIN = 120
READ_ON_MIN = 15
"""A forecast is read on for this long before it is made anew; its next minute is always the tick's."""
USUAL_STEPS = 30
OWN_HISTORY_MIN = 240
"""A function known for less leans on the others of its namespace."""
MOST_TEACHERS = 50
BODIES_MOST, BODY_BYTES = 10_000, 16_384
"""Answers kept until the next tick; what is longer or odder is made anew, so that readers cannot fill the memory."""
AUTO = "auto"
BUDGET_S = 8.0


def ready(desk: Desk, raw_path: str) -> bytes | None:
    """The bytes of an answer that was already given since the last tick."""
    view = desk.fleet.view
    return None if view is None else view.bodies.get(raw_path)


async def forecast_function(call: Call[Desk]) -> object:
    """What is expected of one function."""
    query: ForecastQuery = call.query
    desk, key = call.service, call.path("key")
    row = desk.row(key)
    view = desk.fleet.view
    forecast = announce(await _forecast(desk, row, FunctionKey(key), query.steps), desk.fleet.settings.event)
    body = orjson.dumps(stateless.forecast_json(forecast))
    room = view is not None and len(view.bodies) < BODIES_MOST and len(body) <= BODY_BYTES
    if room and view is not None and view is desk.fleet.view:
        view.bodies[call.request.raw_path] = body
    return json_response(body)


async def forecast_series(call: Call[Desk]) -> object:
    """Quantiles for the series in the body; nothing is kept."""
    wanted: ForecastRequest = call.body
    request = stateless.parse_request(wanted.model_dump(exclude_unset=True))
    outcome = await call.service.fits.run(forecast_in_worker, request, budget_s=BUDGET_S)
    if outcome.status == "failed":
        raise ProblemError(400, outcome.reason)
    if outcome.status == "over budget":
        raise ProblemError(422, f"{outcome.reason}: send fewer series or values, or name a cheaper model")
    if outcome.status != "done":
        raise ProblemError(503, f"the forecaster is not there: {outcome.reason}", headers={"Retry-After": "2"})
    found = [stateless.forecast_json(one) for one in outcome.value]
    # One series gets its forecast at the top, in the shape of a function's; several only in the list.
    return {**(found[0] if len(found) == 1 else {}), "forecasts": found}


async def _forecast(desk: Desk, row: int, key: FunctionKey, steps: int) -> Forecast:
    now_minute = int((desk.fleet.view.now if desk.fleet.view else desk.fleet.clock.now()) // 60)
    fitted = _read_on(desk.fitted.get(row), now_minute, steps)
    if fitted is None:
        outcome = await _fit(desk, row, key, now_minute=now_minute, steps=steps)
        if outcome.status != "done":
            return _stand_in(desk, row, key, steps=steps, now_minute=now_minute, outcome=outcome)
        desk.fitted[row] = outcome.value[0]
        fitted = _read_on(desk.fitted[row], now_minute, steps)
        assert fitted is not None, "a forecast that was just made covers what was asked"
    return _with_tick(desk, row, fitted, desk.chosen[row][1])


async def _fit(desk: Desk, row: int, key: FunctionKey, *, now_minute: int, steps: int) -> Outcome:
    """A forecast in the worker, with the model that a backtest chose lately, else with a new choice."""
    need = desk.fleet.need_of(row, now_minute, HISTORY_MIN)
    name, _, since = desk.chosen.get(row, (AUTO, "", now_minute))
    setting = Setting(near_by_levels=True)
    if len(need) < OWN_HISTORY_MIN:
        setting = replace(setting, prior=_inherited(desk, key, now_minute))
    if name != AUTO and now_minute - since >= RECHOOSE_MIN:
        name, setting = AUTO, replace(setting, incumbent=name)
    series = Series(need, 60, (now_minute - len(need)) * 60.0, key)
    horizon = min(max(steps, USUAL_STEPS) + READ_ON_MIN, stateless.STEPS[1] + READ_ON_MIN)
    request = stateless.Request((series,), name, horizon, LEVELS, setting)
    outcome = await desk.fits.run(forecast_in_worker, request, budget_s=BUDGET_S)
    if outcome.status == "done" and name == AUTO:
        forecast: Forecast = outcome.value[0]
        desk.chosen[row] = (forecast.model, forecast.reason, now_minute)
    return outcome


def _inherited(desk: Desk, key: FunctionKey, now_minute: int) -> HazardPrior:
    """What the longest known functions of the same namespace teach about a new one."""
    namespace, fleet = key.partition("/")[0], desk.fleet
    own = fleet.rows[key]
    like = [row for row, other in enumerate(fleet.keys) if other.partition("/")[0] == namespace and row != own]
    if not like:
        return FLEET
    rows = np.array(like[:MOST_TEACHERS], dtype=np.int32)
    counts = fleet.history.dense(rows, now_minute, minutes=HISTORY_MIN)
    return learn_prior(counts, f"{len(rows)} others in {namespace}")


def _read_on(fitted: Forecast | None, now_minute: int, steps: int) -> Forecast | None:
    """The steps from `now_minute` on of a forecast made some minutes ago; None when it is too old or too short."""
    if fitted is None:
        return None
    passed = now_minute - round(fitted.issued_at / 60)
    if not 0 <= passed <= READ_ON_MIN or passed + steps > len(fitted.mean):
        return None
    part = slice(passed, passed + steps)
    return replace(
        fitted,
        issued_at=now_minute * 60.0,
        mean=fitted.mean[part],
        quantiles=fitted.quantiles[part],
        p_at_least=fitted.p_at_least[part],
    )


def _with_tick(desk: Desk, row: int, forecast: Forecast, why: str) -> Forecast:
    """The next minute as the tick saw it, the rest as the chosen model does."""
    said = _tick_chances(desk, row)
    view, state = desk.fleet.view, _data(desk, row)
    if said is None or view is None:
        return replace(forecast, reason=why, data=state)
    mean, quantiles, chances = forecast.mean.copy(), forecast.quantiles.copy(), forecast.p_at_least.copy()
    mean[0], quantiles[0], chances[0] = said
    reason = f"next minute by {view.model}, then {forecast.model}: {why}"
    return replace(forecast, mean=mean, quantiles=quantiles, p_at_least=chances, reason=reason, data=state)


def _stand_in(desk: Desk, row: int, key: FunctionKey, *, steps: int, now_minute: int, outcome: Outcome) -> Forecast:
    """The last forecast that was made, aged; where none reaches so far, the tick's chances for every step."""
    made = desk.fitted.get(row)
    old = None if made is None else aged(made, now_minute * 60.0, outcome.reason)
    if old is None or steps > len(old.mean):
        return _plain(desk, row, key, steps=steps, now_minute=now_minute, outcome=outcome)
    part = slice(0, steps)
    return _with_tick(
        desk,
        row,
        replace(old, mean=old.mean[part], quantiles=old.quantiles[part], p_at_least=old.p_at_least[part]),
        old.reason,
    )


def _plain(desk: Desk, row: int, key: FunctionKey, *, steps: int, now_minute: int, outcome: Outcome) -> Forecast:
    """The tick's chances for every step."""
    said = _tick_chances(desk, row) or (0.0, np.zeros(len(LEVELS)), np.zeros(COUNTS))
    return Forecast(
        function=key,
        issued_at=now_minute * 60.0,
        step_s=60,
        model="rule",
        reason=f"the plain rule stands in, the next minute repeated: {outcome.reason}",
        data=_data(desk, row),
        levels=LEVELS,
        mean=np.full(steps, said[0]),
        quantiles=np.tile(said[1], (steps, 1)),
        p_at_least=np.tile(said[2], (steps, 1)),
    )


def _tick_chances(desk: Desk, row: int) -> tuple[float, Any, Any] | None:
    """Mean, quantiles and P(N >= k) of the next minute from the last tick's levels."""
    view = desk.fleet.view
    if view is None or row >= len(view.keys):
        return None
    levels = view.decisions.levels
    first, last = span_of(levels.row, row)
    p = np.nan_to_num(np.clip(np.asarray(levels.p[first:last], dtype=np.float64), 0.0, 1.0))
    p = np.minimum.accumulate(p) if len(p) else p
    chances = np.zeros(COUNTS)
    chances[: min(len(p), COUNTS)] = p[:COUNTS]
    quantiles = np.array([float((p > 1 - level).sum()) for level in LEVELS])
    mean = float(p.sum())
    quantiles[-1], quantiles[0] = max(quantiles[-1], mean), min(quantiles[0], mean)
    return mean, quantiles, chances


def _data(desk: Desk, row: int) -> DataState:
    state, _ = desk.fleet.history.data_state(desk.fleet.clock.now())
    return DATA_STATES[int(state[row])]


def forecast_routes() -> list[Route[Desk]]:
    """The routes of this subject."""
    return [
        Route(
            "GET",
            "/v1/functions/{key}/forecast",
            forecast_function,
            "Instances needed in the next minutes, as distributions",
            query=ForecastQuery,
            answer=ForecastAnswer,
            tag="forecasts",
            ready=ready,
            parameters=KEY_PARAMETER,
        ),
        Route(
            "POST",
            "/v1/forecasts",
            forecast_series,
            "Forecast the series in the body; nothing is kept",
            body=ForecastRequest,
            answer=ForecastAnswers,
            tag="forecasts",
        ),
    ]
