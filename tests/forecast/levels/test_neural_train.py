"""The sequence model learns what can be learned, repeatably; its shipped form gives the same numbers without torch."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.forecast.levels.history_view import SparseHistory
from prewarm.forecast.levels.neural_data import DAY, Exemplars, draw_days, draw_queries, make_timers
from prewarm.forecast.levels.neural_numpy import NeuralLevels
from prewarm.forecast.levels.neural_source import read_days
from prewarm.forecast.levels.neural_tokens import count_tokens, describe

torch = pytest.importorskip("torch", reason="the learn extra is not installed")

from prewarm.forecast.levels.neural import LevelNet, log_loss, price_loss  # noqa: E402
from prewarm.forecast.levels.neural_train import (  # noqa: E402
    MODEL,
    Progress,
    TrainPlan,
    read_queries,
    train,
    train_neural,
    weights,
    write,
)

SEVEN = np.zeros((1, DAY))
SEVEN[0, ::7] = 1.0
PLAN = TrainPlan(passes=2, days=30, timers=100, minute_share=0.3, batch=128, step_size=6e-3, average=0.98)


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
    plan = TrainPlan(passes=1, days=4, timers=9, minute_share=0.1, batch=64)
    first, again = (weights(train(Exemplars(SEVEN, np.ones(1)), plan)) for _ in range(2))
    other = weights(train(Exemplars(SEVEN, np.ones(1)), replace(plan, seed=1)))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["out.weight"], other["out.weight"])


def test_progress_is_told_after_every_pass() -> None:
    told: list[Progress] = []
    train(Exemplars(SEVEN, np.ones(1)), TrainPlan(passes=2, days=3, timers=9, minute_share=0.1, batch=64), told.append)
    assert [(x.done, x.passes) for x in told] == [(1, 2), (2, 2)]
    assert all(0 < x.price < 1 < 10 and x.log_loss > 0 for x in told)


def test_numpy_gives_the_numbers_of_torch(trained: LevelNet) -> None:
    rng = np.random.default_rng(5)
    source = draw_queries(draw_days(Exemplars(SEVEN, np.ones(1)), make_timers(50, rng), 12, rng), 0.05, rng)
    tokens, count, scalars = read_queries(source, slice(0, 600))
    assert int(count.min()) == 0, "queries without any past hit are among them"
    with torch.no_grad():
        expected = trained(tokens, count, scalars).numpy()
    got = NeuralLevels(weights(trained)).logits(tokens.numpy(), count.numpy(), scalars.numpy())
    np.testing.assert_allclose(1 / (1 + np.exp(-got)), 1 / (1 + np.exp(-expected)), atol=1e-5)


def test_weights_written_are_weights_read_with_a_card_of_their_making(trained: LevelNet, tmp_path: Path) -> None:
    path = tmp_path / "neural.npz"
    card = write(trained, path, {"data": "a timer"})
    assert json.loads((tmp_path / "neural.json").read_text()) == card
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


def write_traces(folder: Path, *, days: int) -> Path:
    """Public files in small: exemplars with a timer of 13 minutes and others, their multiplicities, one app."""
    made = folder / "azure2019-invitro"
    apart = folder / "femux-azure2019"
    made.mkdir(parents=True)
    apart.mkdir()
    counts = (np.random.default_rng(3).random((days, DAY)) < 0.03).astype(int)
    counts[0] = np.arange(DAY) % 13 == 4
    minutes = ",".join(str(m) for m in range(1, DAY + 1))
    rows = [f"{i},{sum(row)},{','.join(map(str, row))}" for i, row in enumerate(counts)]
    text = "\n".join([f"series_id,daily_total,{minutes}", *rows]) + "\n"
    (made / "day_series_exemplars_1440.csv.gz").write_bytes(gzip.compress(text.encode()))
    table = ["series_id,count_in_sample_a,count_in_sample_b", *(f"{i},{2 * i},{4 * i}" for i in range(days))]
    (made / "day_sample1350_multiplicity.csv").write_text("\n".join(table) + "\n")
    busy = np.where(np.arange(DAY) % 13 == 4, 0.5, 0.0)
    (apart / "knative100_avg_concurrency.csv").write_text(
        f"app_id,{','.join(str(m) for m in range(DAY))}\na,{','.join(map(str, busy))}\n"
    )
    return folder


def test_the_shipped_training_reads_public_files_and_writes_model_and_card(tmp_path: Path) -> None:
    traces = write_traces(tmp_path / "traces", days=6)
    told: list[tuple[float, str]] = []
    plan = TrainPlan(passes=2, days=5, timers=20, minute_share=0.1, batch=64)
    card = train_neural(traces, 4, tmp_path / "out", plan=plan, progress=lambda share, what: told.append((share, what)))
    assert [share for share, _ in told] == [0.5, 1.0]
    assert card["command"] == "prewarm train sequence --seed 4"
    assert card["blend_weight"] == 0.35
    assert card["data"]["dropped_alike"] == 1  # type: ignore[index]
    assert json.loads((tmp_path / "out" / "neural.json").read_text()) == card
    again = train_neural(traces, 4, tmp_path / "again", plan=plan)
    assert again["scores_on_days_made_for_the_last_pass"] == card["scores_on_days_made_for_the_last_pass"]
    hits = list(range(0, 200, 7))
    first, second = (NeuralLevels.load(tmp_path / folder / MODEL) for folder in ("out", "again"))
    assert probability_at(first, hits, 203) == probability_at(second, hits, 203)


def test_weights_of_the_exemplars_are_how_common_each_is(tmp_path: Path) -> None:
    exemplars, read = read_days(write_traces(tmp_path, days=4))
    assert exemplars.weight.tolist() == [3.0, 6.0, 9.0], "mean of two samples; the first is like the app kept apart"
    assert exemplars.apart is not None
    assert exemplars.apart.sum() == 111
    assert (read["exemplars"], read["used"]) == (4, 3)


@pytest.mark.parametrize(
    "absent", ["azure2019-invitro/day_series_exemplars_1440.csv.gz", "femux-azure2019/knative100_avg_concurrency.csv"]
)
def test_training_names_the_file_that_is_not_there(absent: str, tmp_path: Path) -> None:
    (write_traces(tmp_path, days=2) / absent).unlink()
    with pytest.raises(InputError, match=Path(absent).name):
        read_days(tmp_path)


def test_training_without_multiplicities_is_refused(tmp_path: Path) -> None:
    (write_traces(tmp_path, days=2) / "azure2019-invitro/day_sample1350_multiplicity.csv").unlink()
    with pytest.raises(InputError, match="multiplicities"):
        read_days(tmp_path)
