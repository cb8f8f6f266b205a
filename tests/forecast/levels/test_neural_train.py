"""The sequence model learns what can be learned, repeatably; its shipped form gives the same numbers without torch."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prewarm.forecast.levels.history_view import SparseHistory
from prewarm.forecast.levels.neural_data import DAY, Exemplars, draw_days, draw_queries
from prewarm.forecast.levels.neural_numpy import NeuralLevels
from prewarm.forecast.levels.neural_tokens import count_tokens, describe

torch = pytest.importorskip("torch", reason="the learn extra is not installed")

from prewarm.forecast.levels.neural import LevelNet, log_loss, price_loss  # noqa: E402
from prewarm.forecast.levels.neural_train import Progress, TrainPlan, read_queries, train, weights, write  # noqa: E402

SEVEN = np.zeros((1, DAY))
SEVEN[0, ::7] = 1.0
PLAN = TrainPlan(passes=2, days=40, minute_share=0.3, batch=128, step_size=6e-3, average=0.98)


@pytest.fixture(scope="module")
def trained() -> LevelNet:
    """Seconds of training on days with a timer of period 7 (turned, united, bent, and other timers)."""
    torch.set_num_threads(1)
    return train(Exemplars(SEVEN, np.ones(1)), PLAN)


def probability_at(model: NeuralLevels, hits: list[int], now: int) -> float:
    """P(N >= 1) of one function known from minute 0."""
    minute = np.array(hits, dtype=np.int32)
    history = SparseHistory(
        hit_minute=minute,
        hit_need=np.ones(minute.size, dtype=np.int16),
        indptr=np.array([0, minute.size], dtype=np.int64),
        since=np.zeros(1, dtype=np.int32),
        now_minute=now,
    )
    return float(model.p_at_least(history).p[0])


def test_a_timer_of_seven_minutes_is_expected_on_its_minute_and_on_no_other(trained: LevelNet) -> None:
    model = NeuralLevels(weights(trained))
    hits = list(range(3, 1000, 7))
    p = {now % 7: probability_at(model, hits, now) for now in range(801, 808)}
    assert p.pop(3) > 0.9
    assert max(p.values()) < 0.02


def test_the_same_seed_gives_the_same_weights_and_another_seed_does_not() -> None:
    plan = TrainPlan(passes=1, days=4, minute_share=0.1, batch=64)
    first, again = (weights(train(Exemplars(SEVEN, np.ones(1)), plan)) for _ in range(2))
    other = weights(train(Exemplars(SEVEN, np.ones(1)), replace(plan, seed=1)))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["out.weight"], other["out.weight"])


def test_progress_is_told_after_every_pass() -> None:
    told: list[Progress] = []
    train(Exemplars(SEVEN, np.ones(1)), TrainPlan(passes=2, days=3, minute_share=0.1, batch=64), told.append)
    assert [(x.done, x.passes) for x in told] == [(1, 2), (2, 2)]
    assert all(0 < x.price < 1 < 10 and x.log_loss > 0 for x in told)


def test_numpy_gives_the_numbers_of_torch(trained: LevelNet) -> None:
    rng = np.random.default_rng(5)
    source = draw_queries(draw_days(Exemplars(SEVEN, np.ones(1)), 12, rng), 0.05, rng)
    tokens, count, scalars = read_queries(source, slice(0, 600))
    assert int(count.min()) == 0, "queries without any past hit are among them"
    with torch.no_grad():
        expected = trained(tokens, count, scalars).numpy()
    got = NeuralLevels(weights(trained)).logits(tokens.numpy(), count.numpy(), scalars.numpy())
    np.testing.assert_allclose(1 / (1 + np.exp(-got)), 1 / (1 + np.exp(-expected)), atol=1e-5)


def test_weights_written_are_weights_read_with_a_card_of_their_making(trained: LevelNet, tmp_path: Path) -> None:
    path = tmp_path / "neural.npz"
    write(trained, PLAN, path, {"data": "a timer"})
    card = json.loads((tmp_path / "neural.json").read_text())
    assert card["plan"]["passes"] == PLAN.passes
    assert card["data"] == "a timer"
    assert card["parameters"] == sum(a.size for a in weights(trained).values())
    hits = list(range(0, 200, 7))
    assert probability_at(NeuralLevels.load(path), hits, 203) == probability_at(
        NeuralLevels(weights(trained)), hits, 203
    )
    assert path.stat().st_size < 1_000_000


@pytest.mark.parametrize(("loss", "name"), [(log_loss, "log loss"), (price_loss, "price")])
def test_each_loss_is_least_at_the_true_probability(loss: object, name: str) -> None:
    share = torch.tensor([0.11, 0.89])
    hit = torch.tensor([1.0, 0.0])
    logits = torch.linspace(-5, 2, 141)
    costs = [float(loss(torch.full((2,), float(z)), hit, share)) for z in logits]  # type: ignore[operator]
    best = 1 / (1 + np.exp(-float(logits[int(np.argmin(costs))])))
    assert best == pytest.approx(0.11, abs=0.01), name


def test_price_of_a_sure_miss_is_a_cold_start() -> None:
    one = torch.ones(1)
    assert float(price_loss(torch.full((1,), -20.0), one, one)) == pytest.approx(0.808, abs=1e-6)
    assert float(price_loss(torch.full((1,), 20.0), one, one)) == pytest.approx(0.0, abs=1e-6)


def test_tokens_of_training_are_those_of_the_kernel() -> None:
    source = draw_queries(SEVEN, 0.2, np.random.default_rng(0))
    tokens, count, scalars = read_queries(source, slice(10, 20))
    expected = count_tokens(source.minute, source.size, source.indptr, source.queries[10:20])
    direct = describe(source.minute, source.size, source.indptr, source.since, source.queries[10:20], expected)
    np.testing.assert_array_equal(count.numpy(), expected)
    np.testing.assert_array_equal(tokens.numpy(), direct[0])
    np.testing.assert_array_equal(scalars.numpy(), direct[1])
