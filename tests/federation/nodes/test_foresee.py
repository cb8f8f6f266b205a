"""What is compiled when the project is set up is what the first decision on GPUs needs."""

from typing import Any

import numpy as np

from federation.nodes.foresee import Question, foresee, warm_up
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
