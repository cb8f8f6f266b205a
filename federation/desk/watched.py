"""Real members as the desk's view: cordons and links are handed to the watch, which shows them in its snapshots."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from federation.desk.records import Said
from federation.informer.cluster import Cordon
from federation.informer.reflect.resource import NAMES
from federation.live import LiveFleet, policy_of
from federation.snapshot import MemberState, Snapshot
from prewarm.settings import Link, Settings

_LOOK_S = 0.02
_ANSWERING = frozenset({MemberState.READY, MemberState.SLOW, MemberState.CORDONED})


class WatchedView:
    """A live fleet under the settings in force."""

    def __init__(self, fleet: LiveFleet, settings: Settings) -> None:
        self.fleet = fleet
        self._settings = settings
        self._links: tuple[Link, ...] | None = None
        self._waited: frozenset[str] = frozenset()

    def snapshot(self, now: float) -> Snapshot:
        """The fleet as it is held."""
        return self.fleet.snapshot(now)

    def told(self, said: Mapping[str, Said], links: tuple[Link, ...] | None) -> None:
        """What people said of clusters; links None: the configuration's hold."""
        self._links = links
        watch = self.fleet.watch
        watch.cordons.clear()
        watch.cordons.update({name: Cordon(one.owner, one.reason, one.at) for name, one in said.items()})
        self.configure(self._settings)

    def configure(self, settings: Settings) -> None:
        """Take a reloaded configuration; links that were set through the API stay."""
        self._settings = settings
        policy = policy_of(settings)
        self.fleet.watch.policy = policy if self._links is None else replace(policy, links=self._links)

    async def watch(self, kinds: frozenset[str], limit_s: float) -> None:
        """Keep the names of these kinds too; the first time, wait a little until members that answer have told them."""
        new = (kinds & NAMES.keys()) - self._waited
        if not new:
            return
        self._waited |= new
        self.fleet.watch.demand(new)
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while not self._knows(new):  # noqa: ASYNC110  nobody announces a first list
                    await asyncio.sleep(_LOOK_S)

    def _knows(self, kinds: frozenset[str]) -> bool:
        for one in self.fleet.snapshot(0.0).clusters:
            if one.state in _ANSWERING and one.present is not None:
                known = {kind.partition(":")[0] for kind in one.present}
                if not kinds <= known:
                    return False
        return True
