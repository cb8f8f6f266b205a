"""The service graph: what is learned from the counts and what a call upstream announces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prewarm.cascade import CascadedLevels, EdgeCounts, ServiceGraph, cascade_reason, learn, no_counts, service_graph
from prewarm.cascade import cascade as cascade_with_trust
from prewarm.domain import BoolArray, FunctionKey
from prewarm.policy.pool import Levels
from prewarm.settings import Call
from tests.policy.test_pool import table

KEYS = tuple(FunctionKey(name) for name in ("shop/web", "shop/cart", "shop/stock"))
ROWS = {key: row for row, key in enumerate(KEYS)}


def graph(*calls: Call) -> ServiceGraph:
    """Edges over the three functions, steps of a minute."""
    return service_graph(calls, ROWS, step_s=60.0)


def cascade(levels: Levels, edges: ServiceGraph, counts: EdgeCounts, active: BoolArray) -> CascadedLevels:
    """The cascade that believes callers and own rhythm together."""
    return cascade_with_trust(levels, edges, counts, active, trust=np.array([[1.0, 0.0, 0.0]] * 3))


def history(*steps: str, depth: int) -> BoolArray:
    """Steps newest first, each naming who was active by letters w, c, s; padded with quiet steps to `depth` + 1."""
    rows = [[letter in step for letter in "wcs"] for step in steps]
    rows += [[False] * 3] * (depth + 1 - len(rows))
    return np.array(rows, dtype=np.bool_)


def taught(edges: ServiceGraph, steps: list[str]) -> EdgeCounts:
    """Counts after `steps`, oldest first."""
    counts = no_counts(edges)
    for position in range(len(steps)):
        newest_first = steps[max(0, position - edges.longest_lag) : position + 1][::-1]
        counts = learn(counts, edges, history(*newest_first, depth=edges.longest_lag), keep=1.0)
    return counts


def test_a_delay_of_ninety_seconds_ends_one_or_two_steps_later() -> None:
    """Half of the calls after one step, half after two; the chance of at least one of two calls is 1 - e^-2."""
    edges = graph(Call("shop/web", "shop/cart", calls_per_invocation=2.0, delay_s=90.0))
    assert edges.lag.tolist() == [1, 2]
    assert edges.prior == pytest.approx([0.5 * (1 - np.exp(-2))] * 2)


def test_a_call_seen_announces_the_callee_a_step_later() -> None:
    """The callee follows its caller each time: after thirty lessons it is all but certain, and falls when none came."""
    edges = graph(Call("shop/web", "shop/cart", delay_s=60.0))
    counts = taught(edges, ["w", "c", ""] * 30)
    told = cascade(table([0.3], [0.3], []), edges, counts, history("w", depth=edges.longest_lag))
    quiet = cascade(table([0.3], [0.3], []), edges, counts, history("", depth=edges.longest_lag))
    assert told.p[told.row == 1] == pytest.approx([0.927], abs=0.01)
    assert quiet.p[quiet.row == 1] == pytest.approx([0.3 * (1 - 30 / 38)], abs=0.01)


def test_a_declared_edge_speaks_before_anything_was_learned() -> None:
    """One call each time: 1 - 1/e, joined with the callee's own 10 %."""
    edges = graph(Call("shop/web", "shop/cart", delay_s=60.0))
    told = cascade(table([0.1], [0.1], []), edges, no_counts(edges), history("w", depth=edges.longest_lag))
    assert told.p[told.row == 1] == pytest.approx([1 - 0.9 * np.exp(-1)], abs=1e-6)


def test_a_chain_in_one_step_passes_the_chance_on() -> None:
    """Web is likely now, so cart is, so stock is; the caller's own chance stays."""
    edges = graph(
        Call("shop/web", "shop/cart", calls_per_invocation=20.0),
        Call("shop/cart", "shop/stock", calls_per_invocation=20.0),
    )
    told = cascade(table([0.8], [], []), edges, no_counts(edges), history("", depth=edges.longest_lag))
    assert told.p.tolist() == pytest.approx([0.8, 0.8, 0.8], abs=1e-3)
    reason = cascade_reason(told, edges, KEYS, 2)
    assert reason is not None
    assert reason.text == "called by shop/cart in this step: follows with 80%"


def test_a_cycle_ends() -> None:
    """Two functions that call each other."""
    edges = graph(Call("shop/web", "shop/cart"), Call("shop/cart", "shop/web"))
    told = cascade(table([0.5], [0.5], []), edges, no_counts(edges), history("", depth=edges.longest_lag))
    assert ((told.p >= 0.5) & (told.p <= 1)).all()


def test_functions_outside_the_graph_are_left_alone() -> None:
    """Rows, levels and chances of others come back as they were, and no reason is given."""
    edges = graph(Call("shop/web", "shop/cart"))
    told = cascade(table([0.5], [0.1], [0.7, 0.2]), edges, no_counts(edges), history("", depth=edges.longest_lag))
    assert told.p[told.row == 2].tolist() == pytest.approx([0.7, 0.2])
    assert told.p[told.row == 0].tolist() == pytest.approx([0.5])
    assert cascade_reason(told, edges, KEYS, 2) is None


def test_calls_of_unknown_functions_and_of_oneself_make_no_edge() -> None:
    """They may be seen later; until then the rest of the graph works."""
    assert (
        len(graph(Call("shop/web", "x/y"), Call("shop/web", "shop/web"), Call("shop/web", "shop/cart", 0.0)).caller)
        == 0
    )


@given(
    own=st.lists(st.floats(0, 1), min_size=3, max_size=3),
    lessons=st.lists(st.sampled_from(["", "w", "c", "wc", "wcs", "s"]), max_size=30),
    now=st.sampled_from(["", "w", "c", "wcs"]),
)
def test_chances_stay_chances(own: list[float], lessons: list[str], now: str) -> None:
    """Whatever was seen: between 0 and 1, levels in order, no level above the first."""
    edges = graph(Call("shop/web", "shop/cart", 0.5, 30.0), Call("shop/cart", "shop/stock", 3.0))
    levels = table(*([chance, chance / 2] for chance in own))
    told = cascade(levels, edges, taught(edges, lessons), history(now, depth=edges.longest_lag))
    assert ((told.p >= 0) & (told.p <= 1)).all()
    first = {int(row): p for row, level, p in zip(told.row, told.level, told.p, strict=True) if level == 1}
    assert all(p <= first[int(row)] + 1e-6 for row, p in zip(told.row, told.p, strict=True))


def test_whom_a_callee_is_believed_by_is_a_matter_of_trust() -> None:
    """Its own rhythm says 30 %, its callers alone next to nothing after a long silence."""
    edges = graph(Call("shop/web", "shop/cart", delay_s=60.0))
    counts, quiet = taught(edges, ["w", "c", ""] * 30), history("", depth=edges.longest_lag)
    levels = table([0.3], [0.3], [])
    by_itself = cascade_with_trust(levels, edges, counts, quiet, trust=np.array([[0.0, 1.0, 0.0]] * 3))
    by_callers = cascade_with_trust(levels, edges, counts, quiet, trust=np.array([[0.0, 0.0, 1.0]] * 3))
    assert by_itself.p[by_itself.row == 1] == pytest.approx([0.3])
    assert by_callers.p[by_callers.row == 1] < 0.01
    assert np.isnan(by_itself.opinions[[0, 2]]).all()
    assert by_itself.opinions[1] == pytest.approx([0.063, 0.3, 0.001], abs=5e-3)
