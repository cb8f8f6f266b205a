"""Who judges node states: the same figures from a thread and from a process, whatever becomes of the process."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from federation.desk import judges
from federation.desk.judges import judge_missing
from federation.nodes.fill import FutureFill
from federation.nodes.fragment import Unfragmented
from federation.nodes.outlook import Outlook, Wanted, outlook_of
from federation.placement.fleet.compiled import FleetColumns
from federation.placement.fleet.follow import follow
from federation.placement.packing.changes import Changes, Question, judged, shape_of
from federation.placement.workload import GpuNeed
from prewarm.domain import FloatArray
from tests.federation.building import cluster, fleet, workload

SHARE, WHOLE = GpuNeed(0, 400), GpuNeed(1, 1_000)
ASKED = (
    workload("shop/share", 3, asks={"cpu": "2", "memory": "1Gi"}, gpu=SHARE),
    workload("shop/whole", 2, asks={"cpu": "4", "memory": "8Gi"}, gpu=WHOLE),
    workload("shop/plain", 5, asks={"cpu": "1", "memory": "2Gi"}),
)
SHAPES = tuple(shape_of(one.requests, one.gpu) for one in ASKED)


def columns() -> FleetColumns:
    """Two clusters with nodes in five states."""
    one = cluster("a").nodes(cpu="32", memory="64Gi", gpus=(1000, 1000)).nodes(cpu="8", memory="64Gi", gpus=(500, 300))
    two = cluster("b").nodes(cpu="16", memory="32Gi", gpus=(1000, 700)).nodes(cpu="3", memory="2Gi")
    return follow(fleet(one, two.nodes(cpu="1", memory="1Gi", gpus=(200,))))


def outlook(of: FleetColumns) -> Outlook:
    """That of the three workloads."""
    wanted = [Wanted(one.requests, one.gpu, there=0, wanted=one.replicas) for one in ASKED]
    found = outlook_of(wanted, [one.nodes for one in of.clusters], load=1.3)
    assert found is not None
    return found


def memos(of: FleetColumns) -> tuple[Changes, Changes]:
    """Both measures, nothing judged."""
    made = outlook(of)
    filling = Changes(FutureFill(made.mix, made.offers), patient=False)
    return filling, Changes(Unfragmented(made.mix), patient=False)


def figures(found: tuple[Changes, ...], of: FleetColumns) -> list[list[float]]:
    """What is remembered of each measure and workload."""
    return [memo.of(of, one).tolist() for memo in found for one in ASKED]


@pytest.fixture
def patiently() -> list[list[float]]:
    """The same from memos that judge at once."""
    fresh = columns()
    made = outlook(fresh)
    return figures((Changes(FutureFill(made.mix, made.offers)), Changes(Unfragmented(made.mix))), fresh)


def test_what_is_lacking_is_counted_by_state_and_shape() -> None:
    known = columns()
    filling, _ = memos(known)
    states = len(known.frame.states)
    assert states == 5
    assert filling.lacking(known, SHAPES) == 3 * states
    task = filling.missing(known, SHAPES, 2 * states)
    assert task is not None
    assert task.question.shapes == SHAPES[:2]
    filling.learn(task, judged(task.question))
    assert filling.lacking(known, SHAPES) == states


@pytest.mark.parametrize("much", [0, 10_000], ids=["process", "thread"])
async def test_a_process_and_a_thread_find_what_a_patient_memo_finds(
    monkeypatch: pytest.MonkeyPatch, patiently: list[list[float]], much: int
) -> None:
    monkeypatch.setattr(judges, "MUCH", much)
    asked_here, judge = [], judges._timed

    def here(question: Question) -> tuple[FloatArray, float]:
        asked_here.append(question)
        return judge(question)

    monkeypatch.setattr(judges, "_timed", here)
    known = columns()
    found = memos(known)
    await judge_missing(found, SHAPES, lambda: known)
    assert bool(asked_here) is (much > 0)
    assert [memo.lacking(known, SHAPES) for memo in found] == [0, 0]
    for got, patient in zip(figures(found, known), patiently, strict=True):
        np.testing.assert_array_equal(got, patient)  # NaN where a shape does not fit


async def test_a_process_that_takes_too_long_leaves_the_rest_to_a_thread(
    monkeypatch: pytest.MonkeyPatch, patiently: list[list[float]]
) -> None:
    monkeypatch.setattr(judges, "MUCH", 0)
    monkeypatch.setattr(judges, "PIECE_S", 0.0)
    known = columns()
    found = memos(known)
    await judge_missing(found, SHAPES, lambda: known)
    for got, patient in zip(figures(found, known), patiently, strict=True):
        np.testing.assert_array_equal(got, patient)


async def test_where_no_process_is_to_be_had_a_thread_judges(
    monkeypatch: pytest.MonkeyPatch, patiently: list[list[float]], caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(judges, "MUCH", 0)
    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", refused)
    known = columns()
    found = memos(known)
    await judge_missing(found, SHAPES, lambda: known)
    assert "nodes are judged beside decisions: [Errno 11] Resource temporarily unavailable" in caplog.text
    for got, patient in zip(figures(found, known), patiently, strict=True):
        np.testing.assert_array_equal(got, patient)


async def test_a_fleet_that_changes_meanwhile_is_judged_as_it_is_in_the_end() -> None:
    before, after = columns(), follow(fleet(cluster("a").nodes(cpu="32", memory="64Gi", gpus=(1000, 1000))))
    found, shown = memos(before), [before]
    task = asyncio.create_task(judge_missing(found, SHAPES, lambda: shown[0]))
    await asyncio.sleep(0)
    shown[0] = after
    await task
    assert [memo.lacking(after, SHAPES) for memo in found] == [0, 0]
