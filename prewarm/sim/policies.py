"""Names of policies, and what stands behind each: the one table that replay, the benchmarks and the tests read.

Policies that load models are imported only when they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from prewarm.domain import InputError
from prewarm.sim.baselines import Clairvoyant, KeepAlive, NeverUnload
from prewarm.sim.faascache import FaasCache
from prewarm.sim.minute import MinutePolicy

NAMES = "ka-<minutes>, kpa, hh-1h, hh-4h, faascache-<GB>, clairvoyant, never-unload, prewarm"


def policy(name: str, *, cold_weight: float = 1.0) -> MinutePolicy:
    """The minute policy called `name`; `cold_weight` multiplies the price of a cold start where a policy has one."""
    fixed = _FIXED.get(name)
    if fixed is not None:
        return fixed()
    if name == "prewarm":
        return _ours(cold_weight)
    for pattern, build in _PATTERNS:
        found = pattern.fullmatch(name)
        if found:
            return build(name, found.group(1))
    raise InputError(f"policy {name!r}: unknown; known are {NAMES}")


def check_names(names: Sequence[str]) -> None:
    """InputError unless every name is known and stands once; nothing is loaded."""
    if not names:
        raise InputError(f"policy: none given; known are {NAMES}")
    for name in names:
        known = name in _FIXED or name == "prewarm" or any(pattern.fullmatch(name) for pattern, _ in _PATTERNS)
        if not known:
            raise InputError(f"policy {name!r}: unknown; known are {NAMES}")
        if names.count(name) > 1:
            raise InputError(f"policy {name!r}: stands there twice")


def _ours(cold_weight: float) -> MinutePolicy:
    from prewarm.sim.ours import PrewarmPolicy

    return PrewarmPolicy(cold_weight=cold_weight)


def _hybrid(name: str, hours: str) -> MinutePolicy:
    from prewarm.sim.hybrid import HybridHistogramPolicy

    return HybridHistogramPolicy(int(hours) * 60, name)


_FIXED: dict[str, Callable[[], MinutePolicy]] = {
    "kpa": lambda: KeepAlive(1, "kpa"),
    "never-unload": NeverUnload,
    "clairvoyant": Clairvoyant,
}

_PATTERNS: tuple[tuple[re.Pattern[str], Callable[[str, str], MinutePolicy]], ...] = (
    (re.compile(r"ka-(\d{1,6})"), lambda name, minutes: KeepAlive(int(minutes), name)),
    (re.compile(r"faascache-(\d{1,9}(?:\.\d{1,6})?)"), lambda name, size: FaasCache(float(size), name)),
    (re.compile(r"hh-([14])h"), _hybrid),
)
