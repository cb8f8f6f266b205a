"""kill -9 in the middle of writing: whatever was acknowledged is there, whole, and nothing is counted twice."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from prewarm.history import Retention
from prewarm.store import Store
from tests.faults.writing import START
from tests.store.counting import batch, ingest


def acknowledged_until_killed(address: str, most: int) -> int:
    """Start the writer, kill it after at least `most` acknowledgements; returns how many it gave."""
    command = [sys.executable, "-m", "tests.faults.writing", address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for _ in range(most):
            assert writer.stdout.readline(), "the writer ended by itself"
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split("\n")
    return most + sum(1 for line in rest[:-1] if line)


@pytest.mark.parametrize("most", [1, 57])
async def test_every_acknowledged_batch_survives_a_kill(address: str, most: int) -> None:
    acknowledged = acknowledged_until_killed(address, most)
    async with Store.open(address, Retention()) as store:
        history = await store.load_history(START + acknowledged)
        counts = history.sparse(START + acknowledged, 1440).hit_count
        # at most one batch was on its way when the writer died
        assert acknowledged <= counts.sum() <= acknowledged + 1
        assert list(history.keys) == [f"ns/f{row}" for row in range(len(history))]
        before = counts.sum()
        repeated = await ingest(store, history, acknowledged - 1, [batch(START, {0: 1.0})])
        assert repeated == {"accepted": 1, "rejected": []}
        assert history.sparse(START + acknowledged, 1440).hit_count.sum() == before
