"""Everything that `prewarm bench serverless-mix` reads of one world, each reading kept, so a stopped bench goes on.

A reading's key names the world and seals the code and data that decide it; the learned policy's seals its weights too,
so new weights ask for its own readings only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from gnn.mix.bound.dual import lower_bound
from gnn.mix.bound.expected import expected_best, never_two
from gnn.mix.bound.foresight import RollingHorizon, planned
from gnn.mix.bound.knowledge import foretold, outcome, placed, traced
from gnn.mix.expected.own import counted, kept_alive
from gnn.mix.minute import LEDGER, TALLY
from gnn.mix.policy.played import LEARNED
from gnn.mix.policy.shipped import WEIGHTS_FILE, learned
from gnn.mix.replay import Outcome, replay
from gnn.mix.rules.table import plain_rules, tuned_market, tuned_rules, tuned_theta
from gnn.mix.state import Policy
from gnn.mix.world.draw import World, draw_world
from gnn.mix.world.source import Side, Source
from gnn.published.measure.kept import Kept, Reading, seal, sources
from prewarm.domain import Float32Array, FloatArray

OUTCOME, PLACED, FORETOLD = "clairvoyant", "clairvoyant placement, same forecasts", "same, knowing the mix only"
OWN: Mapping[str, Callable[[Float32Array], Float32Array]] = {
    "kept alive for ten minutes": kept_alive,
    "share of the last hour's minutes": counted,
}
"""Forecasts of a rule's own, from calls (s, T)."""
GROUPS = ("all", "without a caller")
_LEARNED_PART = ("student", "attend", "forms", "observation", "shape", "wiring")


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """bound: no policy's J is less. outcomes: by policy, the last ones know more than any policy may. own: by rule and
    its own forecast. left: (2, 2) of `GROUPS` what the best sets would be expected to cost, and what was paid.
    """

    bound: float
    outcomes: dict[str, Outcome]
    own: dict[tuple[str, str], Outcome]
    left: FloatArray


class WorldDay:
    """One world, drawn only where a reading lacks."""

    def __init__(self, source: Source, chances: Float32Array, seed: int, kept: Kept) -> None:
        self._source, self._chances, self._seed, self._kept = source, chances, seed, kept

    @cached_property
    def world(self) -> World:
        """Of the evaluation side."""
        return draw_world(self._source, Side.EVALUATION, self._seed)

    @property
    def called(self) -> Float32Array:
        """The forecasts that all get, (n, T)."""
        rows: Float32Array = self._chances[self.world.functions.series]
        return rows

    def read(self) -> Read:
        """All of it."""
        bound = self._reading("bound", lambda: {"value": lower_bound(self.world).value})
        left = self._reading("left to gain", self._left)
        return Read(
            float(bound["value"] or 0.0),
            {name: self._played(name, make) for name, make in contenders()},
            {key: self._own(*key) for key in ((rule, said) for said in OWN for rule in _own_rules())},
            np.array([[float(left[f"{name} {what}"] or 0.0) for what in ("best", "paid")] for name in GROUPS]),
        )

    def _played(self, name: str, make: Callable[[World, Float32Array], Policy]) -> Outcome:
        return _outcome(
            self._reading(name, lambda: _told(replay(self.world, self.called, make(self.world, self.called))))
        )

    def _own(self, rule: str, forecast: str) -> Outcome:
        def make() -> Reading:
            said = OWN[forecast](self._source.counts[self.world.functions.series])
            return _told(replay(self.world, said, _own_rules()[rule]))

        return _outcome(self._reading(f"{rule}; {forecast}", make))

    def _left(self) -> Reading:
        paid = replay(self.world, self.called, tuned_theta()).by_function
        best, single = expected_best(self.world, self.called), never_two(self.world)
        rows = dict(zip(GROUPS, (single, single & (self.world.functions.caller < 0)), strict=True))
        told = {f"{name} best": float(best[group].sum()) for name, group in rows.items()}
        return told | {f"{name} paid": float(paid[group].sum()) for name, group in rows.items()}

    def _reading(self, name: str, make: Callable[[], Reading]) -> Reading:
        return self._kept.of(f"{sealed(self._source, name)}:{self._seed}:{name}", make)


def contenders() -> Iterator[tuple[str, Callable[[World, Float32Array], Policy]]]:
    """Every policy of the table by name, worst informed first, made for a world and its forecasts."""
    shipped = learned()
    for rule in (*plain_rules(), *tuned_rules(), tuned_market(), *(() if shipped is None else (shipped,))):
        yield rule.name, _always(rule)
    yield RollingHorizon().name, lambda _world, _called: RollingHorizon()
    yield FORETOLD, lambda world, called: planned(world, foretold(world, called), FORETOLD)
    yield PLACED, lambda world, called: planned(world, placed(world, called), PLACED)
    yield OUTCOME, lambda world, _: planned(world, traced(world, outcome(world)), OUTCOME)


def _always(rule: Policy) -> Callable[[World, Float32Array], Policy]:
    return lambda _world, _called: rule


def _own_rules() -> Mapping[str, Policy]:
    return {rule.name: rule for rule in (tuned_theta(), tuned_market())}


def sealed(source: Source, name: str) -> str:
    """Of what decides a reading of one of the policies."""
    here = Path(__file__).parents[1]
    mix = here / "mix"
    files = sources(*(mix / part for part in ("world", "expected", "rules", "bound")))
    files += [mix / f"{module}.py" for module in ("minute", "replay", "state")]
    if name == LEARNED:
        files += [mix / "policy" / f"{module}.py" for module in ("answer", "graph", "played")]
        files += sources(here / "graph", *(here / f"{one}.py" for one in _LEARNED_PART))
        files.append(WEIGHTS_FILE)
    return seal(files, *(f"{file}{digest}".encode() for file, digest in sorted(source.sha256.items())))


def _told(found: Outcome) -> Reading:
    return dict(zip((*LEDGER, *TALLY), (*found.ledger.sum(axis=0).tolist(), *found.tally.tolist()), strict=True))


def _outcome(reading: Reading) -> Outcome:
    """A bill with one line, of all functions together."""
    ledger = np.array([[float(reading[name] or 0.0) for name in LEDGER]])
    return Outcome(ledger, np.zeros((0, len(LEDGER))), np.array([float(reading[name] or 0.0) for name in TALLY]))
