"""Where a reflector stands and what it does next: a state machine of values, without clock or network.

`version` None means that the next thing is a list. Failures are counted until a watch has been calm for a while, and
the pause before the next request grows with them; so neither a server that says 410 to everything nor one that ends
every watch at once is asked more than a few times in ten seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from federation.members.breaker import pause_s

CALM_S = 30.0
"""A watch that lasted this long makes good for the failures before it."""
SHORT_S = 5.0
"""One that ends sooner ended too soon."""
EMPTY_ENDS = 2
"""So many too short watches without a single line in a row mean that the version is no longer served."""
KEPT = 0.9
"""A watch that lasted this part of what it was asked for is no short one, however short it is."""
FIRST_PAUSE_S = 0.8
LONGEST_PAUSE_S = 60.0


@dataclass(frozen=True, slots=True)
class Course:
    """The version to watch from, failures in a row, and too short watches without a line in a row."""

    version: str | None = None
    failures: int = 0
    empty_ends: int = 0

    def listed(self, version: str) -> Course:
        """After a list."""
        return replace(self, version=version, empty_ends=0)

    def moved(self, version: str) -> Course:
        """After an event or a bookmark."""
        return replace(self, version=version, empty_ends=0)

    def ended(self, lived_s: float, lines: int, *, asked_s: float) -> Course:
        """After a watch that the server ended in good order; `asked_s` is how long it was to last."""
        if lived_s >= min(CALM_S, KEPT * asked_s):
            return Course(self.version)
        if lived_s >= SHORT_S:
            return replace(self, empty_ends=0)
        if lines:
            return replace(self, failures=self.failures + 1, empty_ends=0)
        empty_ends = self.empty_ends + 1
        version = None if empty_ends >= EMPTY_ENDS else self.version
        return Course(version, self.failures + 1, empty_ends if version else 0)

    def cut(self, lived_s: float = 0.0) -> Course:
        """After a connection that broke: what is held is still true as of `version`."""
        return replace(self, failures=1 if lived_s >= CALM_S else self.failures + 1)

    def lost(self, lived_s: float = 0.0) -> Course:
        """After the version expired or a line could not be understood: list again."""
        return Course(None, 1 if lived_s >= CALM_S else self.failures + 1)

    def pause_s(self, spread: float) -> float:
        """Seconds to wait before the next request; `spread` in 0..1."""
        if not self.failures:
            return 0.0
        return pause_s(self.failures, spread, first_s=FIRST_PAUSE_S, longest_s=LONGEST_PAUSE_S)
