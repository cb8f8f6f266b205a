"""The policy of the published cluster as the service would run it: under its guard, which hands over to a rule."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from gnn.bench.shifts import GuardedPlay, Mind, Telling, made_of_mind, mind
from gnn.guard.detector import Detector, read_detector
from gnn.guard.features import names
from gnn.published.measure.contest import Contender, Fresh
from gnn.published.measure.kept import seal
from gnn.scorer import shipped

DETECTOR = "guard-published.npz"


def shipped_detector(policy: Mind) -> Detector | None:
    """The detector that ships, where it knows what this policy sees."""
    path = shipped(DETECTOR)
    if not path.exists():
        return None
    detector = read_detector(path)
    return detector if len(detector.centre) == len(names(policy.columns.names)) else None


def guarded() -> Contender | None:
    """Who is asked until the guard says that the world is another one, and then the rule; None where either is missing.

    A run has one hand-over at most: it is not given back.
    """
    policy = mind()
    detector = shipped_detector(policy)
    if not policy.trained or detector is None:
        return None
    told = names(policy.columns.names)
    begin = Fresh(lambda: GuardedPlay(policy, Telling(None), detector, told))
    return Contender("learned policy under its guard", begin, made_of=guarded_seal())


@cache
def guarded_seal() -> str:
    """Of all that decides what it answers with the detector that ships."""
    guard = Path(__file__).parents[1] / "guard"
    files = [guard / "watch.py", guard / "detector.py", shipped(DETECTOR)]
    return seal([one for one in files if one.exists()], made_of_mind().encode())
