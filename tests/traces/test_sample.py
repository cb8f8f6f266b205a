"""The committed sample is what the generator makes from its seed, and reading stays within its memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np

from prewarm.traces.detect import read_trace
from prewarm.traces.synth import synthesize
from prewarm.traces.synth_files import read_synthetic, write_synthetic
from tests.traces.test_synth_files import assert_same

SAMPLE = Path(__file__).parents[2] / "traces" / "sample"


def test_the_sample_is_made_by_its_seed(tmp_path: Path) -> None:
    made = synthesize(7, 40, days=2)
    kept = read_synthetic(SAMPLE)
    assert_same(made.trace, kept.trace)
    write_synthetic(tmp_path / "again", made)
    for path in SAMPLE.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_reading_holds_the_busy_minutes_and_not_the_matrix(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = ",".join(map(str, range(1, 1441)))
    path = tmp_path / "invocations.csv"
    with path.open("w") as file:
        file.write(f"HashOwner,HashApp,HashFunction,Trigger,{columns}\n")
        for at in range(3000):
            counts = rng.poisson(0.02, 1440).tolist()
            file.write(f"o,a{at % 99},f{at},http,{','.join(map(str, counts))}\n")
    tracemalloc.start()
    trace = read_trace(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert trace.functions == 3000
    per_row, per_entry, fixed = 2_000, 64, 4e6
    assert peak < fixed + per_row * trace.functions + per_entry * len(trace.minute)
    assert peak < path.stat().st_size * 2
