"""The one thing that changes: a placer holds the newest ground and the book, and takes one decision after another.

Requests that come at the same time must not be promised the same room. All of placement is one synchronous call, so on
an event loop no two of them ever interleave, and what one was promised is in the book before the next one looks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace

from federation.placement.answer import Placement
from federation.placement.fleet.compiled import FleetColumns
from federation.placement.fleet.follow import follow, touched_of
from federation.placement.pipeline import Ground, decide, stand
from federation.placement.reserve.book import (
    EMPTY,
    Book,
    Claim,
    bound,
    cancel,
    expire,
    reserve,
    see,
    shape_of,
    withdraw,
)
from federation.placement.safety.failback import remember
from federation.placement.terms import Home, Terms
from federation.placement.workload import Workload
from federation.snapshot import Cluster, MemberState, Snapshot, frozen
from prewarm.domain import decision_id

DARK = MemberState.DARK
_HOUR_S = 3600.0


class Placer:
    """Takes decisions over the newest snapshot. What has to outlive a restart can be read from it and given again.

    homes: where workloads were before they had to leave. moves: (when, how many) instances were moved.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        book: Book = EMPTY,
        homes: Mapping[str, Home] | None = None,
        moves: Iterable[tuple[float, int]] = (),
    ) -> None:
        self._fleet, self._book = follow(snapshot), book
        self._ground: Ground | None = None
        self._homes = dict(homes or {})
        self._moves = deque(moves)
        self._asked: dict[str, int] = {}
        self._asked_at: float | None = None

    @property
    def snapshot(self) -> Snapshot:
        """What decisions are taken from."""
        return self._fleet.snapshot

    @property
    def fleet(self) -> FleetColumns:
        """The same in columns."""
        return self._fleet

    @property
    def book(self) -> Book:
        """Room in flight."""
        return self._book

    @property
    def homes(self) -> Mapping[str, Home]:
        """Where workloads were before they had to leave, by key."""
        return frozen(self._homes)

    @property
    def moves(self) -> tuple[tuple[float, int], ...]:
        """When how many instances were moved, within the last hour."""
        return tuple(self._moves)

    def see(self, snapshot: Snapshot) -> None:
        """Take a newer snapshot; pods that appeared release the room that was held for them."""
        self._book = see(self._book, _fresh(snapshot.clusters, self._fleet.clusters))
        self._fleet = follow(snapshot, self._fleet)

    def ask(self, workload: Workload, *, terms: Terms, now: float) -> Placement:
        """What would be decided; nothing is promised (a dry run)."""
        self._book = expire(self._book, now)
        moved = sum(count for at, count in self._moves if now - at < _HOUR_S)
        placement = decide(
            self._standing(), workload, terms=replace(terms, homes=self._homes, moved=terms.moved + moved), now=now
        )
        turn = self._turn(workload.key, now)
        return placement if turn == 0 else replace(placement, id=decision_id(now, workload.key, f"placement {turn}"))

    def place(self, workload: Workload, *, terms: Terms, now: float) -> Placement:
        """Decide, and hold the room until its pods are seen or `reserve_s` is over."""
        placement = self.ask(workload, terms=terms, now=now)
        claims = self._claims(workload, placement, now + terms.policy.reserve_s)
        self._book = reserve(withdraw(self._book, workload.key), claims)
        self._note(placement, terms.policy.failback_s)
        return replace(placement, reserved_until=now + terms.policy.reserve_s) if claims else placement

    def place_all(self, workloads: Iterable[Workload], *, terms: Terms, now: float) -> tuple[Placement, ...]:
        """Decide several that wait together: higher priority first, then in the order given; answers in that order."""
        waiting = list(workloads)
        turns = sorted(range(len(waiting)), key=lambda turn: -waiting[turn].priority)
        made = {turn: self.place(waiting[turn], terms=terms, now=now) for turn in turns}
        return tuple(made[turn] for turn in range(len(waiting)))

    def promised(self, placement: Placement) -> tuple[Claim, ...]:
        """What of the room that one decision was promised is still held."""
        return tuple(one for one in self.book.own(placement.workload) if one.id == placement.id)

    def cancel(self, decision: str) -> None:
        """Release what one decision was promised: it was not carried out."""
        self._book = cancel(self._book, decision)

    def _turn(self, key: str, now: float) -> int:
        """How often this workload was asked for at this very moment before; each answer has an id of its own."""
        if now != self._asked_at:
            self._asked_at = now
            self._asked.clear()
        turn = self._asked.get(key, 0)
        self._asked[key] = turn + 1
        return turn

    def _standing(self) -> Ground:
        """What a decision stands on; promised room is counted here, once for all that changed since the last one."""
        last = self._ground
        if last is None or last.fleet is not self._fleet or last.book is not self._book:
            self._ground = last = stand(self._fleet, self._book, last)
        return last

    def _claims(self, workload: Workload, placement: Placement, until: float) -> list[Claim]:
        """A claim for each cluster that gets instances which are not there yet."""
        found = []
        for share in placement.shares:
            cluster = self._fleet.clusters[self._fleet.position[share.cluster]]
            base = bound(cluster, workload.key)
            if share.replicas > base:
                claim = Claim(
                    id=placement.id,
                    workload=workload.key,
                    cluster=share.cluster,
                    instances=share.replicas - base,
                    base=base,
                    shape=shape_of(workload),
                    until=until,
                    priority=workload.priority,
                )
                found.append(claim)
        return found

    def _note(self, placement: Placement, failback_s: float) -> None:
        """Remember where it was at home, and count what moves."""
        home = remember(self._homes.get(placement.workload), placement, self._fleet.clusters, failback_s=failback_s)
        if home is None:
            self._homes.pop(placement.workload, None)
        else:
            self._homes[placement.workload] = home
        moved = self._moved(placement)
        if moved:
            self._moves.append((placement.at, moved))
        while self._moves and placement.at - self._moves[0][0] >= _HOUR_S:
            self._moves.popleft()

    def _moved(self, placement: Placement) -> int:
        """Instances that leave one cluster for another; those of a lost cluster are replaced, not moved."""
        fleet = self._fleet
        left = [one for one in placement.shares if fleet.clusters[fleet.position[one.cluster]].state is not DARK]
        fewer = sum(max(0, one.before - one.replicas) for one in left)
        return min(fewer, sum(max(0, one.replicas - one.before) for one in left))


def _fresh(clusters: tuple[Cluster, ...], known: tuple[Cluster, ...]) -> list[Cluster]:
    """Clusters that are not among the objects that were known."""
    touched = touched_of(clusters, known)
    if touched is not None:
        return [clusters[at] for at in touched]
    ids = set(map(id, known))
    return [one for one in clusters if id(one) not in ids]
