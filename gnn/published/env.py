"""The published cluster as an environment: one step is one pod, or one gang, that could go to either cluster.

Pods that fit in one cluster only are placed by the rule and are no question. The reward is what the meter shows between
two questions, in units of five minutes: cores that lie idle and hops that calls make. What a replica costs shows for as
long as it stands, hundreds of questions, and with a discount near 1 the critic led the actor astray. So the change of a
potential is added (Ng et al., ICML'99: it moves no optimum), and the discount is short. The potential is the hops that
placed replicas will mean, exact room for the next gangs, and what the room plan says will be lacking or left over.
Violations are gangs' pods that would fail, by their rate, and pods of batch that did.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnn.forms import Form
from gnn.observation import Observation
from gnn.published.kernel.advance import advance
from gnn.published.kernel.layout import ANSWERED, NOW, WHOLE_GANGS, State
from gnn.published.measure.build import build
from gnn.published.measure.run import asked_kind
from gnn.published.policy.ahead import room_to_grow, small_cluster
from gnn.published.policy.answer import answer
from gnn.published.policy.columns import Columns
from gnn.published.policy.graph import observation
from gnn.published.policy.look import choices, look
from gnn.published.policy.meter import Reading, delay, gangs, promised_delay
from gnn.published.policy.teacher import lesson
from gnn.published.policy.worlds import training_world
from gnn.published.world.draw import World
from gnn.published.world.jobs import GANG_PODS, GANG_SHARE, GANG_WORK
from gnn.train.task import PlacementEnv

DISCOUNT = 0.5
UNIT_S, LOOK_EVERY_S = 300.0, 10.0
IDLE, HOPS = 10.0, 1.0
"""What a whole fleet's idleness and a hop of every call cost for five minutes."""
_AHEAD, _ROOM, _ENOUGH, _LACKING, _STRANDED = 1.0, 0.03, 2, 0.05, 0.02
"""The potential: placed hops; each gang that there is room for, up to two; each core that chains will lack at home, and
each that the plan leaves over in the small cluster.
"""
_Step = tuple[Observation, float, bool, bool, dict[str, Any]]


class PublishedEnv(PlacementEnv):
    """Episodes of `worlds.training_world`, or of a world that is given with `options={"world": ...}`."""

    def __init__(self, columns: Columns, form: Form = Form.RESIDUAL) -> None:
        super().__init__(form, len(columns.names))
        self.columns = columns

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """The first question of a new run; the seed says everything."""
        super().reset(seed=seed)
        world = (options or {}).get("world")
        number = int(self.np_random.integers(2**31)) if seed is None else seed
        self.world: World = world or training_world(number)
        self.state: State = build(self.world)
        self.state["weights"][0] = self.columns.table
        self.state["f"][0, WHOLE_GANGS] = 1.0
        self.reading = Reading()
        self.over = self._run_on()
        self._look()
        return self._told(), {}

    def step(self, action: NDArray[np.float32]) -> _Step:
        """Place the pod, run on to the next question or the end."""
        before, promised = self.reading, self._potential()
        self._tell(np.asarray(action, np.float32))
        self.over = self._run_on()
        goals = self._goals(before)
        reward = goals + DISCOUNT * self._potential() - promised
        violation = self._violation(before)
        if not self.over:
            self._look()
        return self._told(), reward, self.over, False, {"violation": violation, "goals": goals}

    def teach(self) -> NDArray[np.float32] | None:
        """The teacher's answer to the present question."""
        return lesson(self.columns, self.form, self.kind, (self.state, self.ahead))

    # --- the simulator between two questions

    def _tell(self, action: NDArray[np.float32]) -> None:
        told = answer(self.columns, self.form, self.kind, action)
        self.state["weights"][0, self.kind] = told.weights
        self.state["residual"][0, self.kind] = 0.0 if told.residual is None else told.residual
        self.state["i"][0, ANSWERED] = 1

    def _run_on(self) -> bool:
        """To the next question: False; to the end: True. The meter looks every ten seconds and at every pod."""
        while self._now() < self.world.duration_s:
            since, hops, blocked = self._now(), delay(self.state), gangs(self.state) == 0
            until = min((since // LOOK_EVERY_S + 1.0) * LOOK_EVERY_S, self.world.duration_s)
            asked = advance(self.state, until, True)
            self.reading = self.reading.later(self.state, hops, blocked, self._now() - since)
            if asked:
                self.kind = asked_kind(self.state)
                if choices(self.state) > 1:
                    return False
                self._tell(np.zeros((self.action_space.rows, self.action_space.width), np.float32))
        return True

    def _now(self) -> float:
        return float(self.state["f"][0, NOW])

    def _told(self) -> Observation:
        """Copies, because some arrays are kept from question to question."""
        return self.asks({key: array.copy() for key, array in self.seen.items()})

    def _look(self) -> None:
        self.state["weights"][0, self.kind] = self.columns.table[self.kind]
        room, factors, self.ahead = look(self.state)
        self.seen = observation(self.state, room, self.columns.values(self.kind, factors, self.ahead))

    # --- what came of it

    def _goals(self, before: Reading) -> float:
        """Hops and, where work always waits, idle cores since, in units; not above 0. Under a load that comes by
        itself no placement leaves fewer cores idle.
        """
        now = self.reading
        idle_s = now.elapsed_s - before.elapsed_s - (now.allocated - before.allocated) / self.world.fleet.cores
        idle = IDLE * idle_s if self.world.depth > 0 else 0.0
        return -(idle + HOPS * (now.hops - before.hops)) / UNIT_S

    def _violation(self, before: Reading) -> float:
        if self.world.depth > 0:
            return 0.0
        rate = self.world.load * self.world.fleet.cores * GANG_SHARE / GANG_WORK * GANG_PODS
        now = self.reading
        return rate * (now.blocked_s - before.blocked_s) + now.batch_failed - before.batch_failed

    def _potential(self) -> float:
        grow, small = room_to_grow(self.state[0]), small_cluster(self.state[0])
        lacking, left = float(np.maximum(-grow, 0.0).sum()), float(max(grow[small], 0.0))
        room = 0.0 if self.world.depth > 0 else _ROOM * min(gangs(self.state), _ENOUGH)
        return room - _AHEAD * float(promised_delay(self.state)) - _LACKING * lacking - _STRANDED * left
