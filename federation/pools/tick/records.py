"""A plan in words: the full record of one pool in one cluster, made when somebody asks for it.

A record is the same `Decision` that the API, the log and the page know, with the cluster named. Its reasons begin with
the total and the rule that decided it; what the factors said of every cluster stands in the detail under the names of
the API, and contributions sum to the score.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from federation.pools.tick.fleet_tick import FleetPlan
from prewarm.domain import Decision, Reason, decision_id


def changed(plan: FleetPlan) -> Iterator[Decision]:
    """The pools that change in a cluster, and those of which something found no place, in order of rows."""
    answer = plan.answer
    moved = answer.plan != answer.before
    for row in np.flatnonzero(moved.any(axis=1) | (answer.unplaced > 0)):
        for column in np.flatnonzero(moved[row]):
            yield decision(plan, int(row), int(column))
        if answer.unplaced[row]:
            yield unplaced(plan, int(row))


def decision(plan: FleetPlan, row: int, column: int) -> Decision:
    """The record of one pool in one cluster."""
    tick, answer, name = plan.tick, plan.answer, plan.names[column]
    whole = tick.decision(row)
    return Decision(
        id=decision_id(tick.now, f"{whole.function}@{name}"),
        at=tick.now,
        function=whole.function,
        cluster=name,
        from_count=int(answer.before[row, column]),
        to_count=int(answer.plan[row, column]),
        applied=False,
        mode=whole.mode,
        policy=whole.policy,
        inputs={**whole.inputs, "total": int(answer.wanted[row]), "of_decision": whole.id},
        reasons=(*_reasons(plan, row, column), *whole.reasons),
        held=_held(plan, row, column),
        detail={"scores": scores(plan, row), "unplaced": int(answer.unplaced[row])},
    )


def unplaced(plan: FleetPlan, row: int) -> Decision:
    """The record of what found no place; it names no cluster and is held."""
    tick, answer = plan.tick, plan.answer
    whole = tick.decision(row)
    count, size = int(answer.unplaced[row]), int(answer.pools.size[row])
    text = f"{count} of {int(answer.wanted[row])} fit nowhere: an instance needs {size} MiB"
    return Decision(
        id=decision_id(tick.now, f"{whole.function}@"),
        at=tick.now,
        function=whole.function,
        cluster=None,
        from_count=int(answer.before[row].sum()),
        to_count=int(answer.plan[row].sum()),
        applied=False,
        mode=whole.mode,
        policy=whole.policy,
        inputs={**whole.inputs, "total": int(answer.wanted[row]), "of_decision": whole.id},
        reasons=tuple(_why_not(plan, row)),
        held=text,
        detail={"scores": scores(plan, row), "unplaced": count},
    )


def scores(plan: FleetPlan, row: int) -> list[dict[str, object]]:
    """Every cluster's score for a pool, best first, with the factors that sum to it."""
    values, price, size = plan.values, plan.answer.room_price, int(plan.answer.pools.size[row])
    found: list[tuple[float, dict[str, object]]] = []
    for column, name in enumerate(plan.names):
        factors = [
            {"name": factor, "value": round(value, 6), "weight": round(weight, 6), "contribution": value * weight}
            for factor, value, weight in values.of(row, column)
        ]
        scarce = float(price[column]) * size
        if scarce:
            factors.append({"name": "scarcity", "value": -scarce, "weight": 1.0, "contribution": -scarce})
        score = float(sum(float(str(one["contribution"])) for one in factors))
        found.append((score, {"cluster": name, "score": score, "factors": factors}))
    return [one for _, one in sorted(found, key=lambda each: -each[0])]


def _reasons(plan: FleetPlan, row: int, column: int) -> Iterator[Reason]:
    answer, opened = plan.answer, plan.opened
    here, total = int(answer.plan[row, column]), int(answer.wanted[row])
    yield Reason("share", f"{here} of {total} in {plan.names[column]}", value=float(here), against=float(total))
    said = plan.sites.why[column]
    if said is not None:
        yield Reason("standing", said)
    if plan.names[column] in plan.terms.draining:
        stay = int(plan.staying[row])
        yield Reason("draining", f"{stay} stay until others are ready" if stay else "emptied for maintenance")
    saved, cost = float(opened.saved[row, column]), float(opened.cost[row, column])
    if saved > 0:
        asked = cost * plan.terms.policy.own_pool_at
        text = f"a pool of its own saves {saved:.3g} of delay a step and costs {cost:.3g} in pooling"
        yield Reason("own_pool", text, value=saved, against=asked)
    if answer.evicted[row] and here < int(answer.before[row, column]):
        yield Reason("room_lost", f"{int(answer.evicted[row])} had to leave: the cluster lost room or is closed to it")
    if answer.improved[row]:
        yield Reason("improved", f"{int(answer.improved[row])} moved to a better cluster", float(answer.improved[row]))
    scarce = float(answer.room_price[column]) * int(answer.pools.size[row])
    if scarce > 0:
        yield Reason("scarcity", f"room is short there: an instance counts {scarce:.3g} less", value=-scarce)
    for one in plan.heard.get((row, column), ()):
        value = None if one.value is None else float(one.value)
        yield Reason("override", f"{one.action} in {one.cluster} by {one.owner}: {one.reason}", value=value)


def _why_not(plan: FleetPlan, row: int) -> Iterator[Reason]:
    """For each cluster, why it takes no more of a pool."""
    answer, sites = plan.answer, plan.sites
    size = int(answer.pools.size[row])
    for column, name in enumerate(plan.names):
        if not answer.limits.allowed[row, column] or sites.full[column]:
            yield Reason("closed", f"{name}: {sites.why[column] or 'closed to this function'}")
        elif int(answer.room_left[column]) < size:
            left = int(answer.room_left[column])
            yield Reason("room", f"{name}: {left} MiB left", value=float(left), against=float(size))
        else:
            most = int(answer.limits.most[row, column])
            yield Reason("most", f"{name}: holds the {most} that its nodes or a person allow", value=float(most))


def _held(plan: FleetPlan, row: int, column: int) -> str | None:
    if plan.terms.policy.paused:
        return f"placement is paused; kept {int(plan.answer.plan[row, column])}"
    return None
