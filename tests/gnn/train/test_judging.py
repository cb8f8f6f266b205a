"""A verdict over seeds: each on its own, and the rule for what a policy must not see."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("torch", reason="the learn extra is not installed")

import torch

from gnn.forms import Form
from gnn.networks import Actor
from gnn.shape import EncoderShape, NetworkShape
from gnn.train.judging import Judging, judged
from gnn.train.spread import Here
from gnn.train.task import Act, Verdict
from tests.gnn.toys import graph_context
from tests.gnn.train.worlds import ContextTask

SHAPE = NetworkShape(ContextTask.rule, Form.WEIGHTS, EncoderShape(hidden=16, heads=2, layers=1), ContextTask.factors)


class Told(ContextTask):
    """Says what a seed is worth by the seed alone."""

    def judge(self, act: Act, seeds: Sequence[int]) -> Verdict:
        """A tenth of the seed."""
        del act
        (seed,) = seeds
        return Verdict(seed / 10, {"ours": float(seed), "delay": float("nan") if seed == 1 else 7.0})


def test_scores_and_parts_are_means_over_seeds_that_are_judged_one_by_one() -> None:
    found = judged(Judging(Told(), SHAPE, Actor(SHAPE).state_dict()), [1, 2, 6], Here())
    assert found.score == pytest.approx(0.3)
    assert found.parts == {"ours": 3.0, "delay": 7.0}


class Asked(ContextTask):
    """Asks one question that can be read and one that cannot, and keeps the answers."""

    def judge(self, act: Act, seeds: Sequence[int]) -> Verdict:
        """The sizes of the two answers."""
        seen = graph_context(0.9, np.random.default_rng(seeds[0]))
        broken = {**seen, "ask/values": np.full_like(seen["ask/values"], np.nan)}
        sizes = [float(np.abs(act(one)).max()) for one in (seen, broken)]
        return Verdict(sizes[0], {"unfit": sizes[1]})


def test_the_network_answers_what_it_may_see_and_the_rule_the_rest() -> None:
    torch.manual_seed(0)
    actor = Actor(SHAPE)
    torch.nn.init.constant_(actor.last.bias, 1.0)
    before = torch.random.get_rng_state()
    found = judged(Judging(Asked(), SHAPE, actor.state_dict()), [0], Here())
    assert found.score == pytest.approx(np.tanh(1.0), abs=0.05)
    assert found.parts["unfit"] == 0.0
    assert torch.equal(before, torch.random.get_rng_state())
