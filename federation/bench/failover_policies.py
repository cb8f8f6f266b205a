"""Who decides in the failover world: the service's own placer, and divisions that stand beside it.

All are asked the same: which clusters an app that has to be looked at shall use. Those beside ours see the room that
the snapshot shows, as ours does, and decide app by app; none of them holds room for what it has just decided, which is
what karmada-io/karmada#6518 describes, and none returns by itself (#7441 asks for it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from federation.bench.failover_world import ROOM, workload_of
from federation.placement.answer import Placement
from federation.placement.pipeline import place
from federation.placement.placer import Placer
from federation.placement.terms import Terms
from federation.snapshot import MemberState, Snapshot
from prewarm.settings import PlacementPolicy


@dataclass(frozen=True, slots=True)
class Choice:
    """Instances of an app by cluster, and the weights that its router is given."""

    replicas: Mapping[str, int]
    weights: Mapping[str, float]


class Policy(Protocol):
    """Decides for the apps that wait; `surge`: whether a move starts the new instance first."""

    surge: bool

    def decide(self, snapshot: Snapshot, apps: Sequence[int], now: float) -> dict[int, Choice]:
        """A choice for each app."""
        ...


class Ours:
    """The pipeline of the service, with its book of promised room, its memory of homes and its surge."""

    surge = True

    def __init__(self, snapshot: Snapshot, policy: PlacementPolicy) -> None:
        self.placer = Placer(snapshot)
        self._terms = Terms(policy)

    def decide(self, snapshot: Snapshot, apps: Sequence[int], now: float) -> dict[int, Choice]:
        """All that wait, in one turn."""
        self.placer.see(snapshot)
        made = self.placer.place_all([workload_of(app) for app in apps], terms=self._terms, now=now)
        return {app: _choice(one) for app, one in zip(apps, made, strict=True)}


class DrainFirst(Ours):
    """Ours, but a move lets the old instance go at once."""

    surge = False


class WithoutReservation:
    """The same filters, factors and division, each app by itself and with no book."""

    surge = True

    def __init__(self, policy: PlacementPolicy) -> None:
        self._terms = Terms(policy)

    def decide(self, snapshot: Snapshot, apps: Sequence[int], now: float) -> dict[int, Choice]:
        """Each app from the same snapshot."""
        return {app: _choice(place(snapshot, workload_of(app), terms=self._terms, now=now)) for app in apps}


class ByAvailable:
    """Division by available replicas (Karmada's dynamic weight): the one replica goes where most fit."""

    surge = True

    def decide(self, snapshot: Snapshot, apps: Sequence[int], now: float) -> dict[int, Choice]:
        """Only apps whose cluster is lost are looked at again."""
        del now
        free = _free(snapshot)
        best = max(sorted(free), key=lambda name: free[name])
        return {app: _moved(snapshot, app, {best: 1}) for app in apps}


class Duplicated:
    """Every replica in every cluster (Karmada's Duplicated)."""

    surge = True

    def decide(self, snapshot: Snapshot, apps: Sequence[int], now: float) -> dict[int, Choice]:
        """One in each cluster that answers."""
        del now
        everywhere = dict.fromkeys(_free(snapshot), 1)
        return {app: Choice(everywhere, _even(everywhere)) for app in apps}


def _choice(placement: Placement) -> Choice:
    shares = [one for one in placement.shares if one.replicas]
    return Choice({one.cluster: one.replicas for one in shares}, {one.cluster: one.weight for one in shares})


def _moved(snapshot: Snapshot, app: int, target: Mapping[str, int]) -> Choice:
    """`target` where the app is nowhere that answers, else where it is."""
    here = {}
    for name in _free(snapshot):
        cluster = snapshot.cluster(name)
        running = None if cluster is None else cluster.running.get(workload_of(app).key)
        if running is not None and running.wanted:
            here[name] = running.wanted
    chosen = here or dict(target)
    return Choice(chosen, _even(chosen))


def _free(snapshot: Snapshot) -> dict[str, int]:
    """Instances that the snapshot shows room for, of clusters that answer."""
    used = {one.name: int(one.nodes.requested[0, 0]) // 1_000 for one in snapshot.clusters}
    ready = [one.name for one in snapshot.clusters if one.state is MemberState.READY]
    return {name: ROOM[name] - used[name] for name in ready}


def _even(replicas: Mapping[str, int]) -> dict[str, float]:
    total = sum(replicas.values())
    return {name: count / total for name, count in replicas.items()}
