"""Work that had to leave comes back by itself, once its cluster was well for long enough, and not a moment before."""

from dataclasses import replace

from federation.placement.answer import Placement
from federation.placement.pipeline import place
from federation.placement.placer import Placer
from federation.placement.terms import Home, Terms
from federation.snapshot import MemberState, Snapshot, frozen
from prewarm.settings import FactorWeights, PlacementPolicy
from tests.federation.building import NOW, ClusterBuilder, cluster, fleet, workload

TERMS = Terms(policy=PlacementPolicy(failback_s=300.0, reserve_s=90.0))
APPS = [workload(f"shop/app{number:02d}", 1, asks={"cpu": "1"}) for number in range(15)]


class World:
    """Three clusters (a with room for all, b for ten, c for five) in which every decision is carried out at once."""

    def __init__(self) -> None:
        self.runs: dict[str, dict[str, int]] = {"a": {}, "b": {}, "c": {}}
        self.state = {"a": (MemberState.READY, 0.0)}
        self.placer = Placer(self.snapshot(NOW))

    def snapshot(self, now: float) -> Snapshot:
        """The fleet as it is."""
        return fleet(*(self._cluster(name, room, now) for name, room in (("a", 40), ("b", 10), ("c", 5))))

    def _cluster(self, name: str, room: int, now: float) -> ClusterBuilder:
        state, since = self.state.get(name, (MemberState.READY, 0.0))
        free = room - sum(self.runs[name].values())
        price = {"a": 0.5, "b": 1.0, "c": 1.5}[name]
        made = cluster(name, price=price, state=state, since=since).seen(0, now)
        made = made.nodes(cpu=str(room), memory="64Gi", free={"cpu": str(free)})
        for key, count in self.runs[name].items():
            made = made.runs(key, count)
        return made

    def decide(self, now: float) -> list[Placement]:
        """Everything is decided on one snapshot, then carried out."""
        self.placer.see(self.snapshot(now))
        made = [self.placer.place(app, terms=TERMS, now=now) for app in APPS]
        for placement in made:
            for share in placement.shares:
                if self.state.get(share.cluster, (MemberState.READY, 0))[0] is not MemberState.DARK:
                    self.runs[share.cluster][placement.workload] = share.replicas
        for name, apps in self.runs.items():
            self.runs[name] = {key: count for key, count in apps.items() if count}
        return made

    def where(self) -> dict[str, int]:
        """Instances by cluster."""
        return {name: sum(apps.values()) for name, apps in self.runs.items()}


def test_fifteen_apps_that_lose_their_cluster_go_ten_and_five_and_later_all_come_back() -> None:
    world = World()
    world.decide(NOW)
    assert world.where() == {"a": 15, "b": 0, "c": 0}

    world.state["a"] = (MemberState.DARK, NOW + 10)
    made = world.decide(NOW + 10)
    assert sum(one.unplaced for one in made) == 0
    assert world.where() == {"a": 15, "b": 10, "c": 5}
    assert all(share.before == 1 for one in made for share in one.shares if share.cluster == "a")

    back = NOW + 610
    world.runs["a"] = {}
    world.state["a"] = (MemberState.READY, back)
    for wait in (1, 150, 299):
        made = world.decide(back + wait)
        assert world.where() == {"a": 0, "b": 10, "c": 5}
    said = [reason.text for reason in made[0].reasons if reason.factor == "failback"]
    assert said == ["a came back 299 s ago and must be well for 300 s"]

    made = world.decide(back + 300)
    assert world.where() == {"a": 15, "b": 0, "c": 0}
    assert sum(one.unplaced for one in made) == 0
    world.decide(back + 305)
    assert world.placer.homes == {}
    assert sum(count for _, count in world.placer.moves) == 15


def test_a_return_that_is_under_way_is_not_taken_back() -> None:
    """New instances have started at home, the old ones still run: every further look gives the same answer."""
    asked = workload("shop/f", 2, asks={"cpu": "1"})

    def at(here: tuple[int, int], there: tuple[int, int], now: float) -> Snapshot:
        a = cluster("a").nodes(cpu="8", memory="64Gi").seen(0, now)
        b = cluster("b").nodes(cpu="8", memory="64Gi").seen(0, now)
        pairs = ((a, here), (b, there))
        return fleet(*(one.runs("shop/f", n, ready=ready) if n else one for one, (n, ready) in pairs))

    home = {"shop/f": Home(frozen({"a": 2}), NOW - 900)}
    placer = Placer(at((0, 0), (2, 2), NOW), homes=home)
    steps = [((0, 0), (2, 2)), ((2, 0), (2, 2)), ((2, 1), (2, 2)), ((2, 2), (1, 1)), ((2, 2), (0, 0))]
    for late, (here, there) in enumerate(steps):
        placer.see(at(here, there, NOW + late))
        made = placer.place(asked, terms=TERMS, now=NOW + late)
        assert {one.cluster: one.replicas for one in made.shares if one.replicas} == {"a": 2}
    assert placer.homes == {}


def test_a_home_that_is_no_longer_the_better_place_is_forgotten() -> None:
    asked = workload("shop/f", 2, asks={"cpu": "1"})
    two = fleet(
        cluster("a", price=1000.0).nodes(cpu="8", memory="64Gi"),
        cluster("b", price=0.1).nodes(cpu="8", memory="64Gi").runs("shop/f", 2),
    )
    placer = Placer(two, homes={"shop/f": Home(frozen({"a": 2}), NOW - 900)})
    dear = replace(TERMS, policy=replace(TERMS.policy, weights=FactorWeights(price=20.0)))
    made = placer.place(asked, terms=dear, now=NOW)
    assert {one.cluster: one.replicas for one in made.shares} == {"b": 2}
    assert placer.homes == {}


def test_a_cluster_that_fails_again_while_it_recovers_starts_to_wait_anew() -> None:
    world = World()
    world.decide(NOW)
    world.state["a"] = (MemberState.DARK, NOW + 10)
    world.decide(NOW + 10)
    world.runs["a"] = {}
    for failed in (NOW + 100, NOW + 400, NOW + 700):
        world.state["a"] = (MemberState.READY, failed)
        world.decide(failed + 290)
        assert world.where()["a"] == 0


def test_no_more_return_in_an_hour_than_may_move() -> None:
    world = World()
    world.decide(NOW)
    world.state["a"] = (MemberState.DARK, NOW + 10)
    world.decide(NOW + 10)
    world.runs["a"] = {}
    world.state["a"] = (MemberState.READY, NOW + 100)
    tight = replace(TERMS, policy=replace(TERMS.policy, moves_per_hour=4))
    world.placer.see(world.snapshot(NOW + 500))
    made = [world.placer.place(app, terms=tight, now=NOW + 500) for app in APPS]
    assert sum(share.replicas for one in made for share in one.shares if share.cluster == "a") == 4
    assert sum(bool(one.vetoes) for one in made) == 11


def test_what_overflowed_goes_back_when_there_is_room_again_but_not_at_once() -> None:
    asked = workload("shop/f", 6, asks={"cpu": "1"})
    cheap_first = replace(TERMS.policy, weights=FactorWeights(price=5.0))
    terms = replace(TERMS, policy=cheap_first)

    def at(free: int, here: int, there: int, now: float) -> Snapshot:
        a = cluster("a", price=0.5).nodes(cpu="8", memory="64Gi", free={"cpu": str(free)}).seen(0, now)
        b = cluster("b").nodes(cpu="8", memory="64Gi", free={"cpu": str(8 - there)}).seen(0, now)
        return fleet(*(one.runs("shop/f", n) if n else one for one, n in ((a, here), (b, there))))

    placer = Placer(at(4, 0, 0, NOW))
    first = placer.place(asked, terms=terms, now=NOW)
    assert {one.cluster: one.replicas for one in first.shares} == {"a": 4, "b": 2}
    assert first.preferred == {"a": 6}
    assert "no room for 2 more in a; they go to the next best" in [one.text for one in first.reasons]
    placer.see(at(4, 4, 2, NOW + 100))
    early = placer.place(asked, terms=terms, now=NOW + 100)
    assert {one.cluster: one.replicas for one in early.shares} == {"a": 4, "b": 2}
    placer.see(at(4, 4, 2, NOW + 300))
    late = placer.place(asked, terms=terms, now=NOW + 300)
    assert {one.cluster: one.replicas for one in late.shares} == {"a": 6, "b": 0}
    assert "2 may return to a, well for 300 s" in [one.text for one in late.reasons]
    placer.see(at(2, 6, 0, NOW + 310))
    placer.place(asked, terms=terms, now=NOW + 310)
    assert placer.homes == {}


def test_what_fits_nowhere_else_need_not_wait_until_its_old_cluster_was_well_for_long() -> None:
    """The gate keeps running work from moving back too early; it is no reason to leave instances unplaced."""
    homes = frozen({"shop/f": Home(frozen({"a": 2}), NOW - 50)})
    for splittable in (True, False):
        asked = workload("shop/f", 4, asks={"cpu": "1"}, splittable=splittable)
        two = fleet(
            cluster("a", since=NOW - 10).nodes(cpu="8", memory="64Gi"),
            cluster("b").nodes(cpu="3", memory="64Gi", free={"cpu": "1"}).runs("shop/f", 2),
        )
        made = place(two, asked, terms=replace(TERMS, homes=homes), now=NOW)
        counts = {one.cluster: one.replicas for one in made.shares}
        assert counts == ({"a": 1, "b": 3} if splittable else {"a": 4, "b": 0})
        assert made.unplaced == 0
