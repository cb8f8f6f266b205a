"""What is to come, worked out by hand from the work that is known and the room that is free."""

import sys
from dataclasses import replace
from subprocess import run

import numpy as np
import pytest

from federation.nodes.mix import any_model
from federation.nodes.offers import FORESEEN_SEQUENCES, SEQUENCES, STRETCHES
from federation.nodes.outlook import Room, Wanted, distance, mix_of, offers_to_come, outlook_of, room_of, to_come
from federation.placement.workload import GpuNeed
from tests.federation.building import cluster

GIB = 1 << 30
WHOLE, SHARE, PAIR = GpuNeed(1, 1_000), GpuNeed(0, 400), GpuNeed(2, 1_000, ("T4",))
GPU_MODEL = "prewarm.dev/gpu-model"


def wanted(need: GpuNeed, there: int, all_: int | None = None, *, growth: float = 0.0, cpu: int = 1_000) -> Wanted:
    return Wanted({"cpu": cpu, "memory": GIB}, need, there, there if all_ is None else all_, growth)


def test_shares_of_the_mix_are_those_of_wanted_instances_and_their_growth() -> None:
    mix = mix_of([wanted(WHOLE, 2, 3), wanted(SHARE, 4, growth=2.0), wanted(WHOLE, 1)], ("T4", "V9"))
    assert mix.shapes.tolist() == [[1_000, 1_024, 1, 400], [1_000, 1_024, 1, 1_000]]
    assert mix.probability.tolist() == [0.6, 0.4]
    assert mix.allowed.all()


def test_models_are_those_that_nodes_name_and_a_share_of_a_byte_counts_as_a_mebibyte() -> None:
    odd = Wanted({"cpu": 1, "memory": (1 << 20) + 1}, PAIR, 1, 1)
    mix = mix_of([odd], ("A10", "T4"))
    assert mix.shapes.tolist() == [[1, 2, 2, 1_000]]
    assert mix.allowed.tolist() == [[False, True, False]]


def test_without_a_known_shape_there_is_no_outlook() -> None:
    nodes = [cluster("a").nodes(cpu="8", memory="32Gi").build().nodes]
    assert outlook_of([], nodes, load=1.3, unknown=7) is None
    assert outlook_of([wanted(WHOLE, 0, 0)], nodes, load=1.3) is None


def test_what_is_unknown_is_counted_and_weighs_nothing() -> None:
    nodes = [cluster("a").nodes(cpu="8", memory="32Gi", gpus=(1000, 1000)).build().nodes]
    outlook = outlook_of([wanted(WHOLE, 2)], nodes, load=1.3, unknown=7)
    assert outlook is not None
    assert (outlook.known, outlook.unknown) == (2, 7)
    assert outlook.mix.probability.tolist() == [1.0]


def test_room_is_counted_on_nodes_that_take_work() -> None:
    built = cluster("a").nodes(3, cpu="8", memory="32Gi", gpus=(1000, 500), labels={GPU_MODEL: "T4"})
    built = built.nodes(2, cpu="8", memory="32Gi", free={"cpu": "500m"}, gpus=(1000,))
    built = built.nodes(4, cpu="8", memory="32Gi", gpus=(1000,), schedulable=False)
    plain = cluster("b").nodes(5, cpu="2", memory="4Gi").build()
    mix = mix_of([wanted(SHARE, 1), wanted(WHOLE, 1), wanted(GpuNeed(), 1), wanted(PAIR, 1)], ("T4",))
    room = room_of([built.build().nodes, plain.nodes], mix)
    by_shape = dict(zip(map(tuple, mix.shapes[:, 2:].tolist()), room.room.tolist(), strict=True))
    assert by_shape == {(0, 0): 8.0, (1, 400): 3.0, (1, 1_000): 3.0, (2, 1_000): 0.0}
    assert (room.nodes, room.cpu, room.gpu) == (10.0, 3 * 8_000 + 2 * 500 + 5 * 2_000, 3 * 1_500 + 2 * 1_000)


def test_no_nodes_have_no_room() -> None:
    mix = mix_of([wanted(WHOLE, 1)], ())
    assert room_of([], mix).room.tolist() == [0.0]
    assert outlook_of([wanted(WHOLE, 1)], [], load=1.3) is not None


@pytest.mark.parametrize(
    ("there", "asked", "growth", "load", "come"),
    [
        pytest.param(4, 4, 0.0, 1.0, 6.0, id="until-it-is-full"),
        pytest.param(4, 4, 0.0, 1.5, 11.0, id="beyond-what-there-is"),
        pytest.param(4, 9, 0.0, 1.5, 6.0, id="those-that-wait-have-come-but-what-is-free-fills-all-the-same"),
        pytest.param(4, 4, 40.0, 1.5, 40.0, id="a-larger-forecast"),
    ],
)
def test_instances_still_to_come(there: int, asked: int, growth: float, load: float, come: float) -> None:
    work = [wanted(WHOLE, there, asked, growth=growth)]
    free = Room(np.array([3.0]), 3.0, 9e9, 6_000.0)
    assert to_come(work, mix_of(work, ()), free, load) == come


def test_where_nobody_asks_for_gpus_cores_are_filled() -> None:
    work = [wanted(GpuNeed(), 2, cpu=2_000), wanted(GpuNeed(), 2, cpu=1_000)]
    free = Room(np.array([3.0, 3.0]), 3.0, 9_000.0, 8_000.0)
    assert to_come(work, mix_of(work, ()), free, 1.0) == pytest.approx(9_000 / 1_500)


def test_where_room_is_foreseen_there_are_more_sequences_and_each_forecast_has_its_own() -> None:
    mix, free = mix_of([wanted(WHOLE, 1), wanted(SHARE, 2)], ()), Room(np.array([9.0, 6.0]), 12.0, 9e4, 2e4)
    stays, arrivals = np.ones((2, STRETCHES)), np.full(STRETCHES, 3.0)
    now = offers_to_come(mix, arrivals, free, None)
    first, again, later = (offers_to_come(mix, each, free, stays) for each in (arrivals, arrivals, arrivals + 0.1))
    assert (now.spans.shape[1], first.spans.shape[1]) == (SEQUENCES, FORESEEN_SEQUENCES)
    assert np.array_equal(first.table, again.table)
    lengths = [offers.spans[-1, :, 1] - offers.spans[-1, :, 0] for offers in (first, later)]
    assert abs(lengths[0].mean() - lengths[1].mean()) < 2.0
    assert (lengths[0] != lengths[1]).sum() > FORESEEN_SEQUENCES / 2


def test_a_mix_that_changed_is_as_far_as_the_shares_that_moved() -> None:
    one, other = mix_of([wanted(WHOLE, 3), wanted(SHARE, 1)], ()), mix_of([wanted(WHOLE, 1), wanted(PAIR, 1)], ())
    assert distance(one, one) == 0.0
    assert distance(one, other) == pytest.approx(0.5)
    assert distance(one, replace(one, models=("T4",), allowed=any_model(one.shapes, 1))) == 1.0


def test_the_service_needs_no_compiler() -> None:
    asked = "import sys, federation.desk.outlook; sys.exit('numba' in sys.modules)"
    assert run([sys.executable, "-c", asked], check=False).returncode == 0
