"""However events come, repeated and in any chunks, the store ends as a fresh list would make it."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from federation.informer.reflect.decode import Change, Event, decode, key_of, uid_of
from federation.informer.reflect.store import REMEMBERED, Item, Store
from federation.members.lines import Lines
from tests.federation.fakeapi import line

Json = dict[str, Any]
Told = list[tuple[str, int | None, int | None]]


def colour(raw: Json) -> int:
    return int(raw["spec"])


def store_of(told: Told | None = None) -> Store[int]:
    return Store(colour, lambda *change: told.append(change) if told is not None else None)


def put(key: str, version: int, value: int, uid: str = "u") -> Event:
    raw = {"metadata": {"name": key, "resourceVersion": str(version), "uid": uid}, "spec": value}
    return Event(Change.PUT, key, str(version), uid, raw)


def gone(key: str, version: int, uid: str = "u") -> Event:
    return put(key, version, 0, uid)._replace(change=Change.DELETE)


def listed(store: Store[int], *events: Event) -> None:
    store.replace([(event.key, Item(event.version, event.uid, colour(event.raw))) for event in events])


def test_changes_are_told_with_what_was_before() -> None:
    told: Told = []
    store = store_of(told)
    listed(store, put("a", 1, 5), put("b", 2, 6))
    store.apply(put("a", 3, 7))
    store.apply(put("c", 4, 8))
    store.apply(gone("b", 5))
    assert told == [("a", None, 5), ("b", None, 6), ("a", 5, 7), ("c", None, 8), ("b", 6, None)]
    assert store.values == {"a": 7, "c": 8}


def test_a_new_version_that_changes_nothing_of_interest_is_not_told() -> None:
    told: Told = []
    store = store_of(told)
    listed(store, put("a", 1, 5))
    store.apply(put("a", 9, 5))
    listed(store, put("a", 11, 5))
    assert told == [("a", None, 5)]


def test_a_list_tells_only_the_difference() -> None:
    told: Told = []
    store = store_of(told)
    listed(store, put("a", 1, 5), put("b", 2, 6))
    told.clear()
    listed(store, put("b", 2, 6), put("c", 3, 7))
    assert told == [("a", 5, None), ("c", None, 7)]


def test_a_deletion_of_another_object_of_the_same_name_is_not_this_ones() -> None:
    store = store_of()
    listed(store, put("a", 5, 1, uid="second"))
    store.apply(gone("a", 4, uid="first"))
    assert store.values == {"a": 1}
    store.apply(gone("a", 6, uid="second"))
    assert store.values == {}


def test_a_deletion_of_what_is_not_there_is_nothing() -> None:
    told: Told = []
    store_of(told).apply(gone("a", 4))
    assert told == []


def test_an_old_event_again_does_not_bring_back_the_dead_or_the_past() -> None:
    store = store_of()
    events = [put("a", 1, 1), put("a", 2, 2), gone("a", 3), put("b", 4, 1), put("b", 5, 2)]
    for event in [*events, events[0], events[1], events[3], events[2]]:
        store.apply(event)
    assert store.values == {"b": 2}


def test_after_a_list_a_version_that_was_seen_before_counts_again() -> None:
    store = store_of()
    store.apply(put("a", 1, 1))
    store.apply(put("a", 2, 2))
    listed(store)  # restored from a backup, say
    store.apply(put("a", 1, 1))
    assert store.values == {"a": 1}


def test_memory_for_repetitions_is_bounded() -> None:
    store = store_of()
    for version in range(REMEMBERED * 2):
        store.apply(put("a", version, version))
    assert len(store._seen) == REMEMBERED


class World:
    """A collection with its history of events, as a server would keep it."""

    def __init__(self) -> None:
        self.objects: dict[str, Json] = {}
        self.events: list[tuple[str, Json]] = []

    def step(self, name: str, value: int | None) -> None:
        version = str(len(self.events) + 1)
        if value is None:
            if name in self.objects:
                last = self.objects.pop(name)
                self.events.append(("DELETED", {**last, "metadata": {**last["metadata"], "resourceVersion": version}}))
            return
        before = self.objects.get(name)
        uid = before["metadata"]["uid"] if before else f"u{version}"
        self.objects[name] = {"metadata": {"name": name, "resourceVersion": version, "uid": uid}, "spec": value}
        self.events.append(("MODIFIED" if before else "ADDED", self.objects[name]))


STEPS = st.lists(st.tuples(st.sampled_from("abcd"), st.none() | st.integers(0, 3)), max_size=40)


@given(steps=STEPS, start=st.integers(0, 40), seed=st.integers(0, 2**32), size=st.integers(1, 200))
def test_any_chunks_and_any_repetitions_end_as_a_fresh_list(
    steps: list[tuple[str, int | None]], start: int, seed: int, size: int
) -> None:
    rng, world, store = Random(seed), World(), store_of()
    for name, value in steps[:start]:
        world.step(name, value)
    store.replace(
        (str(key_of(raw)), Item(raw["metadata"]["resourceVersion"], uid_of(raw), colour(raw)))
        for raw in world.objects.values()
    )
    watched_from = len(world.events)
    for name, value in steps[start:]:
        world.step(name, value)
    sent: list[bytes] = []
    fresh = world.events[watched_from:]
    for at, (kind, raw) in enumerate(fresh):
        sent.append(line(kind, raw))
        while rng.random() < 0.4:
            sent.append(line(*fresh[rng.randint(0, at)]))
    stream, lines = b"".join(sent), Lines(10_000)
    for at in range(0, len(stream), size):
        for one in lines.feed(stream[at : at + size]):
            event = decode(one)
            assert isinstance(event, Event)
            store.apply(event)
    assert store.values == {name: colour(raw) for name, raw in sorted(world.objects.items())}
