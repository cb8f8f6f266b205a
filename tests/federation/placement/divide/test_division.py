"""What every division promises, whatever the numbers: sums, bounds, fairness, and no needless movement."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.placement.divide.division import Wish, divide_many
from federation.placement.divide.limits import Limits
from federation.placement.divide.ties import ties_of

NAMES = tuple("abcdefgh")
some = settings(max_examples=40, deadline=None)


@dataclass(frozen=True)
class Problem:
    """One workload: how many, over which clusters, under which limits."""

    total: int
    scores: list[float]
    most: list[int]
    least: list[int]
    before: list[int]
    temperature: float = 0.0
    clusters: int = 1
    stay: float = 0.1
    key: str = "shop/f"

    def solve(self) -> list[int]:
        """Alone."""
        counts: list[int] = divide_many(*stacked([self]))[0].tolist()
        return counts


def stacked(problems: list[Problem]) -> tuple[Wish, Limits]:
    """Several problems over the same clusters as one."""
    size = len(problems[0].scores)
    wish = Wish(
        total=np.array([p.total for p in problems], dtype=np.int64),
        scores=np.array([p.scores for p in problems], dtype=np.float64).reshape(-1, size),
        temperature=np.array([p.temperature for p in problems]),
        stay=np.array([[p.stay] for p in problems]),
        clusters=np.array([p.clusters for p in problems], dtype=np.int64),
    )
    least, most, before = (
        np.array([getattr(p, name) for p in problems], dtype=np.int64) for name in ("least", "most", "before")
    )
    return wish, Limits(least, most, before, ties_of([p.key for p in problems], NAMES[:size]))


@st.composite
def problems(draw: st.DrawFn, size: int | None = None) -> Problem:
    clusters = draw(st.integers(1, 6)) if size is None else size
    many = st.lists(st.integers(0, 12), min_size=clusters, max_size=clusters)
    most = draw(many)
    least = [draw(st.integers(0, room)) if draw(st.booleans()) else 0 for room in most]
    score = st.integers(0, 20).map(lambda twentieth: twentieth / 20)
    return Problem(
        total=draw(st.integers(0, 40)),
        scores=draw(st.lists(score, min_size=clusters, max_size=clusters)),
        most=most,
        least=least,
        before=draw(many),
        temperature=draw(st.sampled_from([0.0, 1e-300, 1e-6, 0.003, 0.02, 0.05, 0.5, 5.0])),
        clusters=draw(st.integers(1, 4)),
        stay=draw(st.sampled_from([0.0, 0.1, 0.5])),
        key=f"shop/f{draw(st.integers(0, 50))}",
    )


@some
@given(problems())
def test_sums_and_bounds(problem: Problem) -> None:
    counts = problem.solve()
    assert all(low <= n <= high for low, n, high in zip(problem.least, counts, problem.most, strict=True))
    assert sum(counts) == max(min(problem.total, sum(problem.most)), sum(problem.least))


@some
@given(problems())
def test_the_same_question_has_the_same_answer(problem: Problem) -> None:
    assert problem.solve() == problem.solve()


@some
@given(problems(), st.data())
def test_more_room_never_unplaces(problem: Problem, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(problem.most) - 1))
    roomier = [*problem.most[:at], problem.most[at] + data.draw(st.integers(1, 9)), *problem.most[at + 1 :]]
    assert sum(replace(problem, most=roomier).solve()) >= sum(problem.solve())


@some
@given(problems(), st.data())
def test_the_order_of_the_clusters_does_not_matter(problem: Problem, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(problem.most))))
    wish, limits = stacked([problem])
    turned = Limits(limits.least[:, order], limits.most[:, order], limits.before[:, order], limits.tie[:, order])
    counts = divide_many(replace(wish, scores=wish.scores[:, order]), turned)[0]
    assert counts.tolist() == np.array(problem.solve())[order].tolist()


@some
@given(st.lists(problems(size=4), min_size=1, max_size=12))
def test_many_at_once_are_what_each_would_be_alone(several: list[Problem]) -> None:
    together = divide_many(*stacked(several))
    assert together.tolist() == [problem.solve() for problem in several]


@some
@given(problems())
def test_an_answer_that_is_asked_again_from_where_it_led_moves_nothing(problem: Problem) -> None:
    counts = problem.solve()
    assert replace(problem, before=counts).solve() == counts


@some
@given(problems())
def test_spread_over_as_many_clusters_as_asked_where_there_is_room(problem: Problem) -> None:
    counts = problem.solve()
    possible = min(problem.clusters, problem.total, sum(room > 0 for room in problem.most))
    spare = max(problem.total - sum(problem.least), 0) + sum(low > 0 for low in problem.least)
    assert sum(n > 0 for n in counts) >= min(possible, spare)


@some
@given(problems())
def test_best_first_is_the_optimum_of_its_objective(problem: Problem) -> None:
    """Against a plain search: no single instance could be put better."""
    problem = replace(problem, temperature=0.0, clusters=1)
    counts = problem.solve()

    def worth(at: int, nth: int) -> float:
        return problem.scores[at] + (problem.stay if nth <= problem.before[at] else 0.0)

    for a, n in enumerate(counts):
        for b, m in enumerate(counts):
            if a != b and n > problem.least[a] and m < problem.most[b]:
                assert worth(a, n) >= worth(b, m + 1) - 1e-9


@some
@given(problems(), st.integers(0, 30))
def test_best_first_is_house_monotone_when_nothing_runs(problem: Problem, total: int) -> None:
    blank = replace(problem, temperature=0.0, before=[0] * len(problem.most), least=[0] * len(problem.most), clusters=1)
    fewer, more = replace(blank, total=total).solve(), replace(blank, total=total + 1).solve()
    assert all(a <= b for a, b in zip(fewer, more, strict=True))


def _quotas(problem: Problem) -> np.ndarray:
    """Exact shares of exp(score / temperature) held under the most, by bisection."""
    weights = np.exp((np.array(problem.scores) - max(problem.scores)) / problem.temperature)
    most, low, high = np.array(problem.most, dtype=np.float64), 0.0, 1e12
    total = min(problem.total, most.sum())
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.minimum(middle * weights, most).sum() < total else (low, middle)
    return np.minimum(high * weights, most)


@some
@given(problems())
def test_shares_stay_within_their_quota_rounded_down_or_up(problem: Problem) -> None:
    even = replace(problem, temperature=0.5, least=[0] * len(problem.most), clusters=1)
    quota = _quotas(even)
    for count, exact in zip(even.solve(), quota.tolist(), strict=True):
        assert np.floor(exact - 1e-6) <= count <= np.ceil(exact + 1e-6)


@some
@given(problems())
def test_shares_move_as_little_as_their_quotas_allow(problem: Problem) -> None:
    even = replace(problem, temperature=0.5, least=[0] * len(problem.most), clusters=1)
    counts, quota = np.array(even.solve()), _quotas(even)
    low, high = np.floor(quota + 1e-9), np.minimum(np.ceil(quota - 1e-9), even.most)
    before = np.array(even.before)
    extra = round(min(even.total, sum(even.most)) - low.sum())
    forced = np.maximum(before - high, 0).sum() + np.maximum(low - before, 0).sum()
    kept = min(extra, int(((high > low) & (before > low)).sum()))
    gained = extra - kept
    lost = int(((high > low) & (before > low)).sum()) - kept
    assert np.abs(counts - before).sum() == forced + gained + lost


@pytest.mark.parametrize("temperature", [0.0, 0.2])
def test_over_many_equal_workloads_every_cluster_gets_its_part_of_the_odd_ones(temperature: float) -> None:
    count = np.zeros(3)
    for number in range(300):
        one = Problem(1, [0.5] * 3, [9] * 3, [0] * 3, [0] * 3, temperature, key=f"shop/f{number}")
        count += one.solve()
    assert count.min() > 70


@pytest.mark.parametrize(
    ("temperature", "counts"),
    [
        pytest.param(0.0, [6, 0, 0], id="all-to-the-best"),
        pytest.param(0.1, [5, 1, 0], id="mostly-to-the-best"),
        pytest.param(10.0, [2, 2, 2], id="nearly-even"),
    ],
)
def test_temperature_goes_from_best_only_to_even(temperature: float, counts: list[int]) -> None:
    assert Problem(6, [0.8, 0.6, 0.5], [9] * 3, [0] * 3, [0] * 3, temperature).solve() == counts


@pytest.mark.parametrize("temperature", [0.0, 1e-300, 1e-6, 0.003])
def test_hardly_any_spread_is_best_first(temperature: float) -> None:
    assert Problem(10, [0.9, 0.6, 0.5], [5, 20, 20], [0] * 3, [0] * 3, temperature).solve() == [5, 5, 0]


def test_overflow_fills_the_best_first_then_the_next() -> None:
    assert Problem(15, [0.9, 0.5, 0.7], [10, 9, 3], [0] * 3, [0] * 3).solve() == [10, 2, 3]


def test_an_instance_moves_only_for_more_than_staying_is_worth() -> None:
    running = Problem(4, [0.60, 0.51], [9, 9], [0, 0], [0, 4], stay=0.1)
    assert running.solve() == [0, 4]
    assert replace(running, scores=[0.62, 0.51]).solve() == [4, 0]


def test_nobody_is_forced_above_the_room() -> None:
    wish, limits = stacked([Problem(3, [0.5, 0.5], [2, 1], [5, 0], [0, 0])])
    assert divide_many(wish, limits).tolist() == [[2, 1]]
