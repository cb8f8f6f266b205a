"""What a policy sees adds up, and tells nothing of what is to come."""

from __future__ import annotations

import numpy as np

from gnn.published.kernel.advance import advance
from gnn.published.kernel.layout import BATCH, GANG, WEB
from gnn.published.measure.build import build
from gnn.published.measure.observe import POOL_FIELDS, observe
from gnn.published.measure.run import Answer, drive
from gnn.published.rules.named import default_rule
from gnn.published.world.draw import Regime, draw_world


def test_clusters_and_pools_add_up_to_the_fleet() -> None:
    state = build(draw_world(Regime.FAILURES, 0.8, 1_000))
    state["weights"][0] = default_rule().table
    advance(state, 900.0, False)
    seen = observe(state)
    pools = {name: seen.pools[:, at] for at, name in enumerate(POOL_FIELDS)}
    assert seen.capacity.tolist() == [[128.0, 896.0], [48.0, 192.0]]
    np.testing.assert_array_equal(seen.free[:, 0], [pools["free cpu"][:2].sum(), pools["free cpu"][2]])
    assert pools["nodes"].tolist() == [4.0, 3.0, 6.0]
    assert (pools["node cpu"] * pools["nodes"]).sum() == 176.0
    assert seen.pods[:, WEB].sum() == (seen.ready + seen.starting).sum()
    assert (seen.wanted >= seen.ready.sum(axis=1)).all()
    assert seen.ask is None


def test_the_pod_that_is_asked_about_is_named_with_all_it_needs() -> None:
    kinds: dict[int, tuple[int, int]] = {}
    table = default_rule().table

    def policy(state: np.ndarray, kind: int) -> Answer:
        ask = observe(state).ask
        assert ask is not None
        assert ask.kind == kind
        assert (ask.service >= 0) == (kind == WEB)
        kinds[kind] = (ask.cpu, ask.pods)
        return Answer(table[kind])

    drive(build(draw_world(Regime.FAILURES, 0.8, 1_001)), policy, until_s=600.0)
    assert kinds[WEB] == (1, 1)
    assert kinds[BATCH][1] == 1
    assert kinds[GANG] == (4, 4)


def test_looking_changes_nothing_and_shares_nothing() -> None:
    state = build(draw_world(Regime.FAILURES, 0.8, 1_002))
    state["weights"][0] = default_rule().table
    advance(state, 60.0, False)
    before = state.tobytes()
    seen = observe(state)
    seen.ready[:] = 0
    seen.free[:] = 0
    seen.wanted[:] = 0
    assert state.tobytes() == before
