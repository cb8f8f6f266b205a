"""What metrics.k8s.io says of nodes: what is in use, and as of when by our own clock.

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
        name, usage = text(part(item, "metadata"), "name"), part(item, "usage")
        try:
            at = parse_time(text(item, "timestamp") or "", "timestamp")
            cpu, memory = requested("cpu", usage.get("cpu")), requested("memory", usage.get("memory"))
        except (QuantityError, InputError):
            continue
        if name:
            age_s = max(0.0, received_at + skew_s - at)
            found[name] = Usage(cpu, memory, received_at - age_s)
    return found
