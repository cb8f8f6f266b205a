"""What metrics.k8s.io says of nodes and pods: what is in use, and as of when by our own clock.

A sample carries the time of the member's clock. Its age is taken between two readings of that one clock (the sample's
and the answer's), and only the age is carried over to ours; so a clock that is off neither makes old usage fresh nor
fresh usage old.
"""

from __future__ import annotations

from typing import NamedTuple

from federation.informer.read.shape import Raw, part, parts, text
from federation.quantity import QuantityError, requested
from prewarm.domain import InputError, parse_time


class Usage(NamedTuple):
    """CPU in thousandths and memory in bytes in use, as of `at` (seconds since the epoch, our clock)."""

    cpu: int
    memory: int
    at: float


def read_usage(answer: Raw, received_at: float, skew_s: float = 0.0) -> dict[str, Usage]:
    """Usage by node name of a NodeMetricsList; skew_s: the member's clock minus ours. Unreadable samples are absent."""
    found: dict[str, Usage] = {}
    for item in parts(answer, "items"):
        name = text(part(item, "metadata"), "name")
        sample = _sample(item, [part(item, "usage")], received_at, skew_s)
        if name and sample is not None:
            found[name] = sample
    return found


def read_pod_usage(answer: Raw, received_at: float, skew_s: float = 0.0) -> dict[str, Usage]:
    """Usage by `namespace/name` of a PodMetricsList, summed over containers. A pod of which a container cannot be read
    is absent: a part of it would pass for the whole.
    """
    found: dict[str, Usage] = {}
    for item in parts(answer, "items"):
        meta = part(item, "metadata")
        containers = [part(one, "usage") for one in parts(item, "containers")]
        sample = _sample(item, containers, received_at, skew_s) if containers else None
        if sample is not None and (name := text(meta, "name")):
            found[f"{text(meta, 'namespace') or ''}/{name}"] = sample
    return found


def _sample(item: Raw, usages: list[Raw], received_at: float, skew_s: float) -> Usage | None:
    try:
        at = parse_time(text(item, "timestamp") or "", "timestamp")
        cpu = sum(requested("cpu", one.get("cpu")) for one in usages)
        memory = sum(requested("memory", one.get("memory")) for one in usages)
    except (QuantityError, InputError):
        return None
    return Usage(cpu, memory, received_at - max(0.0, received_at + skew_s - at))
