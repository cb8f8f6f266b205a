"""What an instance of each workload uses, from one reading of pods in metrics.k8s.io and the pods as they are known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from federation.informer.read.pods import PodFacts
from federation.informer.read.usage import Usage
from federation.snapshot import InstanceUse, frozen

_TOGETHER_S = 120.0
"""Samples that are older than a workload's newest by more are of a pod that is no longer scraped."""


def use_by_workload(samples: Mapping[str, Usage], pod: Callable[[str], PodFacts | None]) -> Mapping[str, InstanceUse]:
    """The mean of a workload's ready instances that were sampled; workloads of which none was are absent."""
    found: defaultdict[str, list[Usage]] = defaultdict(list)
    for key, sample in samples.items():
        facts = pod(key)
        if facts is not None and facts.workload is not None and facts.ready:
            found[facts.workload].append(sample)
    return frozen({key: _mean(of) for key, of in found.items()})


def fresh(use: Mapping[str, InstanceUse], now: float, stale_s: float) -> Mapping[str, InstanceUse]:
    """Those no older than `stale_s`; the same mapping where all are."""
    if all(now - one.at <= stale_s for one in use.values()):
        return use
    return frozen({key: one for key, one in use.items() if now - one.at <= stale_s})


def _mean(samples: list[Usage]) -> InstanceUse:
    newest = max(one.at for one in samples)
    kept = [one for one in samples if newest - one.at <= _TOGETHER_S]
    cpu, memory = (sum(one[column] for one in kept) / len(kept) for column in (0, 1))
    return InstanceUse(cpu, memory, len(kept), min(one.at for one in kept))
