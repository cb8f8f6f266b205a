"""The tasks that keep one member's view: a reflector for each collection and a reader of usage, none of which ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from random import Random

from federation.informer.hold.holding import Holding
from federation.informer.read.usage import read_pod_usage, read_usage
from federation.informer.settings import WatchOptions
from federation.kubeconfig.listing import Member
from federation.members.api import MemberError, RefusedError
from federation.members.client import MemberClient

NODE_METRICS = "/apis/metrics.k8s.io/v1beta1/nodes"
POD_METRICS = "/apis/metrics.k8s.io/v1beta1/pods"
log = logging.getLogger("federation.informer")


class MemberWatch:
    """Keeps `holding` as the member is. `run` is to be a task; cancelling it ends all of them."""

    def __init__(
        self,
        member: Member,
        client: MemberClient,
        options: WatchOptions,
        *,
        rng: Random,
        clock: Callable[[], float],
    ) -> None:
        self.member = member
        self.client = client
        self.holding = Holding(client, options.reflector, rng=rng, clock=clock)
        self._options = options
        self._clock = clock
        self._more = asyncio.Event()
        self.accidents = 0
        """Readings of usage that ended by an error of ours."""
        self.demand(options.kinds)

    @property
    def listed(self) -> bool:
        """Whether nodes and pods were listed at least once."""
        return self.holding.seen_at("nodes") is not None and self.holding.seen_at("pods") is not None

    def demand(self, kinds: frozenset[str]) -> None:
        """Keeps the names of these kinds too, from now on."""
        for kind in sorted(kinds.difference(self.holding.names)):
            self.holding.add_kind(kind)
        self._more.set()

    async def run(self) -> None:
        """For ever."""
        name = self.client.name
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read_usage(), name=f"usage:{name}")
            running: set[str] = set()
            while True:
                for key in self.holding.reflectors.keys() - running:
                    group.create_task(self.holding.reflectors[key].run(), name=f"reflect:{name}:{key}")
                running.update(self.holding.reflectors)
                self._more.clear()
                await self._more.wait()

    async def _read_usage(self) -> None:
        while True:
            try:
                await self.read_usage()
            except Exception:
                self.accidents += 1
                log.exception("%s: usage", self.client.name)
            await asyncio.sleep(self._options.usage_s)

    async def read_usage(self) -> None:
        """One reading of metrics.k8s.io; what fails is said in `holding.usage_why`, and what is held stays."""
        what = "metrics.k8s.io is"
        try:
            nodes = await self.client.read(NODE_METRICS)
            self.holding.take_usage(read_usage(nodes, self._clock(), self.client.health.skew_s or 0.0))
            what = "pods of metrics.k8s.io are"
            pods = await self.client.read(POD_METRICS)
            self.holding.take_pod_usage(read_pod_usage(pods, self._clock(), self.client.health.skew_s or 0.0))
        except RefusedError as error:
            self.holding.usage_why = f"{what} not served" if error.status == 404 else str(error)
        except MemberError as error:
            self.holding.usage_why = str(error)
