"""Each marginal of a drawn world against what the world was defined by."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from gnn.mix.world.draw import EVALUATION_SEEDS, World, draw_world
from gnn.mix.world.fleet import DELAYS_MS, NODES, PRICES, draw_fleet
from gnn.mix.world.functions import TREE_EXPONENT, TREE_SIZES, Functions, draw_durations, draw_functions, need_of
from gnn.mix.world.hits import START_MEAN_S, START_SD_S, draw_hits, draw_starts, mix_at, start_law, wave
from gnn.mix.world.shocks import LOST_MINUTES, draw_conditions
from gnn.mix.world.source import Side, Source, kept_apart, read_source
from prewarm.domain import FloatArray, InputError
from prewarm.traces.marginals import SAMPLING, ks_distance
from tests.gnn.mix.builders import small_source


@pytest.fixture(scope="module")
def source(traces_dir: Path) -> Source:
    return read_source(traces_dir)


@pytest.fixture(scope="module")
def drawn(source: Source) -> Functions:
    return draw_functions(source, Side.EVALUATION, 20_000, np.array(NODES) / sum(NODES), np.random.default_rng(5))


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def far(values: FloatArray, reference: FloatArray, weights: FloatArray | None = None) -> float:
    """Distance of two distributions, over the 1 % bound of the sample's own error."""
    ones = np.ones(len(values))
    like = np.ones(len(reference)) if weights is None else weights
    return ks_distance((values, ones), (reference, like)) / (SAMPLING / math.sqrt(len(values)))


def test_exemplars_are_drawn_with_their_multiplicity(source: Source, drawn: Functions) -> None:
    rows = source.rows(Side.EVALUATION)
    weights = source.weight[rows].astype(np.float64)
    assert far(drawn.series.astype(np.float64), rows.astype(np.float64), weights) < 1.0


def test_both_columns_of_the_multiplicity_are_summed_and_an_unlisted_series_counts_once(source: Source) -> None:
    assert source.weight[source.labels.index("1")] == 177 + 155
    assert source.weight[source.labels.index("0")] == 1
    assert (source.weight >= 1).all()


def test_memory_is_drawn_from_the_marginal_as_it_is(source: Source, drawn: Functions) -> None:
    assert far(drawn.memory_gb * 1000.0, source.memory_mb) < 1.0


def test_durations_come_from_rows_of_similar_count_and_are_at_least_a_millisecond(source: Source) -> None:
    totals = np.full(20_000, 1440.0)
    durations = draw_durations(source, totals, rng())
    near = np.abs(np.searchsorted(source.duration_calls, 1440.0) - np.arange(len(source.duration_ms)))
    assert set(durations) <= set(source.duration_ms[near <= 25])
    assert draw_durations(source, np.array([1.0, 1e9]), rng()).shape == (2,)
    assert source.duration_ms.min() == 1.0


def test_no_series_is_on_both_sides_and_each_band_is_halved(source: Source) -> None:
    training, evaluation = source.rows(Side.TRAINING), source.rows(Side.EVALUATION)
    assert len(np.intersect1d(training, evaluation)) == 0
    assert abs(len(training) - len(evaluation)) < 12
    busy = source.counts.sum(axis=1) > 10_000
    assert abs(int(busy[training].sum()) - int(busy[evaluation].sum())) <= 2


def test_the_division_goes_by_a_seeded_hash_of_the_id_alone() -> None:
    totals = np.array([1.0, 2.0, 2.0, 1.0])
    labels = ("a", "b", "c", "d")
    apart = dict(zip(labels, kept_apart(labels, totals), strict=True))
    order = ("c", "a", "d", "b")
    again = dict(zip(order, kept_apart(order, np.array([2.0, 1.0, 1.0, 2.0])), strict=True))
    assert apart == again
    assert sum(apart.values()) == 2
    assert any((kept_apart(labels, totals, seed) != list(apart.values())).any() for seed in range(5))


def test_a_third_less_a_tenth_of_the_functions_stand_in_trees_of_falling_size(drawn: Functions) -> None:
    size = drawn.size
    root = np.arange(size)
    for row in range(size):
        if drawn.caller[row] >= 0:
            assert drawn.caller[row] < row
            root[row] = root[drawn.caller[row]]
    sizes = np.bincount(root, minlength=size)
    trees = sizes[sizes > 1]
    assert trees.sum() / size == pytest.approx(0.30, abs=0.001)
    assert trees.min() >= 2
    assert trees.max() <= 8
    chance = np.array(TREE_SIZES, np.float64) ** TREE_EXPONENT
    expected = chance / chance.sum()
    found = np.array([(trees == wanted).mean() for wanted in TREE_SIZES])
    assert np.abs(found - expected).max() < 0.03


def test_a_callee_is_called_less_than_the_first_of_its_tree_and_carries_a_payload(
    source: Source, drawn: Functions
) -> None:
    totals = source.counts.sum(axis=1)[drawn.series]
    callee = np.flatnonzero(drawn.caller >= 0)
    assert (totals[callee] <= totals[drawn.caller[callee]]).all()
    assert drawn.payload_kib[callee].min() >= 1.0
    assert drawn.payload_kib[callee].max() <= 200.0
    assert drawn.payload_kib[callee].mean() == pytest.approx(100.5, rel=0.02)
    assert (drawn.payload_kib[drawn.caller < 0] == 0).all()


def test_callers_spread_on_average_as_the_fleet_and_mostly_from_one_region(drawn: Functions) -> None:
    share = np.array(NODES) / sum(NODES)
    assert drawn.mix.mean(axis=0) == pytest.approx(share, abs=0.01)
    variance = share * (1 - share) / (1.5 + 1)
    assert drawn.mix.var(axis=0) == pytest.approx(variance, rel=0.10)
    assert drawn.mix.sum(axis=1) == pytest.approx(1.0)


def test_the_wave_swings_by_four_fifths_and_peaks_at_each_regions_minute() -> None:
    peaks = np.array([0.0, 120.0, 480.0])
    height = wave(peaks, np.array([0.0, 120.0, 480.0, 720.0, 1200.0]))
    assert height[0, 0] == pytest.approx(1.8)
    assert height[1, 1] == pytest.approx(1.8)
    assert height[3, 0] == pytest.approx(0.2)
    assert height[4, 2] == pytest.approx(0.2)


def test_each_call_comes_from_one_region_by_the_mix_of_the_minute() -> None:
    source = small_source()
    functions = draw_functions(source, Side.TRAINING, 5, np.array([0.5, 0.3, 0.2]), rng())
    counts = np.full((5, 3), 20_000.0, np.float32)
    peaks = np.array([0.0, 100.0, 500.0])
    hits = draw_hits(counts, functions, peaks, rng())
    assert (hits.origin.sum(axis=1) == hits.calls).all()
    minute = np.repeat(np.arange(3.0), np.diff(hits.first))
    expected = mix_at(functions, peaks, hits.row, minute)
    assert hits.origin / hits.calls[:, None] == pytest.approx(expected, abs=0.015)


def test_start_ups_have_the_published_mean_and_deviation_and_end_within_the_minute() -> None:
    mean, deviation = start_law()
    assert math.exp(mean + deviation**2 / 2) == pytest.approx(START_MEAN_S)
    assert START_MEAN_S * math.sqrt(math.exp(deviation**2) - 1) == pytest.approx(START_SD_S)
    drawn = draw_starts(200_000, rng())
    assert drawn.max() == 60.0
    assert np.median(drawn) == pytest.approx(math.exp(mean), rel=0.02)
    assert 2.9 < drawn.mean() < START_MEAN_S


def test_the_need_is_the_mean_concurrency_rounded_up_between_one_and_sixty_four() -> None:
    calls = np.array([0.0, 1.0, 60.0, 61.0, 1e6])
    assert need_of(calls, np.array(1000.0)).tolist() == [0, 1, 1, 2, 64]


def test_the_fleet_is_the_one_that_was_fixed() -> None:
    fleet = draw_fleet(np.array([1000.0, 2000.0]), 5, rng())
    assert np.bincount(fleet.cluster_of).tolist() == [27, 19, 15, 9, 6]
    assert fleet.price.tolist() == list(PRICES)
    assert fleet.delay_s == pytest.approx(np.array(DELAYS_MS) / 1000.0)
    assert (fleet.delay_s == fleet.delay_s.T).all()
    assert set(fleet.node_gb) == {1000 * 1024**2 / 1e9, 2000 * 1024**2 / 1e9}


@pytest.mark.parametrize("clusters", [2, 8, 32, 160])
def test_fleets_of_other_sizes_repeat_the_pattern_at_random_places(clusters: int) -> None:
    fleet = draw_fleet(np.array([1000.0]), clusters, rng())
    assert fleet.clusters == clusters
    assert np.bincount(fleet.cluster_of)[:2].tolist() == [27, 19]
    assert (np.diag(fleet.delay_s) == 0.001).all()
    assert fleet.delay_s == pytest.approx(fleet.delay_s.T)
    assert 0.001 <= fleet.delay_s.min() <= fleet.delay_s.max() <= 0.110


def test_thirty_two_times_the_fleet_has_the_nodes_of_the_benchmark() -> None:
    fleet = draw_fleet(np.array([1000.0]), 160, rng())
    assert len(fleet.node_gb) == 32 * sum(NODES)


def test_a_cluster_loses_three_tenths_of_its_nodes_for_two_hours_and_two_prices_swap() -> None:
    fleet = draw_fleet(np.array([1000.0]), 5, rng())
    conditions = draw_conditions(fleet, 1440, 10, rng())
    lost = fleet.room_gb - conditions.room_gb
    hit = np.flatnonzero(lost.max(axis=0))
    assert len(hit) == 1
    gone = np.flatnonzero(lost[:, hit[0]])
    assert gone.tolist() == list(range(conditions.lost_at, conditions.lost_at + LOST_MINUTES))
    nodes = round(0.30 * NODES[hit[0]])
    assert lost[gone[0], hit[0]] == pytest.approx(nodes * 1000 * 1024**2 / 1e9)
    swapped = np.flatnonzero((conditions.price != fleet.price).any(axis=1))
    assert swapped[0] == conditions.swapped_at >= 10
    assert swapped[-1] == 1439
    assert sorted(conditions.price[-1]) == sorted(PRICES)
    assert (conditions.price[-1] != fleet.price).sum() == 2


def test_the_need_reaches_seven_tenths_of_the_fleet_at_its_stated_quantile(source: Source) -> None:
    world = draw_world(source, Side.EVALUATION, 0)
    memory = np.zeros(world.minutes)
    minute = np.repeat(np.arange(world.minutes), np.diff(world.hits.first))
    np.add.at(memory, minute, world.functions.memory_gb[world.hits.row] * world.hits.need)
    assert np.quantile(memory[10:], 0.995) == pytest.approx(0.70 * world.fleet.room_gb.sum())
    assert world.functions.size == 2000
    assert world.warm_up == 10


def _same(one: World, other: World) -> bool:
    parts = ((one.calls, other.calls), (one.hits.origin, other.hits.origin), (one.fleet.node_gb, other.fleet.node_gb))
    return all(np.array_equal(mine, yours) for mine, yours in parts)


def test_a_seed_gives_one_world_and_the_sides_share_no_draw() -> None:
    source = small_source()
    world = draw_world(source, Side.TRAINING, 4, functions=30)
    assert _same(world, draw_world(source, Side.TRAINING, 4, functions=30))
    assert not _same(world, draw_world(source, Side.TRAINING, 5, functions=30))
    evaluated = draw_world(source, Side.EVALUATION, 4, functions=30)
    assert set(world.functions.series) & set(evaluated.functions.series) == set()
    assert len(EVALUATION_SEEDS) == 10


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"day_series_exemplars.*is missing"):
        read_source(tmp_path)
