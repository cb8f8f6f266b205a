"""The public files the sequence model is trained from: day exemplars, how common each is, and what is kept apart.

The exemplars of Azure 2019 hold one function for each daily total; a table beside them tells how many functions of a
sample have it. Those that resemble an app of the evaluation set are dropped, and the apps themselves are handed on as
0/1 series, so that nothing made for training comes to resemble them either (benchmarks A3.2).
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from prewarm.domain import InputError
from prewarm.forecast.levels.dataset import EVALUATION, EXEMPLARS, is_alike
from prewarm.forecast.levels.neural_data import Exemplars
from prewarm.traces.formats.concurrency import read_concurrency
from prewarm.traces.formats.exemplars import read_exemplars

_SAMPLES = 2  # the multiplicities of the table are sums over two samples


def read_days(traces: Path) -> tuple[Exemplars, Mapping[str, object]]:
    """Exemplars under `traces` that are unlike the evaluation set, and what was read and dropped.

    The weight is the mean number of functions in a sample, at least one. InputError where a file is absent.
    """
    for path in (traces / EXEMPLARS, traces / EVALUATION):
        if not path.is_file():
            raise InputError(f"{path}: is needed for training and is not there")
    trace = read_exemplars(traces / EXEMPLARS)
    if trace.multiplicity is None:
        raise InputError(f"{traces / EXEMPLARS}: the table of multiplicities beside it is needed and is not there")
    kept_apart = read_concurrency(traces / EVALUATION)
    apart = kept_apart.need(rule="concurrency") > 0
    counts = np.nan_to_num(trace.dense_count()).astype(np.float64)
    alike = is_alike(counts > 0, apart)
    used = ~alike & (counts > 0).any(axis=1)
    weight = np.maximum(trace.multiplicity[used] / _SAMPLES, 1.0)
    read = {
        "file": Path(EXEMPLARS).name,
        "sha256": trace.sha256,
        "kept_apart_sha256": kept_apart.sha256,
        "exemplars": len(counts),
        "dropped_alike": int(alike.sum()),
        "used": int(used.sum()),
    }
    return Exemplars(counts[used], weight, apart), read
