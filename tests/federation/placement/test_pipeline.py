"""Placement as a whole: what holds for every answer, and the situations that users of other schedulers report."""

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from federation.placement.answer import Placement
from federation.placement.pipeline import place
from federation.placement.placer import Placer
from federation.placement.terms import Terms
from federation.placement.workload import Affinity, Caller, Spread
from federation.snapshot import MemberState, Snapshot
from prewarm.domain import Mode
from prewarm.settings import FactorWeights, PlacementPolicy
from tests.federation.building import NOW, ClusterBuilder, Wiring, cluster, fleet, workload


def counts(made: Placement) -> dict[str, int]:
    """Instances by cluster."""
    return {one.cluster: one.replicas for one in made.shares}


@st.composite
def clusters(draw: st.DrawFn, at: int) -> ClusterBuilder:
    state = draw(st.sampled_from([MemberState.READY] * 6 + list(MemberState)))
    one = cluster(
        f"c{at}",
        region=draw(st.sampled_from(["eu", "us", None])),
        price=draw(st.sampled_from([0.5, 1.0, 2.0])),
        state=state,
    )
    for _ in range(draw(st.integers(0, 3))):
        free = {"cpu": str(draw(st.integers(0, 8))), "pods": str(draw(st.integers(0, 20)))}
        one = one.nodes(
            draw(st.integers(1, 3)), cpu="8", memory="64Gi", free=free, schedulable=draw(st.booleans() | st.just(True))
        )
    if draw(st.booleans()):
        wanted = draw(st.integers(0, 5))
        one = one.runs("shop/checkout", wanted, ready=draw(st.integers(0, wanted)))
    if draw(st.integers(0, 5)) == 0:
        one = one.seen(draw(st.sampled_from([100.0, 130.0, None])))
    if draw(st.integers(0, 5)) == 0:
        one = one.autoscales(2, cpu="8", memory="64Gi")
    return one


@st.composite
def fleets(draw: st.DrawFn) -> Snapshot:
    return fleet(*(draw(clusters(at)) for at in range(draw(st.integers(0, 5)))))


@st.composite
def asked(draw: st.DrawFn) -> dict[str, object]:
    return {
        "replicas": draw(st.integers(0, 20)),
        "asks": {"cpu": draw(st.sampled_from(["250m", "1", "3"]))},
        "affinity": Affinity(regions=draw(st.sampled_from([(), ("eu",)]))),
        "spread": Spread(draw(st.sampled_from([None, None, 3])), draw(st.integers(1, 3))),
        "splittable": draw(st.sampled_from([True, True, False])),
    }


heats = st.sampled_from([0.0, 0.0, 0.1, 2.0])


@settings(max_examples=60, deadline=None)
@given(fleets(), asked(), heats)
def test_every_answer_adds_up_and_keeps_its_limits(snapshot: Snapshot, fields: dict[str, object], heat: float) -> None:
    terms = Terms(policy=PlacementPolicy(spread_temperature=heat))
    one = workload(**fields)  # type: ignore[arg-type]
    made = place(snapshot, one, terms=terms, now=NOW)
    total = sum(share.replicas for share in made.shares)
    assert made.unplaced == max(0, one.replicas - total)
    assert sum(share.weight for share in made.shares) == pytest.approx(1.0 if total else 0.0)
    passed = {score.cluster: score for score in made.scores}
    dropped = {filtered.cluster for filtered in made.filtered}
    assert passed.keys() | dropped == {cluster.name for cluster in snapshot.clusters}
    assert not passed.keys() & dropped
    for share in made.shares:
        if share.cluster in dropped:
            assert share.replicas <= share.before
        elif one.spread.max_per_cluster is not None:
            assert share.replicas <= max(one.spread.max_per_cluster, share.before)
    if not one.splittable and not any(share.before for share in made.shares):
        assert len(made.shares) <= 1
        assert total in (0, one.replicas)
    for score in made.scores:
        assert sum(factor.contribution for factor in score.factors) == pytest.approx(score.score, abs=1e-6)
        assert score.room >= 0


@settings(max_examples=25, deadline=None)
@given(fleets(), asked(), heats)
def test_the_same_question_has_the_same_answer_whatever_was_asked_before(
    snapshot: Snapshot, fields: dict[str, object], heat: float
) -> None:
    terms = Terms(policy=PlacementPolicy(spread_temperature=heat))
    one = workload(**fields)  # type: ignore[arg-type]
    placer = Placer(fleet(cluster("other").nodes(cpu="4", memory="8Gi")))
    placer.ask(workload("shop/other"), terms=terms, now=NOW)
    placer.see(snapshot)
    assert placer.ask(one, terms=terms, now=NOW) == replace(place(snapshot, one, terms=terms, now=NOW))


JITTER = st.floats(0.99, 1.01)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(20_000, 40_000), st.sampled_from([0.8, 1.0, 1.2])), min_size=2, max_size=5),
    st.integers(1, 12),
    st.lists(st.lists(JITTER, min_size=5, max_size=5), min_size=3, max_size=3),
    st.sampled_from([0.0, 0.05, 1.0]),
)
@example([(20_000, 0.8), (34_892, 0.8)], 7, [[1.0] * 5], 0.05)
def test_one_percent_of_jitter_in_free_room_moves_nothing(
    rooms: list[tuple[int, float]], replicas: int, noise: list[list[float]], heat: float
) -> None:
    """The example went 5/2 when new and 4/3 at the next look: shares followed the room that the instances had taken."""

    def at(shake: list[float], running: dict[str, int]) -> Snapshot:
        found = []
        for n, (room, price) in enumerate(rooms):
            there = running.get(f"c{n}", 0)
            free = {"cpu": f"{round(room * shake[n]) - 1000 * there}m", "memory": "128Gi"}
            one = cluster(f"c{n}", price=price).nodes(cpu="64", memory="256Gi", free=free)
            found.append(one.runs("shop/checkout", there))
        return fleet(*found)

    terms = Terms(policy=PlacementPolicy(spread_temperature=heat))
    one = workload(replicas=replicas, asks={"cpu": "1"})
    made = place(at([1.0] * 5, {}), one, terms=terms, now=NOW)
    for shake in noise:
        again = place(at(shake, counts(made)), one, terms=terms, now=NOW)
        assert {k: n for k, n in counts(again).items() if n} == {k: n for k, n in counts(made).items() if n}


def test_a_better_cluster_is_worth_a_move_only_beyond_the_cost_of_moving() -> None:
    wires = Wiring(delay_ms={("far", "near"): 200.0})
    callers = (Caller(10.0, cluster="near"),)
    two = fleet(
        cluster("far").nodes(cpu="32", memory="64Gi").runs("shop/checkout", 4),
        cluster("near").nodes(cpu="32", memory="64Gi"),
        wiring=wires,
    )
    steady = place(two, workload(replicas=4, callers=callers), now=NOW)
    assert counts(steady) == {"far": 4}
    keen = Terms(policy=PlacementPolicy(weights=FactorWeights(network=6.0, steadiness=0.5)))
    assert counts(place(two, workload(replicas=4, callers=callers), terms=keen, now=NOW)) == {"near": 4, "far": 0}


def test_preferred_then_overflow() -> None:
    wires = Wiring(delay_ms={("near", "mid"): 20.0, ("near", "far"): 150.0})
    three = fleet(
        *(
            cluster(name).nodes(cpu=cores, memory="64Gi")
            for name, cores in (("near", "4"), ("mid", "4"), ("far", "64"))
        ),
        wiring=wires,
    )
    made = place(
        three,
        workload(replicas=10, asks={"cpu": "1"}, callers=(Caller(9.0, cluster="near"),)),
        terms=Terms(policy=PlacementPolicy(weights=FactorWeights(network=8.0))),
        now=NOW,
    )
    assert counts(made) == {"near": 4, "mid": 4, "far": 2}


def test_fragmented_clusters_do_not_attract_what_fits_on_none_of_their_nodes() -> None:
    """Aggregates say the first has more than enough; not one of its nodes has."""
    two = fleet(
        cluster("torn", price=0.1).nodes(40, cpu="8", memory="64Gi", free={"cpu": "3"}),
        cluster("whole", price=5.0).nodes(1, cpu="8", memory="64Gi"),
    )
    made = place(two, workload(replicas=3, asks={"cpu": "4"}), now=NOW)
    assert counts(made) == {"whole": 2}
    assert made.unplaced == 1


def test_one_bad_member_does_not_stop_the_others() -> None:
    broken = replace(cluster("broken").build(), state=MemberState.DARK, ages=cluster("x").seen(None).cluster.ages)
    good = cluster("good").nodes(cpu="8", memory="8Gi").build()
    made = place(Snapshot(NOW, (broken, good)), workload(replicas=2), now=NOW)
    assert counts(made) == {"good": 2}


def test_instances_on_a_cluster_we_see_badly_are_neither_cut_nor_counted_twice() -> None:
    stale = cluster("stale").nodes(cpu="8", memory="64Gi").runs("shop/checkout", 4).seen(500)
    fresh = cluster("fresh").nodes(cpu="8", memory="64Gi")
    assert counts(place(fleet(stale, fresh), workload(replicas=6), now=NOW)) == {"stale": 4, "fresh": 2}
    assert counts(place(fleet(stale, fresh), workload(replicas=1), now=NOW)) == {"stale": 4}


def test_a_cordoned_cluster_keeps_what_it_has_and_may_shrink() -> None:
    closed = cluster("closed", state=MemberState.CORDONED).nodes(cpu="8", memory="64Gi").runs("shop/checkout", 4)
    fresh = cluster("open").nodes(cpu="8", memory="64Gi")
    assert counts(place(fleet(closed, fresh), workload(replicas=6), now=NOW)) == {"closed": 4, "open": 2}
    assert counts(place(fleet(closed, fresh), workload(replicas=2), now=NOW)) == {"closed": 2}


def test_a_lost_cluster_is_replaced_elsewhere_and_needs_no_budget_of_moves() -> None:
    gone = cluster("gone", state=MemberState.DARK).nodes(cpu="8", memory="64Gi").runs("shop/checkout", 4)
    fresh = cluster("fresh").nodes(cpu="8", memory="64Gi")
    terms = Terms(policy=PlacementPolicy(moves_per_hour=0))
    made = place(fleet(gone, fresh), workload(replicas=4), terms=terms, now=NOW)
    assert counts(made) == {"fresh": 4, "gone": 0}
    assert made.vetoes == ()


def test_room_that_autoscaling_would_add_comes_last_and_is_said() -> None:
    two = fleet(
        cluster("a", price=0.1).nodes(cpu="2", memory="64Gi").autoscales(1, start_s=150, cpu="4", memory="64Gi"),
        cluster("b", price=9.0).nodes(cpu="3", memory="64Gi"),
    )
    made = place(two, workload(replicas=5, asks={"cpu": "1"}), now=NOW)
    assert counts(made) == {"a": 2, "b": 3}
    assert "autoscale_headroom" not in {reason.factor for reason in made.reasons}
    more = place(two, workload(replicas=7, asks={"cpu": "1"}), now=NOW)
    assert counts(more) == {"a": 4, "b": 3}
    assert [r.text for r in more.reasons if r.factor == "autoscale_headroom"] == [
        "2 in a wait for nodes that autoscaling adds, about 150 s"
    ]
    assert place(two, workload(replicas=10, asks={"cpu": "1"}), now=NOW).unplaced == 1


def test_a_gang_goes_to_a_cluster_that_has_the_nodes_before_one_that_would_add_them() -> None:
    two = fleet(
        cluster("a", price=0.1).nodes(cpu="2", memory="64Gi").autoscales(4, cpu="4", memory="64Gi"),
        cluster("b", price=9.0).nodes(cpu="8", memory="64Gi"),
    )
    gang = workload(replicas=6, asks={"cpu": "1"}, splittable=False)
    assert counts(place(two, gang, now=NOW)) == {"b": 6}
    larger = place(two, replace(gang, replicas=12), now=NOW)
    assert counts(larger) == {"a": 12}
    assert [r.value for r in larger.reasons if r.factor == "autoscale_headroom"] == [10.0]


def test_spread_that_cannot_be_met_is_said() -> None:
    two = fleet(
        cluster("a").nodes(cpu="8", memory="64Gi"), cluster("b").nodes(cpu="8", memory="64Gi", free={"cpu": "0"})
    )
    made = place(two, workload(replicas=3, spread=Spread(None, 2)), now=NOW)
    assert counts(made) == {"a": 3}
    assert "spread over 1 of 2 clusters: no other has room" in [reason.text for reason in made.reasons]


def test_the_answer_carries_mode_time_and_an_id_that_a_replay_would_give_again() -> None:
    one = fleet(cluster("a").nodes(cpu="8", memory="64Gi"))
    made = place(one, workload(), terms=Terms(mode=Mode.ACTIVE), now=NOW)
    assert (made.mode, made.at, made.applied) == (Mode.ACTIVE, NOW, False)
    assert made.id == place(one, workload(), now=NOW).id
    assert made.id != place(one, workload(), now=NOW + 1).id


def test_an_empty_fleet_and_nothing_to_place() -> None:
    assert place(fleet(), workload(replicas=2), now=NOW).unplaced == 2
    nothing = place(fleet(cluster("a").nodes(cpu="8", memory="8Gi")), workload(replicas=0), now=NOW)
    assert (nothing.shares, nothing.unplaced) == ((), 0)


def test_a_move_that_is_under_way_is_not_taken_back() -> None:
    """From the decision on, through surge and drain, the answer to the same question stays the same."""
    keen = Terms(policy=PlacementPolicy(weights=FactorWeights(network=3.0, steadiness=0.5)))
    asked = workload(replicas=4, callers=(Caller(10.0, cluster="near"),))

    def at(far: int, near: int, ready: int) -> Snapshot:
        here = cluster("near").nodes(cpu="32", memory="64Gi")
        there = cluster("far").nodes(cpu="32", memory="64Gi")
        here = here.runs("shop/checkout", near, ready=ready) if near else here
        there = there.runs("shop/checkout", far) if far else there
        return fleet(there, here, wiring=Wiring(delay_ms={("far", "near"): 200.0}))

    placer = Placer(at(4, 0, 0))
    for step, (far, near, ready) in enumerate([(4, 0, 0), (4, 4, 0), (4, 4, 2), (2, 4, 2), (0, 4, 4)]):
        placer.see(at(far, near, ready))
        made = placer.place(asked, terms=keen, now=NOW + step)
        assert {name: n for name, n in counts(made).items() if n} == {"near": 4}
    assert [count for _, count in placer.moves] == [4]


def test_a_cluster_that_is_named_and_unknown_is_told() -> None:
    asked = workload(affinity=Affinity(exclude=("eu-wset", "us")))
    clusters = (cluster("eu-west").nodes(cpu="8"), cluster("us").nodes(cpu="8"))
    placement = place(fleet(*clusters), asked, terms=None, now=NOW)
    assert [one.text for one in placement.reasons if one.factor == "clusters"] == ["no cluster is called eu-wset"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 24), st.sampled_from([0.5, 0.8, 1.0, 1.2, 2.0]), st.integers(0, 6)),
        min_size=1,
        max_size=6,
    ),
    st.integers(1, 20),
    st.sampled_from([0.0, 0.02, 0.05, 0.3, 1.0]),
    st.integers(1, 3),
    st.sampled_from([None, None, 4]),
    st.lists(st.tuples(st.integers(0, 5), st.floats(0.1, 50.0)), max_size=3),
    st.booleans(),
)
def test_what_was_carried_out_is_decided_again(
    rooms: list[tuple[int, float, int]],
    replicas: int,
    heat: float,
    clusters_wanted: int,
    most: int | None,
    calls: list[tuple[int, float]],
    splittable: bool,
) -> None:
    """An answer stands once it runs: nothing has changed but that the workload is there."""
    names = [f"c{n}" for n in range(len(rooms))]
    delays = {(a, b): 10.0 * (1 + abs(names.index(a) - names.index(b))) for a in names for b in names if a != b}

    def at(running: dict[str, int]) -> Snapshot:
        found = []
        for name, (cores, price, others) in zip(names, rooms, strict=True):
            there = running.get(name, 0)
            one = cluster(name, price=price).nodes(cpu="32", memory="128Gi", free={"cpu": str(cores - there)})
            found.append(one.runs("shop/other", others).runs("shop/checkout", there))
        return fleet(*found, wiring=Wiring(delay_ms=delays))

    one = workload(
        replicas=replicas,
        asks={"cpu": "1"},
        spread=Spread(most, clusters_wanted),
        callers=tuple(Caller(rate, cluster=f"c{n}") for n, rate in calls if n < len(rooms)),
        splittable=splittable,
    )
    terms = Terms(policy=PlacementPolicy(spread_temperature=heat))
    made = counts(place(at({}), one, terms=terms, now=NOW))
    assert counts(place(at(made), one, terms=terms, now=NOW)) == made
