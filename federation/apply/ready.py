"""Readiness read from the member itself, where no informer watches: a look at the object's status every so often.

An informer's view serves the same protocol with less traffic; this one serves a command that runs once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from federation.apply.state.objects import Ref
from federation.apply.writer import Writer
from federation.manifest.fields import Json


class StatusObserver:
    """Polls an object's status. `pause_s`: between two looks; a rollout's own limit ends the waiting."""

    def __init__(self, writers: Callable[[str], Writer], pause_s: float = 1.0) -> None:
        self._writers = writers
        self._pause_s = pause_s

    async def wait_ready(self, member: str, ref: Ref, replicas: int) -> str | None:
        """None once so many instances of the newest version are ready; the reason where the cluster gave up."""
        while True:
            live = await self._writers(member).read(ref)
            if live is None:
                return f"{ref} is not there any more"
            if why := given_up(live):
                return why
            if ready_count(live) >= replicas:
                return None
            await asyncio.sleep(self._pause_s)


def ready_count(live: Json) -> int:
    """Instances of the object's newest version that are ready, 0 while its controller has not seen that version."""
    status = live.get("status") or {}
    if status.get("observedGeneration", 0) < live["metadata"].get("generation", 0):
        return 0
    if live["kind"] == "Deployment":
        return int(min(status.get("readyReplicas", 0), status.get("updatedReplicas", 0)))
    return 1 << 31 if _condition(live, "Ready").get("status") == "True" else 0


def given_up(live: Json) -> str | None:
    """What the cluster says where instances will not come; None while there is hope."""
    for name, bad in (("Progressing", "False"), ("ReplicaFailure", "True"), ("Ready", "False")):
        condition = _condition(live, name)
        if condition.get("status") == bad:
            told = condition.get("message") or condition.get("reason") or "no reason given"
            return f"{live['kind']} {live['metadata']['name']}: {' '.join(str(told).split())[:200]}"
    return None


def _condition(live: Json, name: str) -> Json:
    conditions = (live.get("status") or {}).get("conditions") or ()
    return next((one for one in conditions if one.get("type") == name), {})
