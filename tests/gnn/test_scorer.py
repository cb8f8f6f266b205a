"""The scorer answers as the seam wants it, keeps its deadline, and says why where it gives no answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from federation.placement.pipeline import place
from federation.placement.scorer import FACTORS, Declined, Weighing
from federation.placement.terms import Terms
from gnn.bench.drawn import drawn_shape, drawn_weights
from gnn.fleet.question import question_observation
from gnn.forms import BOUND, Form
from gnn.graph.build import GraphBuilder
from gnn.scorer import LATE_IN_A_ROW, REST_S, LearnedScorer, load, read_scorer
from gnn.student import Student, write_student
from prewarm.domain import InputError
from tests.gnn.questions import question_of, some_shop, some_student, some_workload


class Steps:
    """A clock that goes on by the next of some steps at each look, then stands."""

    def __init__(self, *steps: float) -> None:
        self.time, self.steps = 100.0, list(steps)

    def __call__(self) -> float:
        """The time."""
        self.time += self.steps.pop(0) if self.steps else 0.0
        return self.time


def scorer_of(form: Form = Form.WEIGHTS, clock: Callable[[], float] | None = None, **more: float) -> LearnedScorer:
    """One over drawn weights whose clock stands unless told otherwise."""
    return LearnedScorer(some_student(form), "7", clock or Steps(), **more)


def written(path: Path, form: Form = Form.WEIGHTS, factors: tuple[str, ...] = FACTORS) -> Path:
    """A file of weights."""
    shape = replace(drawn_shape(form), factors=factors)
    write_student(path, shape, drawn_weights(shape, np.random.default_rng(0)))
    return path


@pytest.mark.parametrize("form", list(Form))
def test_every_form_decides_and_its_explanation_adds_up(form: Form) -> None:
    for seed in range(5):
        scorer = LearnedScorer(some_student(form, seed), "7", Steps())
        made = place(some_shop(), some_workload(), terms=Terms(scorer=scorer), now=0.0)
        assert (made.policy.name, made.policy.version, made.policy.rule_decided) == ("learned", "7", False)
        for one in made.scores:
            assert sum(factor.contribution for factor in one.factors) == pytest.approx(one.score, abs=1e-6)
        assert sum(one.replicas for one in made.shares) == 6


def test_a_network_that_says_nothing_is_the_rule() -> None:
    shape = drawn_shape()
    weights = {name: np.zeros_like(one) for name, one in drawn_weights(shape, np.random.default_rng(0)).items()}
    answer = LearnedScorer(Student(shape, weights), "0", Steps()).weigh(question_of(some_shop(), some_workload()))
    assert isinstance(answer, Weighing)
    told = np.array(shape.rule.weights)
    assert answer.weights == pytest.approx(told / told.sum())


@pytest.mark.parametrize("form", [Form.RESIDUAL, Form.DIRECT])
def test_what_is_added_to_a_score_is_bounded(form: Form) -> None:
    loud = some_student(form)
    loud.weights["last.weight"] *= 100.0
    answer = LearnedScorer(loud, "7", Steps()).weigh(question_of(some_shop(12), some_workload()))
    assert isinstance(answer, Weighing)
    assert answer.residual is not None
    assert np.abs(answer.residual).max() <= BOUND
    if form is Form.RESIDUAL:  # a direct one says the same of all of them, which changes nothing
        assert np.abs(answer.residual).max() > 0.9 * BOUND


def test_a_direct_score_orders_clusters_as_the_network_does() -> None:
    question = question_of(some_shop(), some_workload())
    student = some_student(Form.DIRECT)
    student.weights["last.weight"] *= 0.05  # within the bound, so nothing is held back
    answer = LearnedScorer(student, "7", Steps()).weigh(question)
    seen = question_observation(question, GraphBuilder())
    assert isinstance(answer, Weighing)
    assert answer.residual is not None
    scores = question.values @ answer.weights + answer.residual
    wanted = student.act(seen)[:, 0]
    if np.abs(answer.residual).max() < BOUND:
        assert np.argsort(scores).tolist() == np.argsort(wanted).tolist()
    assert scores - scores.mean() == pytest.approx((wanted - wanted.mean()) / 2.0, abs=2 * BOUND)


@pytest.mark.parametrize(
    ("steps", "kept"), [((0.0, 0.004, 0.005), True), ((0.0, 0.011), False), ((0.0, 0.0, 0.0101), False)]
)
def test_the_deadline_holds_after_each_step(steps: tuple[float, ...], kept: bool) -> None:
    answer = scorer_of(clock=Steps(*steps)).weigh(question_of(some_shop(), some_workload()))
    assert isinstance(answer, Weighing) is kept
    if isinstance(answer, Declined):
        assert answer.why.startswith("over the deadline of 10 ms (1")


def test_a_scorer_that_is_late_again_and_again_is_left_alone_for_a_while() -> None:
    clock = Steps(*(0.0, 0.02) * LATE_IN_A_ROW)
    scorer, question = scorer_of(clock=clock), question_of(some_shop(), some_workload())
    for _ in range(LATE_IN_A_ROW):
        assert isinstance(scorer.weigh(question), Declined)
    assert scorer.weigh(question) == Declined("over the deadline 3 times in a row, left alone for a while")
    clock.time += REST_S + 0.1
    assert isinstance(scorer.weigh(question), Weighing)
    assert scorer.took_ms()["p50"] == pytest.approx(20.0, abs=1.0)


def test_a_late_answer_between_good_ones_does_not_count_towards_a_rest() -> None:
    scorer, question = scorer_of(), question_of(some_shop(), some_workload())
    for _ in range(2 * LATE_IN_A_ROW):
        scorer.pace.clock = Steps(0.0, 0.02)
        assert isinstance(scorer.weigh(question), Declined)
        scorer.pace.clock = Steps()
        assert isinstance(scorer.weigh(question), Weighing)


def test_weights_that_give_no_number_leave_it_to_the_rule() -> None:
    student = some_student()
    student.weights["last.bias"] = np.full(10, np.nan, np.float32)
    made = place(some_shop(), some_workload(), terms=Terms(scorer=LearnedScorer(student, "7", Steps())), now=0.0)
    assert (made.policy.rule_decided, made.policy.why) == (True, "the network's answer is not finite")


def test_a_question_that_breaks_the_network_leaves_it_to_the_rule() -> None:
    student = some_student()
    del student.weights["question.first.weight"]
    answer = LearnedScorer(student, "7", Steps()).weigh(question_of(some_shop(), some_workload()))
    assert answer == Declined("the network failed: KeyError: 'question.first.weight'")


def test_a_question_beyond_all_bounds_is_unfit() -> None:
    question = question_of(some_shop(), some_workload())
    values = question.values.copy()
    values[0, 0] = np.nan
    answer = scorer_of().weigh(replace(question, values=values))
    assert answer == Declined("the question is unfit: ask/values is not finite")


def test_the_quicker_graph_makes_the_same_observation() -> None:
    question = question_of(some_shop(), some_workload())
    whole, quick = (question_observation(question, GraphBuilder(candidates=which)) for which in (True, False))
    assert whole.keys() == quick.keys()
    assert all(np.array_equal(whole[key], quick[key]) for key in whole)


def test_a_file_is_read_with_its_version(tmp_path: Path) -> None:
    one = read_scorer(written(tmp_path / "a.npz"), Steps())
    same = read_scorer(written(tmp_path / "b.npz"), Steps())
    assert one.version == same.version
    assert len(one.version) == 12
    assert load(tmp_path / "a.npz").version == one.version


@pytest.mark.parametrize("factors", [(), FACTORS[::-1], (*FACTORS[:-1], "luck")])
def test_weights_for_other_factors_are_refused(factors: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the placement's are fit, fragmentation"):
        read_scorer(written(tmp_path / "a.npz", factors=factors), Steps())


def test_files_that_are_no_weights_are_refused_in_one_line(tmp_path: Path) -> None:
    path = written(tmp_path / "a.npz")
    path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(InputError, match="not the weights"):
        read_scorer(path, Steps())
    with pytest.raises(InputError, match="cannot be read"):
        read_scorer(tmp_path / "absent.npz", Steps())
    with pytest.raises(InputError, match="there are no weights at"):
        load(tmp_path / "absent.npz")
    path.write_bytes(b"0" * 2_000_001)
    with pytest.raises(InputError, match="at most 2,000,000 bytes"):
        read_scorer(path, Steps())


def test_nothing_in_the_file_is_run(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    shape = drawn_shape()
    weights = drawn_weights(shape, np.random.default_rng(0))
    np.savez(path, shape=np.array([print], dtype=object), **weights)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not the weights"):
        read_scorer(path, Steps())
