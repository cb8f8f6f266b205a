"""Asking about many minutes at once is asking minute by minute: the same questions, the same answers, only the past."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prewarm.domain import Float32Array, Int32Array
from prewarm.forecast.experts.opinions import ask, shipped_model
from prewarm.forecast.levels.feature_table import WINDOW
from prewarm.forecast.levels.features import open_questions
from prewarm.forecast.levels.history_view import SparseHistory
from prewarm.sim import chances
from prewarm.sim.chances import Past, known_since, marks_of, opinions_by_minute, top_levels

MINUTES = 40
MONDAY = 4 * 1440


@pytest.fixture(scope="module", autouse=True)
def _loaded() -> None:
    """Loads the models and compiles the kernels once, so that no single test is charged for it."""
    past = past_of(np.full((1, 4), 0.3))
    ask(seen_at(past, 3))
    list(opinions_by_minute(past, shipped_model()))


def past_of(mark: np.ndarray, *, counted: bool = False, epoch_minute: int = MONDAY) -> Past:
    """A past of these marks (n, T); `counted` marks are calls of which one instance serves up to five."""
    marks = np.asarray(mark, np.float32)
    need = np.ceil(marks / (5 if counted else 1)).astype(np.int32)
    return Past(need, marks, np.zeros(len(marks), np.int32), epoch_minute)


def seen_at(past: Past, minute: int) -> SparseHistory:
    """What the service would know at a minute of the past."""
    row, at = np.nonzero(past.need[:, :minute] > 0)
    return SparseHistory(
        (at + past.epoch_minute).astype(np.int32),
        past.need[row, at].astype(np.int16),
        np.searchsorted(row, np.arange(len(past.need) + 1)).astype(np.int64),
        past.since + past.epoch_minute,
        past.epoch_minute + minute,
        past.mark[row, at],
    )


def asked_levels(past: Past, minute: int) -> list[int]:
    asked = open_questions(seen_at(past, minute))
    return [int(count) for count in np.bincount(asked.row, minlength=len(past.need))]


cells = st.one_of(st.just(0.0), st.sampled_from([0.3, 0.8, 1.0, 1.7, 2.0, 2.4, 3.0, 7.0]))
rows = st.lists(st.lists(cells, min_size=MINUTES, max_size=MINUTES), min_size=1, max_size=3)


@settings(max_examples=60, deadline=None)
@given(mark=rows, counted=st.booleans(), minute=st.integers(0, MINUTES - 1))
def test_replay_and_service_ask_about_the_same_levels(mark: list[list[float]], counted: bool, minute: int) -> None:
    past = past_of(np.array(mark), counted=counted)
    assert top_levels(past)[:, minute].tolist() == asked_levels(past, minute)


@settings(max_examples=15, deadline=None)
@given(at=st.integers(0, 30), mark=st.sampled_from([1.0, 1.8, 2.0]), data=st.data())
def test_both_forget_a_level_when_it_has_left_the_window(at: int, mark: float, data: st.DataObject) -> None:
    marks = np.zeros((1, WINDOW + 40))
    marks[0, at] = mark
    past = past_of(marks)
    minute = data.draw(st.integers(WINDOW - 5 + at, WINDOW + 39).filter(lambda m: m > at))
    assert top_levels(past)[:, minute].tolist() == asked_levels(past, minute)


@pytest.mark.parametrize(
    ("marks", "levels"),
    [
        pytest.param([1.0, 1.0], 1, id="counts-equal-to-the-need"),
        pytest.param([2.0, 1.0], 2, id="whole-marks-throughout"),
        pytest.param([2.0, 0.5], 3, id="a-broken-mark-makes-them-concurrencies"),
        pytest.param([0.6], 2, id="more-than-half-used"),
        pytest.param([0.4], 1, id="less-than-half-used"),
    ],
)
def test_a_level_never_needed_is_asked_about_only_under_concurrencies(marks: list[float], levels: int) -> None:
    past = past_of(np.array([[*marks, 0.0]]))
    assert top_levels(past)[0, -1] == levels
    assert asked_levels(past, len(marks)) == [levels]


def busy(seed: int, minutes: int) -> Past:
    rng = np.random.default_rng(seed)
    mark = np.where(rng.uniform(size=(4, minutes)) < 0.2, rng.uniform(0.05, 2.5, (4, minutes)), 0.0)
    mark[0] = np.where(np.arange(minutes) % 10 == 0, 0.7, 0.0)
    mark[1] = 0.0
    return past_of(mark)


@pytest.mark.parametrize(
    "questions", [pytest.param(1, id="a-minute-at-a-time"), pytest.param(100_000, id="all-at-once")]
)
def test_asking_in_batches_is_asking_minute_by_minute(questions: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chances, "BATCH", questions)
    past, first, last = busy(3, 1600), 1592, 1600
    told: list[float] = []
    batched = list(opinions_by_minute(past, shipped_model(), span=(first, last), told=told.append))
    assert len(batched) == last - first
    assert told[-1] == 1.0
    for minute, said in enumerate(batched, first):
        alone = ask(seen_at(past, minute))
        assert said.row.tolist() == alone.row.tolist()
        assert said.level.tolist() == alone.level.tolist()
        np.testing.assert_allclose(said.chance, alone.chance, rtol=1e-5, atol=1e-6)
        assert np.isfinite(said.chance).any(axis=0).sum() > 1, "the calendar speaks on the second day"


def test_without_the_calendar_only_the_model_speaks() -> None:
    past = busy(4, 1500)
    (said,) = opinions_by_minute(past, shipped_model(), span=(1499, 1500), calendar=False)
    assert np.isfinite(said.chance[:, 0]).all()
    assert np.isnan(said.chance[:, 1:]).all()


@pytest.mark.parametrize(
    ("unknown", "since"),
    [
        pytest.param(None, [0, 0], id="all-known"),
        pytest.param([[1, 1, 0], [0, 1, 0]], [2, 0], id="unknown-at-first"),
        pytest.param([[1, 1, 1], [0, 0, 0]], [3, 0], id="never-known"),
    ],
)
def test_a_function_is_known_from_its_first_known_minute(unknown: list[list[int]] | None, since: list[int]) -> None:
    cells = None if unknown is None else np.array(unknown, np.bool_)
    assert known_since(cells, (2, 3)).tolist() == since


def test_a_minute_without_need_has_no_mark() -> None:
    concurrency = np.array([[0.5, 1e-6, 2.5]])
    need: Int32Array = np.array([[1, 0, 3]], np.int32)
    marks: Float32Array = marks_of(concurrency, need)
    assert marks.tolist() == [[0.5, 0.0, 2.5]]
