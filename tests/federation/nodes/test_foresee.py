"""What is compiled when the project is set up is what the first decision on GPUs needs."""

from typing import Any

import numpy as np

from federation.nodes.foresee import Question, even_arrivals, foresee, warm_up
from federation.nodes.mix import Mix, any_model
from federation.nodes.offers import STRETCHES
from federation.nodes.rows import Rows
from federation.snapshot import GPU_WHOLE


def test_warming_up_compiles_all_that_a_real_question_calls() -> None:
    from federation.nodes import judging, kernels

    called: tuple[Any, ...] = (judging.place_all, kernels.count_fitting)
    assert warm_up().shape == (1, STRETCHES)
    compiled = [list(one.signatures) for one in called]
    assert all(compiled)
    shapes = np.array([[1000, 1024, 1, 500], [4000, 4096, 2, GPU_WHOLE], [2000, 2048, 0, 0]])
    mix = Mix(shapes, np.array([0.5, 0.3, 0.2]), any_model(shapes, 1), ("T4",))
    few = np.arange(12)
    nodes = Rows(32_000 + few, 65_536 + few, few % 2, np.tile([GPU_WHOLE, GPU_WHOLE, 500, 0], (12, 1)))
    decline = foresee(Question(nodes, mix, 60.0))
    assert decline.shape == (3, STRETCHES)
    assert (decline[:, 0] == 1.0).all()
    assert decline[1, -1] < 1.0  # room for two whole GPUs is gone before the end
    assert [list(one.signatures) for one in called] == compiled


def test_what_is_taken_to_arrive_comes_as_often_as_expected_and_evenly() -> None:
    shapes = np.array([[1, 1, 1, 500], [1, 1, 1, GPU_WHOLE], [1, 1, 0, 0], [1, 1, 2, GPU_WHOLE]])
    mix = Mix(shapes, np.array([0.51, 0.3, 0.185, 0.005]), any_model(shapes), ())
    arrivals = even_arrivals(mix, 100, np.random.default_rng(3))
    whole, half = (np.bincount(part, minlength=4) for part in (arrivals, arrivals[:50]))
    assert whole.sum() == len(arrivals) == 100
    assert (np.abs(whole - 100 * mix.probability) < 1.0).all()
    assert (np.abs(half[:3] - 50 * mix.probability[:3]) <= 5.0).all()
    assert (np.diff(arrivals) < 0).any()  # not shape by shape
    other = even_arrivals(mix, 100, np.random.default_rng(4))
    assert not np.array_equal(arrivals, other)
    rare = [np.bincount(even_arrivals(mix, 20, np.random.default_rng(seed)), minlength=4)[3] for seed in range(200)]
    assert 8 <= sum(rare) <= 32  # 0.1 of one each time
