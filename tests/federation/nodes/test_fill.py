"""Future fill by hand, and numpy against the compiled kernels and against plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from federation.nodes.fill import FutureFill, fill
from federation.nodes.kernels import count_fitting, fill_value, has_room, mark, tightest, use
from federation.nodes.mix import Mix, any_model
from federation.nodes.offers import (
    CUTS,
    NO_KEEPING,
    Keeping,
    Offers,
    counted,
    draw_offers,
    expected_offers,
    keeping,
    offers_of,
)
from federation.nodes.rows import Rows
from prewarm.domain import FloatArray, InputError, IntArray

SHAPES = np.array([[1_000, 10, 1, 400], [2_000, 10, 1, 1_000], [500, 10, 0, 0], [4_000, 10, 2, 1_000]])


def mix_of(shapes: IntArray, probability: list[float] | None = None) -> Mix:
    share = np.array(probability) if probability else np.full(len(shapes), 1 / len(shapes))
    return Mix(shapes, share, any_model(shapes))


def one_sequence(mix: Mix, order: list[int]) -> Offers:
    """The same sequence whatever the cut."""
    spans = np.tile(np.array([[0, len(order)]]), (len(CUTS), 1, 1))
    return Offers(mix.table[order], spans)


def rows(cpu: int, gpu: list[int], memory: int = 1_000) -> Rows:
    return Rows(np.array([cpu]), np.array([memory]), np.array([0]), np.array([gpu]))


def compiled(state: Rows, offers: Offers) -> float:
    gpu = np.zeros(8, dtype=np.int64)
    gpu[: state.gpu.shape[1]] = state.gpu[0]
    node = np.array([state.cpu[0], state.memory[0], 0, state.gpu.shape[1]])
    return fill_value(node, gpu, offers.table, offers.spans, 1)


def plain(state: Rows, mix: Mix, order: list[int]) -> int:
    """The definition, word for word."""
    cpu, memory, gpu, taken = int(state.cpu[0]), int(state.memory[0]), state.gpu[0].tolist(), 0
    for at in order:
        need_cpu, need_memory, count, milli = mix.shapes[at].tolist()
        able = sorted((free, device) for device, free in enumerate(gpu) if count and free >= milli)
        if cpu < need_cpu or memory < need_memory or len(able) < count:
            continue
        for free, device in able[:count]:
            gpu[device] = free - milli
        cpu, memory, taken = cpu - need_cpu, memory - need_memory, taken + count * milli
    return taken


def test_shares_pack_onto_the_fullest_gpu_and_leave_the_whole_one() -> None:
    mix = mix_of(SHAPES)
    # 400 joins the GPU that has 400 left, so the whole one is still there for the second offer
    assert fill(rows(9_000, [1_000, 400]), one_sequence(mix, [0, 1])).tolist() == [1_400.0]


def test_cpu_that_others_took_strands_the_gpu() -> None:
    mix = mix_of(SHAPES)
    assert fill(rows(2_000, [1_000]), one_sequence(mix, [2, 1])).tolist() == [0.0]
    assert fill(rows(2_000, [1_000]), one_sequence(mix, [1, 2])).tolist() == [1_000.0]


def test_two_whole_gpus_must_be_free_together() -> None:
    mix = mix_of(SHAPES)
    assert fill(rows(9_000, [1_000, 999]), one_sequence(mix, [3])).tolist() == [0.0]
    assert fill(rows(9_000, [1_000, 1_000]), one_sequence(mix, [3])).tolist() == [2_000.0]


def test_where_nobody_asks_for_gpus_cpu_is_what_fills() -> None:
    mix = mix_of(np.array([[500, 10, 0, 0], [2_000, 10, 0, 0]]))
    assert fill(rows(2_500, []), one_sequence(mix, [1, 0, 0])).tolist() == [2_500.0]


def test_no_nodes_have_no_value() -> None:
    empty = Rows(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int), np.zeros((0, 2), int))
    assert fill(empty, one_sequence(mix_of(SHAPES), [0])).shape == (0,)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 12_000),
    st.integers(0, 80),
    st.lists(st.sampled_from([0, 100, 400, 600, 1_000]), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), max_size=12),
)
def test_numpy_kernels_and_the_definition_agree(cpu: int, memory: int, gpu: list[int], order: list[int]) -> None:
    mix, state = mix_of(SHAPES), rows(cpu, gpu, memory)
    offers = one_sequence(mix, order)
    expected = plain(state, mix, order)
    assert fill(state, offers).tolist() == [expected]
    assert compiled(state, offers) == expected


def test_cuts_change_no_value() -> None:
    mix = mix_of(SHAPES)
    offers = draw_offers(mix, np.full((4, 2), 1.5), seed=1)
    for gpu in ([400], [999, 400], [1_000, 0], [60]):
        state = rows(6_000, gpu)
        assert fill(state, offers)[0] == pytest.approx(compiled(state, offers))


def test_offers_follow_the_room_that_others_have() -> None:
    mix = mix_of(SHAPES[:2], [0.25, 0.75])
    rates = expected_offers(mix, np.array([100.0]), np.array([50.0, 25.0]), 75)
    assert rates.tolist() == [[0.5], [3.0]]


def test_scarce_room_is_never_taken_for_less_than_a_seventy_fifth_and_offers_are_capped() -> None:
    mix = mix_of(SHAPES[:2], [0.5, 0.5])
    rates = expected_offers(mix, np.array([10.0, 10.0]), np.array([0.0, 1.0]), 150)
    assert rates.tolist() == [[2.5, 2.5], [2.5, 2.5]]
    many = expected_offers(mix, np.array([1_000.0, 1_000.0]), np.array([10.0, 100.0]), 150)
    assert many.tolist() == [[16.0, 0.0], [5.0, 5.0]]


def test_foreseen_decline_brings_more_offers_later() -> None:
    mix = mix_of(SHAPES[:1])
    rates = expected_offers(mix, np.array([10.0, 10.0]), np.array([40.0]), 40, np.array([[1.0, 0.5]]))
    assert rates.tolist() == [[0.25, 0.5]]


def test_sequences_keep_the_order_of_stretches_and_the_expected_number() -> None:
    mix = mix_of(SHAPES[:2])
    rates = np.array([[3.0, 0.0], [0.0, 2.0]])
    offers = draw_offers(mix, rates, seed=3, sequences=400)
    last = offers.spans[-1]
    lengths = last[:, 1] - last[:, 0]
    assert lengths.mean() == pytest.approx(5.0, abs=0.3)
    for start, end in last[:50].tolist():
        sizes = offers.table[start:end, 3].tolist()
        assert sizes == sorted(sizes)  # the shares come in the first stretch, the whole GPUs in the second


def test_the_same_seed_draws_the_same_offers() -> None:
    mix = mix_of(SHAPES)
    one, two = (draw_offers(mix, np.full((4, 1), 2.0), seed=9) for _ in range(2))
    assert np.array_equal(one.table, two.table)
    assert np.array_equal(one.spans, two.spans)


def test_the_price_of_an_open_gpu_is_the_hole_that_the_next_pod_is_expected_to_leave() -> None:
    table = np.array([[1, 1, 1, 810], [2, 1, 1, 810], [1, 1, 1, 600], [1, 1, 1, 400], [1, 1, 2, 1_000], [1, 1, 0, 0]])
    priced = keeping(mix_of(table, [0.1, 0.2, 0.1, 0.2, 0.2, 0.2]))
    assert priced.share == 810
    assert priced.price == pytest.approx(0.3 * 190 / 0.8)
    assert keeping(mix_of(table, [0.02, 0.02, 0.36, 0.2, 0.2, 0.2])).share == 600
    assert keeping(mix_of(table[3:], [0.4, 0.4, 0.2])) == NO_KEEPING
    assert keeping(mix_of(table[4:], [0.0, 1.0])) == NO_KEEPING


def test_shares_count_less_than_they_take_and_the_most_wasteful_least() -> None:
    table = np.array([[1, 1, 1, 810], [1, 1, 1, 600], [1, 1, 1, 47], [1, 1, 2, 1_000], [700, 1, 0, 0]])
    mix = mix_of(table, [0.6, 0.1, 0.1, 0.1, 0.1])
    worth = counted(mix.table, keeping(mix))
    assert worth[:, 5].tolist() == [608, 540, 42, 2_000, 0]
    assert np.array_equal(worth[:, :5], mix.table[:, :5])
    assert counted(mix.table, NO_KEEPING)[0, 5] == 729
    cores = mix_of(table[4:])
    assert counted(cores.table, keeping(cores))[:, 5].tolist() == [700]


def test_what_is_offered_counts_that_and_numpy_and_the_kernels_agree_on_it() -> None:
    mix = mix_of(np.array([[1_000, 10, 1, 810], [1_000, 10, 1, 400], [2_000, 10, 1, 1_000], [500, 10, 0, 0]]))
    offers = offers_of(mix, np.full(3, 40.0), (np.array([9.0, 12.0, 6.0, 20.0]), 30.0), seed=4)
    by_size = {(count, milli): worth for count, milli, worth in offers.table[:, [2, 3, 5]].tolist()}
    assert by_size == {(1, 810): 608, (1, 400): 360, (1, 1_000): 1_000, (0, 0): 0}
    for gpu in ([810], [400, 820], [1_000, 810, 400]):
        state = rows(6_000, gpu)
        assert fill(state, offers)[0] == pytest.approx(compiled(state, offers))
    assert 300.0 < fill(rows(6_000, [400]), offers)[0] <= 360.0
    assert fill(rows(6_000, [810, 1_000]), offers)[0] < 1_720.0


def test_each_open_gpu_is_priced() -> None:
    mix = mix_of(SHAPES)
    offers = Offers(mix.table[:0], np.zeros((len(CUTS), 1, 2), dtype=np.int64), Keeping(500, 30.0))
    assert FutureFill(mix, offers).value(rows(9_000, [1_000, 500, 499, 0])).tolist() == [-60.0]


def test_a_mix_says_what_is_wrong_with_it() -> None:
    with pytest.raises(InputError, match="sum to 1"):
        Mix(SHAPES, np.full(4, 0.5), any_model(SHAPES))
    with pytest.raises(InputError, match=r"shapes must be \(s, 4\)"):
        Mix(SHAPES[:, :3], np.full(4, 0.25), any_model(SHAPES))
    with pytest.raises(InputError, match="allowed must be"):
        Mix(SHAPES, np.full(4, 0.25), any_model(SHAPES, 2))


def test_kernels_know_room_the_fullest_gpu_and_what_is_used() -> None:
    gpu = np.array([1_000, 300, 700, 0, 0, 0, 0, 0])
    node = np.array([5_000, 100, 0, 3])
    share, pair = np.array([10, 10, 1, 300, 1, 300]), np.array([10, 10, 2, 1_000, 1, 2_000])
    assert has_room(node, gpu, share)
    assert not has_room(node, gpu, pair)
    assert not has_room(node, gpu, np.array([10, 10, 1, 300, 2, 300]))  # another model
    assert (tightest(gpu, 300), tightest(gpu, 301), tightest(gpu, 1_001)) == (1, 2, -1)
    use(gpu, share, 2)
    assert gpu.tolist()[:3] == [1_000, 300, 400]
    assert count_fitting(node[None], gpu[None], np.stack([share, pair])).tolist() == [1, 0]


def test_states_that_differ_only_in_the_order_of_gpus_share_a_mark() -> None:
    node = np.array([5_000, 100, 0, 3])
    one = mark(node, np.array([1_000, 300, 0, 0, 0, 0, 0, 0]))
    two = mark(node, np.array([0, 1_000, 300, 0, 0, 0, 0, 0]))
    other = mark(node, np.array([0, 1_000, 301, 0, 0, 0, 0, 0]))
    assert one == two != other


def spread(values: FloatArray) -> float:
    return float(values.max() - values.min())


def test_more_sequences_agree_better() -> None:
    mix = mix_of(SHAPES)
    state, rates = rows(8_000, [1_000, 400]), np.full((4, 1), 1.0)
    few = np.array([fill(state, draw_offers(mix, rates, seed, 8))[0] for seed in range(12)])
    many = np.array([fill(state, draw_offers(mix, rates, seed, 256))[0] for seed in range(12)])
    assert spread(many) < spread(few)
