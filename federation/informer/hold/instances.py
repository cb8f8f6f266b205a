"""How many instances each workload has in one member, kept by the event.

What is wanted is told by Deployments; where none speaks of a workload, what exists is what is wanted. A pod that is
being deleted is no instance any more, though it still takes its node's room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from federation.informer.read.pods import Amounts, PodFacts, Stage
from federation.informer.read.workloads import WorkloadFacts
from federation.snapshot import Running, frozen


@dataclass(slots=True)
class _Count:
    sources: int = 0
    wanted: int = 0
    existing: int = 0
    ready: int = 0
    pending: int = 0
    each: Amounts | None = None


class Instances:
    """Counts by workload key."""

    def __init__(self) -> None:
        self._counts: dict[str, _Count] = {}
        self._running: dict[str, Running] = {}
        self._frozen: Mapping[str, Running] | None = None

    @property
    def running(self) -> Mapping[str, Running]:
        """Every workload that an object or a pod speaks of, as of now; the same mapping while nothing changes."""
        if self._frozen is None:
            self._frozen = frozen(self._running)
        return self._frozen

    def workload_changed(self, _: str, before: WorkloadFacts | None, after: WorkloadFacts | None) -> None:
        """A Deployment or a Knative Service appeared, changed or went."""
        for facts, sign in ((before, -1), (after, 1)):
            if facts is not None:
                count = self._counts.setdefault(facts.key, _Count())
                count.sources += sign
                count.wanted += sign * facts.wanted
        self._settle({facts.key for facts in (before, after) if facts is not None})

    def pod_changed(self, _: str, before: PodFacts | None, after: PodFacts | None) -> None:
        """A Pod appeared, changed, ended or went."""
        if before is not None and after is not None and _shows(before) == _shows(after):
            return
        for facts, sign in ((before, -1), (after, 1)):
            if facts is not None and _shows(facts):
                count = self._counts.setdefault(facts.workload or "", _Count())
                count.existing += sign
                count.ready += sign * facts.ready
                count.pending += sign * (facts.stage is Stage.PENDING)
                count.each = facts.amounts if facts.readable and sign > 0 else count.each
        self._settle({facts.workload for facts in (before, after) if facts is not None and _shows(facts)})

    def _settle(self, keys: set[str | None]) -> None:
        for key in chain(filter(None, keys)):
            count = self._counts[key]
            self._frozen = None
            if not count.sources and not count.existing:
                del self._counts[key]
                self._running.pop(key, None)
            else:
                wanted = count.wanted if count.sources else count.existing
                self._running[key] = Running(wanted, count.existing, count.ready, count.pending, count.each)


def _shows(pod: PodFacts) -> tuple[object, ...]:
    """What of a pod is counted; empty for one that is no instance of anything."""
    if pod.workload is None or pod.terminating or pod.stage is Stage.ENDED:
        return ()
    return (pod.workload, pod.ready, pod.stage)
