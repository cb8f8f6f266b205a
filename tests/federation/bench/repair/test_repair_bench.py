"""W10's instances and figures: the same for a seed, really pending, solved only with a plan or a proof."""

from pathlib import Path

import pytest

from federation.bench.repair.instances import best_fit, draw_instance, read_nodes, read_pods
from federation.bench.repair.run import Trial, rows_of, run, solved_within
from federation.repair import Board, Item, Node, Verdict
from prewarm.domain import InputError


def fleet() -> tuple[tuple[Node, ...], tuple[Item, ...]]:
    nodes = tuple(Node(32_000, 200_000, gpus) for gpus in (0, 1, 2, 4) for _ in range(20))
    pods = (
        Item(4_000, 8_000, 1, 500),
        Item(8_000, 8_000, 1, 1_000),
        Item(16_000, 8_000),
        Item(16_000, 8_000, 2, 1_000),
    )
    return nodes, pods


@pytest.mark.parametrize("seed", range(4))
def test_an_instance_is_full_to_its_load_and_its_pod_has_no_place(seed: int) -> None:
    instance = draw_instance(*fleet(), seed)
    board = instance.board
    assert len(board.nodes) == 50
    assert instance.load >= 0.95
    assert best_fit(board, instance.pending) is None
    assert min(*board.cpu, *board.memory, *(free for gpus in board.gpu for free in gpus)) >= 0


def test_a_seed_draws_the_same_instance() -> None:
    one, two = (draw_instance(*fleet(), 3) for _ in range(2))
    assert one.board.seats == two.board.seats
    assert one.pending == two.pending
    assert draw_instance(*fleet(), 4).board.seats != one.board.seats


def test_best_fit_takes_the_fullest_node_with_room() -> None:
    board = Board((Node(9_000, 99), Node(4_000, 99), Node(1_000, 99)))
    assert best_fit(board, Item(2_000, 9)) == (1, ())
    assert best_fit(board, Item(9_500, 9)) is None


def test_unknown_and_late_answers_are_not_solved() -> None:
    trials = [
        Trial(Verdict.PLAN, 2, 0.5, 1.0),
        Trial(Verdict.NONE, 0, 3.0, 1.0),
        Trial(Verdict.UNKNOWN, 0, 10.0, 1.0),
        Trial(Verdict.SURGE, 0, 0.1, 1.0),
    ]
    assert solved_within(trials, 1.0) == 0.25
    assert solved_within(trials, 10.0) == 0.5
    rows = {row["verdict"]: row for row in rows_of(trials)}
    assert rows["plan"] == {
        "verdict": "plan",
        "moves": 2,
        "instances": 1,
        "share": 0.25,
        "median s": 0.5,
        "longest s": 0.5,
    }


def write_trace(folder: Path) -> None:
    folder.mkdir()
    machines = "".join(f"n{at},16000,100000,{at % 3},{'T4' if at % 3 else ''}\n" for at in range(60))
    (folder / "openb_node_list_all_node.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\n" + machines)
    pods = "p0,4000,8000,1,500\np1,6000,8000,1,1000\np2,5000,8000,0,0\np3,3000,8000,1,300\n"
    (folder / "openb_pod_list_default.csv").write_text("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + pods)


def test_the_quick_benchmark_runs_and_counts_every_instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_trace(tmp_path / "alibaba-gpu-v2023")
    monkeypatch.setattr("federation.bench.repair.run.QUICK_INSTANCES", 3)
    result = run(tmp_path, seed=1, quick=True, progress=lambda *_: None)
    assert [goal.name for goal in result.goals] == ["solved_1s"]
    assert sum(int(str(row["instances"])) for row in result.rows) == 3
    assert set(result.trace_sha256) == {"openb_node_list_all_node.csv", "openb_pod_list_default.csv"}


def test_absent_traces_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"openb_node_list_all_node.csv: not found"):
        read_nodes(tmp_path)
    with pytest.raises(InputError, match=r"openb_pod_list_default.csv: not found"):
        read_pods(tmp_path)
