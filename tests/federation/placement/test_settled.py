"""What was decided a minute ago is decided again: work that fills clusters does not leave them for being full."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from federation.desk.mixed import Mixed, terms_with
from federation.nodes.outlook import Wanted, outlook_of
from federation.placement.pipeline import place
from federation.placement.terms import Terms
from federation.snapshot import Snapshot
from prewarm.settings import FactorWeights, PlacementPolicy
from tests.federation.building import NOW, cluster, fleet, workload

BUSY = {"ap": 1, "eu": 9, "us": 7}
ASKS = {"cpu": "500m", "memory": "256Mi"}


def seen(rooms: Mapping[str, tuple[int, int]], counts: Mapping[str, int], price: float) -> Snapshot:
    """Clusters of (nodes, cores), `counts` instances of half a core on their nodes, the first nodes first."""
    made = []
    for name, (nodes, cores) in rooms.items():
        one, left = cluster(name, price=price if name == "eu" else 1.0), counts.get(name, 0)
        for _ in range(nodes):
            here = min(left, 2 * cores)
            left -= here
            one = one.nodes(cpu=str(cores), memory="64Gi", free={"cpu": f"{1000 * cores - 500 * here}m"})
        made.append(one.runs("shop/web", counts.get(name, 0)).runs("shop/other", BUSY[name]))
    return fleet(*made)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("price", [1.0, 2.0])
@pytest.mark.parametrize("wanted", [6, 31, 90, 200, 263])
def test_work_that_overflows_stays_where_it_was_put(wanted: int, price: float, mixed: bool) -> None:
    rooms = {"ap": (2, 4), "eu": (6, 16), "us": (4, 8)}
    asked = workload("shop/web", wanted, asks=ASKS)
    counts: dict[str, int] = {}
    rounds = []
    for _ in range(4):
        snapshot = seen(rooms, counts, price)
        terms = Terms()
        if mixed:
            work = (Wanted(asked.requests, asked.gpu, there=sum(counts.values()), wanted=wanted),)
            outlook = outlook_of(work, [one.nodes for one in snapshot.clusters], load=1.3)
            assert outlook is not None
            terms = terms_with(Mixed.of(outlook, NOW, patient=True), terms, asked)
        made = place(snapshot, asked, terms=terms, now=NOW)
        counts = {share.cluster: share.replicas for share in made.shares if share.replicas}
        rounds.append(counts)
    assert rounds[0] == rounds[1] == rounds[2] == rounds[3]
    assert sum(counts.values()) == min(wanted, 272)


@pytest.mark.parametrize(
    ("gain", "moved"),
    [
        pytest.param(0.3, False, id="less-than-one"),
        pytest.param(0.6, False, id="less-than-one-though-the-majority-leads-by-0.6"),
        pytest.param(0.95, False, id="almost-one"),
        pytest.param(1.1, True, id="more-than-one"),
    ],
)
def test_a_minority_moves_to_the_majority_for_more_than_one_steadiness_and_no_less(gain: float, moved: bool) -> None:
    """Eight in `eu` and two in `us`; `eu` is better by `gain` times steadiness in price alone."""
    weights = dict.fromkeys(("fit", "fragmentation", "future_fill", "network", "headroom", "risk"), 0.0)
    policy = PlacementPolicy(weights=FactorWeights(**weights, warm=0.5, price=2.0, steadiness=1.0))
    dear = 1.0 / (1.0 - gain / 2.0) - 1.0  # 1 / (1 + price) is lower by gain / 2, and price weighs 2
    clusters = [
        cluster(name, price=price).nodes(4, cpu="16", memory="64Gi").runs("shop/web", count)
        for name, price, count in (("eu", 0.0, 8), ("us", dear, 2))
    ]
    made = place(fleet(*clusters), workload("shop/web", 10, asks=ASKS), terms=Terms(policy=policy), now=NOW)
    found = {share.cluster: share.replicas for share in made.shares if share.replicas}
    assert found == ({"eu": 10} if moved else {"eu": 8, "us": 2})
