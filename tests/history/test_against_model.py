"""Any order of sources, gaps, late and partial answers leaves the history equal to a plain dictionary model."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from prewarm.history import History, MinuteBatch, Retention
from tests.history.model import PlainHistory

RETENTION = Retention(minute_days=0.25, five_minute_days=0.5, hour_days=1.0)
START = 1_000_020
COUNTS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 40.0])


class HistoryAgainstModel(RuleBasedStateMachine):
    """Time only moves forward here; the clock's own faults are in test_clock."""

    @initialize(functions=st.integers(1, 5))
    def start(self, functions: int) -> None:
        self.history = History(RETENTION, START)
        self.model = PlainHistory(RETENTION, START)
        self.now = START
        for _ in range(functions):
            self.add()

    @rule()
    def add(self) -> None:
        assert self.history.index(f"ns/f{self.model.functions}") == self.model.functions
        self.model.functions += 1

    @rule(minutes=st.sampled_from([1, 1, 2, 7, 20, 59]))
    def wait(self, minutes: int) -> None:
        self.now += minutes
        assert self.history.advance(self.now) is None

    @rule(data=st.data(), behind=st.integers(-2, 17), repeat=st.sampled_from(["sum", "max"]))
    def observe(self, data: st.DataObject, behind: int, repeat: str) -> None:
        rows = st.lists(st.integers(0, self.model.functions - 1), max_size=4)
        hit = data.draw(rows)
        known = data.draw(st.none() | rows)
        count = data.draw(st.lists(COUNTS, min_size=len(hit), max_size=len(hit)))
        batch = MinuteBatch(
            self.now - behind,
            np.array(hit, np.int32),
            np.array(count, np.float32),
            known=None if known is None else np.array(known, np.int32),
            repeat="sum" if repeat == "sum" else "max",
        )
        reason = self.history.observe(batch, now_minute=self.now)
        assert (reason is None) == self.model.observe(batch, self.now)

    @rule(busy=st.integers(20, 90), every=st.integers(1, 4))
    def run_steadily(self, busy: int, every: int) -> None:
        for _ in range(busy):
            self.now += 1
            rows = np.arange(0, self.model.functions, every, dtype=np.int32)
            batch = MinuteBatch(self.now, rows, np.ones(rows.size, np.float32))
            assert self.history.observe(batch, now_minute=self.now) is None
            assert self.model.observe(batch, self.now)

    @rule()
    def recent_hits_are_equal(self) -> None:
        view = self.history.sparse(self.now, 300)
        assert view.hit_minute.size == view.indptr[-1]
        for row in range(self.model.functions):
            part = slice(view.indptr[row], view.indptr[row + 1])
            pairs = list(zip(view.hit_minute[part].tolist(), view.hit_count[part].tolist(), strict=True))
            assert pairs == self.model.hits(row, self.now - 300, self.now)

    def teardown(self) -> None:
        if hasattr(self, "history"):
            self.recent_hits_are_equal()
            self.dense_steps_are_equal()

    def dense_steps_are_equal(self) -> None:
        rows = np.arange(self.model.functions, dtype=np.int32)
        for minutes, step in ((40, 1), (600, 5), (1200, 60)):
            dense = self.history.dense(rows, self.now, minutes=minutes, step_minutes=step)
            until = self.now // step * step
            kept = RETENTION.first_minutes(self.now)[(1, 5, 60).index(step)]
            for column in range(minutes // step):
                first = until - (minutes // step - column) * step
                for row in rows.tolist() if first >= kept else []:
                    np.testing.assert_allclose(dense[row, column], self.model.step(row, first, first + step), rtol=1e-6)


HistoryAgainstModel.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=10,
    deadline=None,
    phases=(Phase.reuse, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
TestHistoryAgainstModel = HistoryAgainstModel.TestCase
