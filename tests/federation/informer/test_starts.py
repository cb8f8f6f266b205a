"""The median start of a member, however events come: in any order, twice, or all at once in a list."""

from __future__ import annotations

import tracemalloc
from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from federation.informer.hold.starts import FEWEST, NEWEST, REFRESH_S, WINDOW_S, Starts
from federation.informer.read.pods import PodFacts, Stage, read_pod
from federation.informer.read.start import Start
from federation.informer.reflect.decode import Change, Event
from federation.informer.reflect.store import Item, Store
from tests.federation.informer.made import Json, pod

AT = 1_790_000_000.0
NOW = AT + 600.0
SHOP: Json = {"owner": ("ReplicaSet", "shop-1"), "labels": {"pod-template-hash": "1"}}
COMING = PodFacts(Stage.BOUND, "n1", (), "demo/shop")


def ready(took_s: float, at: float = AT) -> PodFacts:
    return COMING._replace(ready=True, start=Start(at, took_s))


def starts_of(*took_s: float, at: float = AT) -> Starts:
    starts = Starts()
    for number, one in enumerate(took_s):
        starts.pod_changed(f"demo/p{number}", None, ready(one, at))
    return starts


def test_few_starts_are_no_measure() -> None:
    assert starts_of().median_s(NOW) is None
    assert starts_of(*[4.0] * (FEWEST - 1)).median_s(NOW) is None
    assert starts_of(4.0, 9.0, 5.0).median_s(NOW) == 5.0


def test_the_first_value_is_told_at_once_and_then_at_most_every_few_seconds() -> None:
    starts = starts_of(4.0, 4.0)
    assert starts.median_s(NOW) is None
    starts.pod_changed("demo/third", None, ready(4.0))
    assert starts.median_s(NOW) == 4.0
    for number in range(9):
        starts.pod_changed(f"demo/slow{number}", None, ready(30.0))
    assert starts.median_s(NOW + REFRESH_S - 0.1) == 4.0
    assert starts.median_s(NOW + REFRESH_S) == 30.0
    assert starts_of(4.0, 5.0, 6.0).median_s(NOW - 1e6) == 5.0


def test_a_clock_that_was_set_back_does_not_hold_an_old_value() -> None:
    starts = starts_of(4.0, 4.0, 4.0)
    assert starts.median_s(NOW) == 4.0
    for number in range(9):
        starts.pod_changed(f"demo/slow{number}", None, ready(30.0))
    assert starts.median_s(NOW - 300.0) == 30.0


def test_three_digits_are_told() -> None:
    assert starts_of(1234.0, 1235.0, 1236.0, 1239.0).median_s(NOW) == 1240.0
    assert starts_of(12.0, 12.0, 13.0, 13.0).median_s(NOW) == 12.5
    assert starts_of(0.0, 0.0, 1.0).median_s(NOW) == 0.0


def test_an_hour_later_nothing_is_known() -> None:
    starts = starts_of(4.0, 4.0, 4.0)
    assert starts.median_s(AT + WINDOW_S - 1) == 4.0
    assert starts.median_s(AT + WINDOW_S + REFRESH_S) is None


def test_of_many_the_newest_count_in_whatever_order_they_are_told() -> None:
    pods = [(f"demo/p{age}", ready(age / 10, AT - age)) for age in range(3 * NEWEST)]
    for seed in range(5):
        Random(seed).shuffle(pods)
        starts = Starts()
        for key, facts in pods:
            starts.pod_changed(key, None, facts)
        assert starts.median_s(NOW) == pytest.approx((NEWEST - 1) / 20, abs=0.01)


def test_readiness_that_was_lost_and_came_back_is_no_start() -> None:
    starts = starts_of(4.0, 4.0, 4.0)
    for number in range(3):
        key, back = f"demo/p{number}", ready(500.0, AT + 500.0)
        starts.pod_changed(key, ready(4.0), COMING)
        starts.pod_changed(key, COMING, back)
        starts.pod_changed(key, back, COMING)
        starts.pod_changed(key, COMING, back)
    for number in range(NEWEST):  # the honest ones give way to newer ones, and still it is none
        starts.pod_changed(f"demo/q{number}", None, ready(6.0, AT + 100.0))
    starts.pod_changed("demo/p0", ready(500.0, AT + 500.0), COMING)
    starts.pod_changed("demo/p0", COMING, ready(590.0, AT + 590.0))
    assert starts.median_s(NOW) == 6.0


def test_a_new_pod_of_an_old_ones_name_starts_for_itself() -> None:
    starts = starts_of(4.0, 4.0)
    starts.pod_changed("demo/p0", ready(4.0), COMING)
    starts.pod_changed("demo/p0", COMING, None)
    starts.pod_changed("demo/p0", None, ready(8.0, AT + 50.0))
    assert starts.median_s(NOW) == 4.0
    starts.pod_changed("demo/p9", None, ready(8.0, AT + 50.0))
    assert starts.median_s(NOW + REFRESH_S) == 6.0


def test_a_collection_that_went_and_came_back_counts_once() -> None:
    starts = starts_of(4.0, 4.0, 9.0, 9.0, 9.0)
    for _ in range(5):
        for number in range(2):
            starts.pod_changed(f"demo/p{number}", ready(4.0), None)
            starts.pod_changed(f"demo/p{number}", None, ready(4.0))
    assert starts.median_s(NOW) == 9.0


def test_memory_does_not_grow_with_the_pods_that_were() -> None:
    starts = Starts()

    def churn(first: int) -> None:
        for number in range(first, first + 5_000):
            key, began = f"demo/p{number}", ready(4.0, AT + number)
            for before, after in ((None, COMING), (COMING, began), (began, COMING), (COMING, None)):
                starts.pod_changed(key, before, after)

    churn(0)
    tracemalloc.start()
    churn(10_000)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 64 * 1024


class Member:
    """Pods of one member as a watch tells them: each is scheduled, begins, may lose readiness and may go."""

    def __init__(self, seed: int, pods: int) -> None:
        rng = Random(seed)
        self.first: list[Start] = []
        self.lives: list[list[Event]] = []
        version = 0
        for number in range(pods):
            began = AT + rng.randrange(300)
            took = float(rng.choice((0, 1, 3, 4, 60)))
            flaps = rng.randrange(3)
            life: list[Json] = [pod(f"p{number}", None, **SHOP), self._as(number, {"PodScheduled": began})]
            for flap in range(flaps + 1):
                at = began + took + 40.0 * flap
                life.append(self._as(number, {"PodScheduled": began, "Ready": at}))
                life.append(self._as(number, {"PodScheduled": began, **({} if flap < flaps else {"Ready": at})}))
            self.first.append(Start(began + took, took))
            events = []
            for raw in life:
                version += 1
                events.append(Event(Change.PUT, f"demo/p{number}", str(version), f"u{number}", raw))
            if rng.random() < 0.5:
                events.append(Event(Change.DELETE, f"demo/p{number}", str(version + 1), f"u{number}", life[-1]))
                version += 1
            self.lives.append(events)

    @staticmethod
    def _as(number: int, since: dict[str, float]) -> Json:
        return pod(f"p{number}", "n1", **SHOP, since=since)

    @property
    def median_s(self) -> float | None:
        """As anybody would count it."""
        newest = sorted((start, f"demo/p{number}") for number, start in enumerate(self.first))[-NEWEST:]
        took = [start.took_s for start, _ in newest]
        return float(f"{median(took):.3g}") if len(took) >= FEWEST else None


def followed(member: Member, rng: Random, *, doubt: float) -> Starts:
    """The starts after all events, in an order drawn by `rng`, some told again, with lists in between."""
    starts = Starts()
    store = Store(read_pod, starts.pod_changed)
    held: dict[str, Event] = {}
    told: list[Event] = []
    left = [list(events) for events in member.lives]
    while waiting := [events for events in left if events]:
        event = rng.choice(waiting).pop(0)
        store.apply(event)
        told.append(event)
        held[event.key] = event
        if rng.random() < doubt:
            store.apply(rng.choice(told))
        if rng.random() < doubt / 4:
            alive = [one for one in held.values() if one.change is Change.PUT]
            rng.shuffle(alive)
            store.replace([(one.key, Item(one.version, one.uid, read_pod(one.raw))) for one in alive])
            told.clear()  # a watch after a list repeats nothing of before
    return starts


@given(st.integers(0, 1 << 30), st.integers(0, 90), st.floats(0.0, 1.0))
def test_neither_order_nor_repetition_nor_lists_change_the_median(seed: int, pods: int, doubt: float) -> None:
    member, rng = Member(seed, pods), Random(seed)
    assert followed(member, rng, doubt=doubt).median_s(NOW) == member.median_s
    assert followed(member, rng, doubt=0.0).median_s(NOW) == member.median_s
