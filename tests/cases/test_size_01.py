"""A queue that grew during a slow start must not be answered by an instance for each waiting call."""

from __future__ import annotations

import pytest

from prewarm.policy.replicas import ReplicaSpec, ReplicaState, size_replicas

RESIZE_IMAGE = ReplicaSpec(duration_s=0.08, concurrency=1, lead_s=12.0)
RATE = 2.0


def test_twenty_four_waiting_for_a_starting_instance_need_no_second_one() -> None:
    sizing = size_replicas(RATE, ReplicaState(ready=0, starting=1, waiting=24), RESIZE_IMAGE)
    assert sizing.count == 1
    by_factor = {reason.factor: reason for reason in sizing.reasons}
    assert by_factor["load"].value == pytest.approx(0.16)
    assert "0.16" in by_factor["load"].text
    assert by_factor["drain_s"].value == pytest.approx(24 / (12.5 - 2), abs=1e-9)
    assert "2.3 s" in by_factor["drain_s"].text
    assert "already starting" in by_factor["starting"].text


@pytest.mark.parametrize("now_s", range(13))
def test_the_count_does_not_grow_with_every_tick_of_the_start(now_s: int) -> None:
    waiting = 2 * now_s + 1
    assert size_replicas(RATE, ReplicaState(0, 1, waiting), RESIZE_IMAGE).count == 1
