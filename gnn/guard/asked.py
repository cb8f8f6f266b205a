"""What the guard of single questions looks at: the pooled row without what one odd fleet in thirty sets.

The extremes of factors and room over the clusters of a question, of quotas and of headroom hardly ever move, and then
by all they can: a workload is ready in both of two clusters, or each of two has nodes to come. What happens in one run
of a hundred sets the limit of all that is read. Their means stay.
"""

from __future__ import annotations

from functools import cache

from federation.placement.scorer import FACTORS
from gnn.guard.features import names, pooled
from gnn.observation import Observation
from prewarm.domain import FloatArray

_EXTREME = ("least ", "most ")
_CLUSTERS = tuple(f"{which}cluster " for which in _EXTREME)


@cache
def kept() -> tuple[tuple[int, str], ...]:
    """The columns of a pooled row that are looked at, and what each is."""
    return tuple((at, name) for at, name in enumerate(names(FACTORS)) if not _odd(name))


def row(seen: Observation) -> FloatArray:
    """A question as one row, in the order of `kept`."""
    return pooled(seen)[[at for at, _ in kept()]]


def row_names() -> tuple[str, ...]:
    """What each column is, in words."""
    return tuple(name for _, name in kept())


def _odd(name: str) -> bool:
    return name.startswith(_EXTREME) and (not name.startswith(_CLUSTERS) or "quota" in name or "headroom" in name)
