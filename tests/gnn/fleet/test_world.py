"""The service's own world: seeded, exact in its books, and decided by the very pipeline of the service."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from federation.placement.pipeline import place
from federation.placement.scorer import FACTORS, Weighing
from federation.placement.terms import Terms
from federation.placement.workload import Caller, Workload
from gnn.fleet.draw import GIB, KINDS, LEAST_CLUSTERS, MOST_CLUSTERS, QUESTIONS, Episode, draw
from gnn.fleet.outcome import Deed, goals_of, mean_delay_ms, outcome
from gnn.fleet.play import POLICY, Given, Play
from gnn.fleet.state import FleetState
from gnn.fleet.telemetry import RESIDENTS
from gnn.fleet.tuning import score, trials
from gnn.forms import Rule
from tests.federation.building import Wiring, cluster, fleet

EVEN = Rule((1.0,) * len(FACTORS))


def weighing(*, temperature: float = 0.0, **named: float) -> Weighing:
    """Weights of the named factors alone."""
    return Weighing(np.array([named.get(name, 0.0) for name in FACTORS]), temperature, "test", "1")


def some_weights(rng: np.random.Generator) -> Weighing:
    """Any weights, sometimes with spread."""
    return Weighing(rng.random(len(FACTORS)), 0.1 * float(rng.random() < 0.5), "test", "1")


def test_the_same_seed_is_the_same_episode_and_another_is_another() -> None:
    one, again, other = (_told(draw(seed)) for seed in (7, 7, 8))
    assert one == again != other


def _told(episode: Episode) -> tuple[object, ...]:
    sums = tuple(int(one.nodes.requested.sum()) for one in episode.clusters)
    return episode.kind, sums, episode.calls, tuple((one.workload.key, one.gone) for one in episode.events)


def test_kinds_take_turns_and_sizes_span_two_to_thirty_two_clusters() -> None:
    episodes = [draw(seed) for seed in range(80)]
    assert Counter(one.kind for one in episodes) == dict.fromkeys(KINDS, 20)
    sizes = [len(one.clusters) for one in episodes]
    assert min(sizes) <= 3
    assert max(sizes) >= 28
    assert LEAST_CLUSTERS <= min(sizes) <= max(sizes) <= MOST_CLUSTERS
    assert all(len(one.events) == QUESTIONS + 1 for one in episodes)


@pytest.mark.parametrize("seed", range(4))
def test_each_step_is_what_the_pipeline_would_answer(seed: int) -> None:
    rng, play = np.random.default_rng(seed), Play(draw(10_000 + seed))
    asked_for = 0
    while (asked := play.ask()) is not None:
        answer, workload = some_weights(rng), asked.question.workload
        whole = place(asked.snapshot, workload, terms=Terms(policy=POLICY, scorer=Given(answer)), now=play.state.now)
        play.decide(asked, answer)
        counts = {share.cluster: share.replicas for share in whole.shares if share.replicas}
        found = play.state.counts(workload.key).tolist()
        named = zip(asked.snapshot.clusters, found, strict=True)
        assert {one.name: number for one, number in named if number} == counts
        assert play.judged[-1].violation == pytest.approx(whole.unplaced / workload.replicas)
        asked_for += 1
    assert asked_for > QUESTIONS // 2


@pytest.mark.parametrize("seed", range(4))
def test_books_are_exact_whatever_is_decided(seed: int) -> None:
    episode = draw(10_100 + seed)
    rng, play = np.random.default_rng(seed), Play(episode)
    while (asked := play.ask()) is not None:
        play.decide(asked, some_weights(rng))
        _check(play.state, _present(episode, len(play.judged)), episode)
    assert len(play.judged) == len(episode.events)


def _present(episode: Episode, events: int) -> dict[str, Workload]:
    """What is there after so many events."""
    found: dict[str, Workload] = {}
    for event in episode.events[:events]:
        for key in event.gone:
            found.pop(key, None)
        found[event.workload.key] = event.workload
    return found


def _check(state: FleetState, present: dict[str, Workload], episode: Episode) -> None:
    """Nothing over, nothing below, and what is requested is what was there plus what runs."""
    for now, then in zip(state.clusters, episode.clusters, strict=True):
        assert (now.nodes.requested <= now.nodes.allocatable).all()
        assert (now.nodes.requested[: len(then.nodes)] >= then.nodes.requested).all()
        more = (now.nodes.requested.sum(axis=0) - then.nodes.requested.sum(axis=0)).tolist()
        assert now.running.get(RESIDENTS) == then.running.get(RESIDENTS)
        asks = [(present[key], one.existing) for key, one in now.running.items() if key != RESIDENTS]
        assert more[0] == sum(one.requests["cpu"] * count for one, count in asks)
        assert more[1] == sum(one.requests["memory"] * count for one, count in asks)
        assert more[2] == sum(count for _, count in asks)


def test_considering_changes_nothing_and_says_what_deciding_does() -> None:
    rng = np.random.default_rng(0)
    play = Play(draw(10_001))
    while (asked := play.ask()) is not None:
        answer = some_weights(rng)
        before = play.state.loads()
        thought = play.consider(asked, answer)
        assert np.array_equal(play.state.loads(), before)
        done = play.decide(asked, answer)
        assert thought.score == pytest.approx(done.score)
        assert thought.fairness == pytest.approx(done.fairness)


def test_price_and_delay_by_hand() -> None:
    one, two, far = (cluster(name, region=at, price=price).nodes(1, cpu="8", memory="32Gi")
                     for name, at, price in (("a", "eu", 1.0), ("b", "eu", 0.5), ("c", "us", 1.0)))  # fmt: skip
    far = far.runs("shop/pay", 1)
    snapshot = fleet(one, two, far, wiring=Wiring({("a", "b"): 10.0, ("a", "c"): 80.0, ("b", "c"): 90.0}))
    work = Workload("shop/web", "Deployment", 4, requests={"cpu": 1000, "memory": 4 * GIB}, demand_per_s=2.0,
                    callers=(Caller(2.0, region="us"),))  # fmt: skip
    counts = np.array([2, 2, 0])
    assert mean_delay_ms(work, counts, snapshot) == pytest.approx(85.0)
    found = outcome(Deed(work, np.zeros(3, np.int64), counts, np.array([0.5, 0.5, 0.5])), snapshot)
    assert found.paid == pytest.approx(0.75)
    assert found.violation == 0.0
    goals = goals_of(work)
    assert goals.utilisation + goals.delay == pytest.approx(1.0)
    assert found.goals == pytest.approx(goals.utilisation * 0.5 / 0.75 + goals.fairness)  # too far to count for delay
    half = outcome(Deed(work, np.zeros(3, np.int64), np.array([0, 2, 0]), np.array([0.5, 0.5, 0.5])), snapshot)
    assert half.violation == 0.5
    moved = outcome(Deed(work, np.array([2, 2, 0]), np.array([0, 4, 0]), np.array([0.5, 0.5, 0.5])), snapshot)
    assert moved.paid == pytest.approx(0.5 * (1 + 300 / 1800 * 0.5))


def test_busier_workloads_care_more_for_nearness() -> None:
    quiet, busy = (
        Workload("shop/web", "Deployment", 1, requests={"cpu": 1000, "memory": GIB}, demand_per_s=rate)
        for rate in (0.1, 100.0)
    )
    assert goals_of(quiet).delay < 0.1 < 0.9 < goals_of(busy).delay


def test_tuning_begins_with_what_it_is_given_and_never_ends_below_it() -> None:
    episodes = [draw(10_005)]
    made = list(trials(episodes, EVEN, 12, np.random.default_rng(0)))
    assert made[0].rule == EVEN
    assert made[0].score == pytest.approx(score(episodes, EVEN))
    assert max(one.score for one in made) > made[0].score
    assert [one.rule for one in made] == [one.rule for one in trials(episodes, EVEN, 12, np.random.default_rng(0))]
