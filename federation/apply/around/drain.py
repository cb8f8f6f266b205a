"""Emptying a cluster: which workloads move next, so few at a time that a mistake stays small.

Whether a cluster is cordoned or being drained is said by a person and kept in the database, with its audit entry. What
moves is a pure function of what runs there and of what is on the way: the most urgent first, since they get the room
while there is some; among equals the large ones, which are harder to place later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sqlalchemy import Connection

from federation.placement.workload import Workload
from federation.snapshot import frozen
from prewarm.domain import InputError
from prewarm.store.people import Stamp, documents, drop_document, put_document

KIND = "cordon"


class Cordon(StrEnum):
    """`cordoned`: nothing new goes there; `draining`: what is there moves away as well."""

    CORDONED = "cordoned"
    DRAINING = "draining"


def set_cordon(connection: Connection, cluster: str, state: Cordon, *, reason: str, stamp: Stamp) -> None:
    """Say it of a cluster."""
    body = {"state": state.value, "reason": reason, "owner": stamp.actor, "at": stamp.at}
    put_document(connection, KIND, cluster, body, stamp)


def end_cordon(connection: Connection, cluster: str, stamp: Stamp) -> bool:
    """Take it back; False where nothing was said."""
    return drop_document(connection, KIND, cluster, stamp)


def cordons(connection: Connection) -> dict[str, Cordon]:
    """The clusters of which it was said."""
    return {name: Cordon(body["state"]) for name, body in documents(connection, KIND).items()}


@dataclass(frozen=True, slots=True)
class Stay:
    """A workload in the cluster that is to be emptied: instances there, and how many of them are moving already."""

    workload: Workload
    replicas: int
    moving: int = 0


@dataclass(frozen=True, slots=True)
class Move:
    """Instances of a workload that leave the cluster now."""

    key: str
    replicas: int


@dataclass(frozen=True, slots=True)
class DrainStep:
    """What moves now, and why the others wait; both empty once nothing is left."""

    moves: tuple[Move, ...] = ()
    waiting: Mapping[str, str] = field(default_factory=frozen)


def next_moves(stays: tuple[Stay, ...], *, at_once: int, allowed: int, held: frozenset[str] = frozenset()) -> DrainStep:
    """The next instances to move, at most `at_once` on the way together and `allowed` more now.

    allowed: what is left of the moves of this hour. held: keys that a person froze. A gang moves whole or not at all;
    one that is larger than `at_once` moves alone. InputError where a limit is not positive.
    """
    if at_once < 1 or allowed < 0:
        raise InputError(f"drain: at_once must be 1 or more and allowed 0 or more, are {at_once} and {allowed}")
    on_the_way = sum(stay.moving for stay in stays)
    moves: list[Move] = []
    waiting: dict[str, str] = {}
    for stay in sorted(stays, key=_urgency):
        left = stay.replicas - stay.moving
        if left <= 0:
            continue
        key, taken = stay.workload.key, on_the_way + sum(move.replicas for move in moves)
        room = min(at_once - taken, allowed - sum(move.replicas for move in moves))
        if key in held:
            waiting[key] = "held where it is by an override"
        elif not stay.workload.splittable and left > room and not (taken == 0 and at_once < left <= allowed):
            waiting[key] = f"moves whole: {left} instances, {max(room, 0)} may move now"
        elif room <= 0:
            waiting[key] = f"{taken} of {at_once} are on the way" if taken >= at_once else "no move is left this hour"
        else:
            moves.append(Move(key, left if not stay.workload.splittable else min(left, room)))
    return DrainStep(tuple(moves), frozen(waiting))


def _urgency(stay: Stay) -> tuple[int, int, str]:
    return (-stay.workload.priority, -stay.replicas, stay.workload.key)
