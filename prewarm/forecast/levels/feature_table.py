"""The one table of what the boosted trees see: names in order, by group, and the constants behind them.

A group is what an ablation switches off and what a card lists. The kernels fill one slice of a row per group, in the
order of `GROUPS`; a name's place here is its column in the model file.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from prewarm.domain import InputError, IntArray

WINDOW = 1440  # minutes of history that are looked at
MARGIN = 80  # scratch beyond the window, so that neighbours of the last lag can be read

COUNT_WINDOWS = np.array([2, 5, 10, 15, 30, 60, 120, 240, 480])
DECAYS = np.array([3.0, 10.0, 30.0, 100.0, 300.0])
LAGS = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 24, 25, 30, 45, 60, 90, 120, 180, 240, 360, 480, 720])
STEPS = np.array([2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 60, 120, 240])
SUFFIXES = np.array([4, 8, 16, 32, 64])
LONGEST_PERIOD = 480  # minutes; the scan over periods ends here

_RECENCY = (
    "known_minutes hits rate age run last_run idle_before_run gap_1 gap_2 gap_3 gap_4 gap_5 age_over_gap age_over_mean "
    "first_age runs"
)
_GAPS = (
    "gap_mean gap_sd gap_cv gap_q10 gap_q50 gap_q90 mode_gap mode_share age_less_q50 age_over_q50 median_8 spread_8 "
    "age_less_median_8 two_gaps_due three_gaps_due mean_4 grid_due"
)
_HAZARD = (
    "equal beyond hazard hazard_near hazard_2_ahead hazard_log hazard_fast beyond_fast hazard_slow beyond_slow "
    "share_shorter share_longer"
)
_ORDERS = (
    "order1_hits order1_trials order1 order1_exact_trials order1_exact order2_trials order2 order3_trials order3 "
    "run_trials run_hazard"
)
_SCAN = (
    "evidence_best evidence_period evidence_trials evidence_share share_best share_period share_trials share_second "
    "near_best near_period near_trials streak streak_hits streak_period chain chain_hits chain_period"
)
_SUFFIX_TAIL = "longest_length longest longest_3_length longest_3 longest_8_length longest_8 longest_20 suffix_blend"
_ANALOGS = "same_16 same_32 same_64 same_64_weight near_32 near_32_weight near_64 near_64_weight"
_MARKS = (
    "mark_over_median mark_over_low mark_before mark_fast_low mark_mid_low mark_slow_low mark_fast mark_mid mark_cv "
    "mark_low_share mark_high_low mark_median_low mark_rank mark_same_share mark_hits mark_trials mark_hazard "
    "mark_near_trials mark_near_hazard mark_gap_trials mark_gap_hazard mark_chain mark_chain_hits mark_chain_period "
    "mark_hour_ago mark_chain_value level_trials level_hazard mark_sum_5 mark_sum_15"
)
_UPPER = (
    "above_first use_1 use_2 use_3 use_max_5 use_max_15 use_max_60 use_mean_3 use_mean_5 use_mean_10 use_mean_30 "
    "use_mean_60 use_sd_10 use_sd_30 use_slope base_age base_run base_share_30 use_like_trials use_like "
    "use_like2_trials use_like2 use_last use_mean_called use_highest"
)

GROUPS: MappingProxyType[str, tuple[str, ...]] = MappingProxyType(
    {
        "recency": tuple(_RECENCY.split()),
        "windows": (
            *(f"hits_{minutes}" for minutes in COUNT_WINDOWS),
            *(f"rate_{decay:.0f}" for decay in DECAYS),
        ),
        "gaps": tuple(_GAPS.split()),
        "hazard": tuple(_HAZARD.split()),
        "orders": tuple(_ORDERS.split()),
        "lags": tuple(f"lag_{lag}" for lag in LAGS),
        "steps": (
            *(f"step_{step}" for step in STEPS),
            *(f"step_near_{step}" for step in STEPS),
        ),
        "scan": tuple(_SCAN.split()),
        "suffix": (
            *(f"suffix_{length}" for length in SUFFIXES),
            *(f"suffix_{length}_trials" for length in SUFFIXES),
            *_SUFFIX_TAIL.split(),
        ),
        "analogs": tuple(_ANALOGS.split()),
        "marks": tuple(_MARKS.split()),
        "upper": tuple(_UPPER.split()),
    }
)

NAMES: tuple[str, ...] = tuple(name for names in GROUPS.values() for name in names)
COLUMN: MappingProxyType[str, int] = MappingProxyType({name: column for column, name in enumerate(NAMES)})
# First column of each group, in the order of GROUPS, and the end of the last.
STARTS: IntArray = np.cumsum([0, *(len(names) for names in GROUPS.values())])


def columns_of(groups: frozenset[str]) -> IntArray:
    """Columns of the named groups, ascending; InputError for a group that does not exist."""
    unknown = groups - GROUPS.keys()
    if unknown:
        raise InputError(f"feature group {min(unknown)!r}: unknown; known are {', '.join(GROUPS)}")
    return np.array([COLUMN[name] for group, names in GROUPS.items() if group in groups for name in names], np.int64)
