"""The sequence model at work: which levels are asked, in what order, and what a foreign file is told."""

import numpy as np
import pytest

from prewarm.domain import Float32Array, InputError
from prewarm.forecast.levels.history_view import SparseHistory
from prewarm.forecast.levels.neural_numpy import NeuralLevels, list_levels
from prewarm.forecast.levels.neural_tokens import FEATURES, HEADS, SCALARS

WIDTH, SUMS, HIDDEN = 8, 3, 6


def make_arrays(seed: int = 0) -> dict[str, Float32Array]:
    """Random weights of a small network."""
    rng = np.random.default_rng(seed)
    mixed = 2 * HEADS + SUMS
    shapes = {
        "token1": (WIDTH, FEATURES), "token2": (WIDTH, WIDTH), "mix": (mixed, WIDTH),
        "body1": (HIDDEN, SCALARS + 2 * WIDTH + mixed), "body2": (HIDDEN // 2, HIDDEN), "out": (1, HIDDEN // 2),
    }  # fmt: skip
    arrays: dict[str, Float32Array] = {}
    for name, (rows, columns) in shapes.items():
        arrays[f"{name}.weight"] = rng.normal(0, 0.3, (rows, columns)).astype(np.float32)
        arrays[f"{name}.bias"] = rng.normal(0, 0.3, rows).astype(np.float32)
    return arrays


def make_history(rows: list[list[tuple[int, int]]], now: int) -> SparseHistory:
    """Rows of (minute, need), all known from minute 0."""
    flat = [hit for row in rows for hit in row]
    return SparseHistory(
        hit_minute=np.array([m for m, _ in flat], dtype=np.int32),
        hit_need=np.array([n for _, n in flat], dtype=np.int16),
        indptr=np.cumsum([0, *map(len, rows)]).astype(np.int64),
        since=np.zeros(len(rows), dtype=np.int32),
        now_minute=now,
    )


def test_each_row_is_asked_for_the_levels_its_last_day_reached_and_at_least_the_first() -> None:
    rows = [[(10, 3), (1900, 2)], [], [(1990, 1), (2000, 9)]]
    row, level = list_levels(make_history(rows, 2000))
    assert list(zip(row.tolist(), level.tolist(), strict=True)) == [(0, 1), (0, 2), (1, 1), (2, 1)]


def test_probabilities_never_rise_with_the_level() -> None:
    rng = np.random.default_rng(1)
    rows = [[(int(m), int(rng.integers(1, 6))) for m in sorted(rng.choice(900, 40, replace=False))] for _ in range(30)]
    got = NeuralLevels(make_arrays()).p_at_least(make_history(rows, 900))
    same_row = got.row[1:] == got.row[:-1]
    assert same_row.sum() > 60
    assert (np.diff(got.p)[same_row] <= 0).all()
    assert ((got.p > 0) & (got.p < 1)).all()


def test_a_row_says_the_same_alone_and_among_thousands() -> None:
    model = NeuralLevels(make_arrays())
    row = [(5, 1), (17, 2), (29, 1)]
    alone = model.p_at_least(make_history([row], 40)).p
    among = model.p_at_least(make_history([[]] * 5000 + [row], 40))
    np.testing.assert_allclose(among.p[among.row == 5000], alone, atol=1e-6)
    assert len(set(among.p[:5000].tolist())) == 1, "rows without any past are all alike"


def test_chosen_rows_are_read_as_in_the_whole_fleet() -> None:
    model, history = NeuralLevels(make_arrays()), make_history([[(5, 1)], [(9, 2)], [(11, 1), (31, 1)]], 40)
    whole = model.p_at_least(history)
    chosen = model.p_of(history, np.array([2]), np.array([1]))
    np.testing.assert_allclose(chosen, whole.p[whole.row == 2], atol=1e-6)


def test_no_rows_give_no_probabilities() -> None:
    assert NeuralLevels(make_arrays()).p_at_least(make_history([], 40)).p.size == 0


def test_marks_change_what_is_read() -> None:
    model = NeuralLevels(make_arrays())
    plain = make_history([[(5, 1), (17, 1), (29, 1)]], 40)
    marked = SparseHistory(
        hit_minute=plain.hit_minute, hit_need=plain.hit_need, indptr=plain.indptr, since=plain.since, now_minute=40,
        hit_mark=np.array([0.1, 0.9, 0.1], dtype=np.float32),
    )  # fmt: skip
    assert model.p_at_least(plain).p[0] != model.p_at_least(marked).p[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"mix.bias": None}, "no array mix.bias", id="array-missing"),
        pytest.param({"token1.weight": np.zeros((WIDTH, 5), np.float32)}, "another version", id="other-features"),
        pytest.param({"body1.weight": np.zeros((HIDDEN, 9), np.float32)}, "another version", id="other-scalars"),
    ],
)
def test_weights_of_another_model_are_refused(change: dict[str, Float32Array | None], message: str) -> None:
    arrays = {**make_arrays(), **change}
    with pytest.raises(InputError, match=message):
        NeuralLevels({name: value for name, value in arrays.items() if value is not None})
