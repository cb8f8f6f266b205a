"""A decision on ground that followed a long past is the decision on ground that was made from nothing."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.answer import Placement
from federation.placement.pipeline import place
from federation.placement.placer import Placer
from federation.placement.reserve.book import EMPTY, Book, reserve
from federation.placement.terms import Terms
from federation.placement.workload import Affinity, GpuNeed, Spread, Workload
from federation.snapshot import Cluster, MemberState, Running, Snapshot, frozen
from prewarm.settings import PlacementPolicy
from tests.federation.building import NOW, ClusterBuilder, cluster, fleet, workload

NAMES = ("a", "b", "c", "d")
POLICY = PlacementPolicy(reserve_s=20.0, stale_s=60.0)


def _built(name: str, size: int, free: int) -> ClusterBuilder:
    gpus = ((1000, 400), (700,), ())[free % 3]
    return (
        cluster(name, region="east" if name in "ab" else "west", price=1.0 + size / 10)
        .nodes(size, cpu="8", memory="16Gi", free={"cpu": str(free)}, gpus=gpus)
        .nodes(1, cpu="4", memory="8Gi", schedulable=size % 2 == 0)
        .quota("shop", {"pods": "30"})
    )


@dataclass(frozen=True)
class Step:
    """What happens next: seconds pass, a cluster changes in one way, and a workload is asked for."""

    pause_s: float
    at: int
    way: int
    size: int
    asked: Workload
    hold: bool


def _running(one: Cluster, size: int, asked: Workload) -> Cluster:
    return replace(one, running=frozen({**one.running, asked.key: Running(size, size, size // 2, size % 2)}))


WAYS: tuple[Callable[[Cluster, int, Workload], Cluster], ...] = (
    lambda one, size, _: replace(one, nodes=_built(one.name, size, 8 - size).build().nodes),
    lambda one, size, _: replace(one, state=tuple(MemberState)[size % 5]),
    _running,
    lambda one, size, _: replace(one, region=("east", "west", None)[size % 3], price=1.0 / size),
    lambda one, size, _: replace(one, running=frozen(), ages=replace(one.ages, nodes=NOW - 10.0 * size)),
    lambda one, _, __: one,
)

asks = st.builds(
    lambda name, replicas, cpu, gpu, region, apart: workload(
        f"shop/{name}",
        replicas,
        asks={"cpu": f"{cpu}m"},
        gpu=gpu,
        affinity=Affinity(regions=region),
        spread=Spread(min_clusters=apart),
    ),
    st.sampled_from("fghijk"),
    st.integers(1, 9),
    st.sampled_from([200, 1000, 1500]),
    st.sampled_from([GpuNeed(), GpuNeed(1, 1000), GpuNeed(0, 300)]),
    st.sampled_from([(), ("east",)]),
    st.integers(1, 3),
)
pauses = st.sampled_from([0.0, 1.0, 15.0])
steps = st.builds(
    Step, pauses, st.integers(0, 3), st.integers(0, len(WAYS) - 1), st.integers(1, 7), asks, st.booleans()
)


def _rebuilt(book: Book) -> Book:
    return reserve(EMPTY, [claim for claims in book.claims.values() for claim in claims])


def _but_id(placement: Placement) -> Placement:
    return replace(placement, id="", reserved_until=None)


@settings(max_examples=30, deadline=None)
@given(st.lists(steps, min_size=1, max_size=12))
def test_following_a_past_changes_no_decision(past: list[Step]) -> None:
    snapshot, now = fleet(*(_built(name, 2, 6) for name in NAMES)), NOW
    placer = Placer(snapshot)
    for step in past:
        now += step.pause_s
        one = WAYS[step.way](snapshot.clusters[step.at], step.size, step.asked)
        clusters = (*snapshot.clusters[: step.at], one, *snapshot.clusters[step.at + 1 :])
        snapshot = Snapshot(now, clusters, snapshot.links)
        placer.see(snapshot)
        terms = Terms(policy=POLICY)
        asked = placer.ask(step.asked, terms=terms, now=now)  # also lets go of what is over
        seen = replace(terms, homes=placer.homes, moved=sum(count for _, count in placer.moves))
        fresh = place(snapshot, step.asked, book=_rebuilt(placer.book), terms=seen, now=now)
        assert _but_id(asked) == _but_id(fresh)
        assert all(now < claim.until for claims in placer.book.claims.values() for claim in claims)
        if step.hold:
            assert _but_id(placer.place(step.asked, terms=terms, now=now)) == _but_id(fresh)
        _is_whole(placer.book)


def _is_whole(book: Book) -> None:
    """What the book keeps beside its claims says what the claims say."""
    fresh = _rebuilt(book)
    assert (dict(book.ends), book.next_expiry) == (dict(fresh.ends), fresh.next_expiry)
    assert {key: set(names) for key, names in book.where.items()} == {
        key: set(names) for key, names in fresh.where.items()
    }
