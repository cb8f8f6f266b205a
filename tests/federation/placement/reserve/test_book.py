"""The book: promised room is held until it is seen or its time is over, and never counted twice."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.pipeline import place
from federation.placement.placer import Placer
from federation.placement.reserve.book import EMPTY, Book, Claim, cancel, expire, reserve, see, shape_of, withdraw
from federation.placement.reserve.tally import Tally, cost, tally_of
from federation.placement.terms import Terms
from federation.placement.workload import GpuNeed
from tests.federation.building import NOW, cluster, fleet, workload

F, G = workload("shop/f"), workload("shop/g", asks={"cpu": "1", "memory": "256Mi"})


def claim(
    key: str = "shop/f", where: str = "a", n: int = 2, *, base: int = 0, until: float = NOW + 90, id_: str = "d1"
) -> Claim:
    """A claim of f's shape."""
    return Claim(id_, key, where, n, base, shape_of(F), until)


def held(book: Book, where: str = "a") -> dict[str, int]:
    """Unseen instances by workload."""
    return {one.workload: one.instances for one in book.of(where)}


def test_pods_that_appear_release_their_part() -> None:
    book = reserve(EMPTY, [claim(n=3, base=1)])
    one_more = see(book, [cluster("a").runs("shop/f", 4, existing=2).build()])
    assert held(one_more) == {"shop/f": 2}
    again = see(one_more, [cluster("a").runs("shop/f", 4, existing=2).build()])
    assert held(again) == {"shop/f": 2}
    all_there = see(again, [cluster("a").runs("shop/f", 4, existing=4).build()])
    assert held(all_there) == {}
    assert all_there.claims == {}


def test_what_ran_before_releases_nothing_and_a_pod_that_ends_holds_nothing_again() -> None:
    book = reserve(EMPTY, [claim(n=2, base=5)])
    assert held(see(book, [cluster("a").runs("shop/f", 7, existing=5).build()])) == {"shop/f": 2}
    seen = see(book, [cluster("a").runs("shop/f", 7, existing=6).build()])
    assert held(see(seen, [cluster("a").runs("shop/f", 7, existing=3).build()])) == {"shop/f": 1}


def test_a_pod_that_waits_for_a_node_does_not_release_the_room_that_it_waits_for() -> None:
    book = reserve(EMPTY, [claim(n=2)])
    waiting = cluster("a").runs("shop/f", 2, existing=2, pending=2)
    assert held(see(book, [waiting.build()])) == {"shop/f": 2}
    half = cluster("a").runs("shop/f", 2, existing=2, pending=1)
    assert held(see(book, [half.build()])) == {"shop/f": 1}
    placer = Placer(fleet(cluster("a").nodes(cpu="2", memory="64Gi").runs("shop/f", 2, existing=2, pending=2)))
    placer.place(workload("shop/f", 2, asks={"cpu": "1"}), terms=Terms(), now=NOW)
    assert placer.ask(workload("shop/g", 1, asks={"cpu": "1"}), terms=Terms(), now=NOW).unplaced == 1


def test_another_cluster_or_workload_releases_nothing() -> None:
    book = reserve(EMPTY, [claim()])
    assert held(see(book, [cluster("b").runs("shop/f", 2).build()])) == {"shop/f": 2}
    assert held(see(book, [cluster("a").runs("shop/g", 2).build()])) == {"shop/f": 2}


def test_time_over_cancelled_or_withdrawn() -> None:
    book = reserve(
        EMPTY, [claim(until=NOW + 90), claim("shop/g", until=NOW + 30, id_="d2"), claim("shop/g", "b", id_="d2")]
    )
    assert expire(book, NOW + 29.9) is book
    later = expire(book, NOW + 30)
    assert (held(later), held(later, "b")) == ({"shop/f": 2}, {"shop/g": 2})
    assert later.next_expiry == NOW + 90
    assert expire(later, NOW + 90).claims == {}
    assert held(cancel(book, "d2")) == {"shop/f": 2}
    assert held(cancel(book, "d2"), "b") == {}
    gone = withdraw(book, "shop/g")
    assert (held(gone), held(gone, "b"), gone.own("shop/g")) == ({"shop/f": 2}, {}, ())
    assert withdraw(gone, "shop/g") is gone


def test_an_older_book_is_not_changed_by_what_is_done_to_it() -> None:
    book = reserve(EMPTY, [claim()])
    reserve(book, [claim("shop/g")])
    see(book, [cluster("a").runs("shop/f", 2).build()])
    expire(book, NOW + 100)
    assert held(book) == {"shop/f": 2}
    assert EMPTY.claims == {}


def test_the_tally_follows_the_book_and_counts_by_shape() -> None:
    names = ("a", "b")
    book = reserve(EMPTY, [claim(), claim("shop/h", n=3), Claim("d", "shop/g", "b", 1, 0, shape_of(G), NOW + 9)])
    tally = tally_of(book, names)
    assert tally.displaced(F).tolist() == [5, 2]
    assert tally.displaced(G).tolist() == [5, 1]
    assert tally_of(book, names, tally) is tally
    after = tally_of(withdraw(book, "shop/h"), names, tally)
    assert after.displaced(F).tolist() == [2, 2]
    assert tally_of(EMPTY, names, after).displaced(F).tolist() == [0, 0]


def test_what_one_promised_instance_can_cost_another_shape() -> None:
    def shape(cpu: str, gpu: GpuNeed | None = None) -> tuple[tuple[tuple[str, int], ...], GpuNeed]:
        return shape_of(workload(asks={"cpu": cpu}, gpu=gpu or GpuNeed()))

    assert cost(shape("1"), shape("1")) == 1
    assert cost(shape("4"), shape("1")) == 4
    assert cost(shape("100m"), shape("4")) == 1
    assert cost(shape("1500m"), shape("1")) == 2
    assert cost(shape("1", GpuNeed(2, 1000)), shape("1", GpuNeed(0, 250))) == 8
    assert cost(shape("1", GpuNeed(0, 300)), shape("1", GpuNeed(0, 250))) == 2
    assert cost(shape("1", GpuNeed(0, 300)), shape("1", GpuNeed(1, 1000))) == 1
    assert cost(shape("1", GpuNeed(4, 1000)), shape("1")) == 1


nodes = st.lists(st.tuples(st.integers(0, 8000), st.integers(0, 8)), min_size=1, max_size=3)
requests = st.lists(st.tuples(st.integers(1, 6), st.integers(200, 4000), st.integers(1, 3)), min_size=1, max_size=8)


@settings(max_examples=40, deadline=None)
@given(st.lists(nodes, min_size=1, max_size=3), requests)
def test_whatever_is_promised_in_a_burst_fits_into_what_was_free(
    clusters: list[list[tuple[int, int]]], burst: list[tuple[int, int, int]]
) -> None:
    """However another scheduler packs them: each promised instance is bound to the first node with room."""
    built, free = [], []
    for at, rows in enumerate(clusters):
        one = cluster(f"c{at}")
        for cpu, gib in rows:
            one = one.nodes(cpu="8", memory="8Gi", free={"cpu": f"{cpu}m", "memory": f"{gib}Gi"})
        built.append(one)
        free.append([list(row) for row in rows])
    placer = Placer(fleet(*built))
    for number, (replicas, cpu, gib) in enumerate(burst):
        asked = workload(f"shop/f{number}", replicas, asks={"cpu": f"{cpu}m", "memory": f"{gib}Gi"})
        placement = placer.place(asked, terms=Terms(), now=NOW)
        assert sum(share.replicas for share in placement.shares) + placement.unplaced == replicas
        for share in placement.shares:
            for _ in range(share.replicas):
                left = free[int(share.cluster[1:])]
                home = next((row for row in left if row[0] >= cpu and row[1] >= gib), None)
                assert home is not None
                home[0] -= cpu
                home[1] -= gib


async def test_a_hundred_requests_that_race_never_get_the_same_room() -> None:
    placer = Placer(fleet(*(cluster(name).nodes(5, cpu="4", memory="64Gi") for name in "abc")))

    async def ask(number: int) -> list[tuple[str, int]]:
        await asyncio.sleep(0)
        asked = workload(f"shop/f{number}", 1, asks={"cpu": "2"})
        placement = placer.place(asked, terms=Terms(), now=NOW)
        return [(share.cluster, share.replicas) for share in placement.shares]

    answers = await asyncio.gather(*(ask(number) for number in range(100)))
    given = [share for answer in answers for share in answer]
    assert {name: sum(n for where, n in given if where == name) for name in "abc"} == {"a": 10, "b": 10, "c": 10}
    assert sum(not answer for answer in answers) == 70


def test_those_who_wait_together_are_served_by_priority_and_then_in_order() -> None:
    placer = Placer(fleet(cluster("a").nodes(cpu="2", memory="64Gi")))
    waiting = [workload(f"shop/f{at}", 1, asks={"cpu": "1"}, priority=level) for at, level in enumerate((0, 5, 0, 9))]
    answers = placer.place_all(waiting, terms=Terms(), now=NOW)
    assert [one.workload for one in answers] == [f"shop/f{at}" for at in range(4)]
    assert [one.unplaced for one in answers] == [1, 0, 1, 0]


def test_a_workload_does_not_stand_in_its_own_way() -> None:
    placer = Placer(fleet(cluster("a").nodes(cpu="4", memory="64Gi")))
    asked = workload("shop/f", 4, asks={"cpu": "1"})
    for _ in range(3):
        placement = placer.place(asked, terms=Terms(), now=NOW)
        assert [(one.cluster, one.replicas) for one in placement.shares] == [("a", 4)]
    assert sum(one.instances for one in placer.book.own("shop/f")) == 4


def test_a_rejected_decision_gives_its_room_back() -> None:
    placer = Placer(fleet(cluster("a").nodes(cpu="1", memory="64Gi")))
    first = placer.place(workload("shop/f", 1, asks={"cpu": "1"}), terms=Terms(), now=NOW)
    assert placer.ask(workload("shop/g", 1, asks={"cpu": "1"}), terms=Terms(), now=NOW).unplaced == 1
    placer.cancel(first.id)
    assert placer.ask(workload("shop/g", 1, asks={"cpu": "1"}), terms=Terms(), now=NOW).unplaced == 0


def test_a_dry_run_promises_nothing() -> None:
    placer = Placer(fleet(cluster("a").nodes(cpu="1", memory="64Gi")))
    placement = placer.ask(workload("shop/f", 1, asks={"cpu": "1"}), terms=Terms(), now=NOW)
    assert placement.reserved_until is None
    assert placer.book.claims == {}


def test_quota_in_flight_counts_for_the_namespace() -> None:
    placer = Placer(fleet(cluster("a").nodes(cpu="64", memory="64Gi").quota("shop", {"pods": "5"})))
    assert placer.place(workload("shop/f", 3), terms=Terms(), now=NOW).unplaced == 0
    assert placer.place(workload("shop/g", 3), terms=Terms(), now=NOW).unplaced == 1
    assert placer.place(workload("other/h", 3), terms=Terms(), now=NOW).unplaced == 0


def test_every_answer_has_an_id_of_its_own_and_the_same_past_gives_the_same_ids() -> None:
    def ids() -> list[str]:
        placer = Placer(fleet(cluster("a").nodes(cpu="64", memory="64Gi")))
        taken = [(F, NOW), (F, NOW), (G, NOW), (F, NOW + 1), (F, NOW + 1)]
        made = [placer.place(asked, terms=Terms(), now=now).id for asked, now in taken]
        return [*made, placer.ask(F, terms=Terms(), now=NOW + 1).id]

    assert len(set(ids())) == 6
    assert ids() == ids()
    assert ids()[0] == place(fleet(cluster("a").nodes(cpu="64", memory="64Gi")), F, now=NOW).id


def test_the_claims_of_a_second_answer_at_the_same_moment_are_cancelled_alone() -> None:
    placer = Placer(fleet(cluster("a").nodes(cpu="64", memory="64Gi")))
    first, second = (placer.place(F, terms=Terms(), now=NOW) for _ in range(2))
    placer.cancel(first.id)
    assert {claim.id for claim in placer.book.own(F.key)} == {second.id}
    placer.cancel(second.id)
    assert placer.book.own(F.key) == ()


def test_a_placer_counts_promised_room_once_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []

    def counting(book: Book, names: tuple[str, ...], last: Tally | None = None) -> Tally:
        counted.append(sum(len(claims) for claims in book.claims.values()))
        return tally_of(book, names, last)

    monkeypatch.setattr("federation.placement.pipeline.tally_of", counting)
    two = fleet(cluster("a").nodes(4, cpu="8", memory="16Gi"), cluster("b").nodes(4, cpu="8", memory="16Gi"))
    placer = Placer(two)
    first = placer.place(F, terms=Terms(), now=NOW)
    placer.see(two)
    placer.cancel(first.id)
    placer.see(fleet(*(cluster(name).nodes(4, cpu="8", memory="16Gi") for name in "ab")))
    placer.place(G, terms=Terms(), now=NOW + 1)
    placer.ask(F, terms=Terms(), now=NOW + 1)
    placer.ask(F, terms=Terms(), now=NOW + 1)
    assert counted == [0, 0, 1]
