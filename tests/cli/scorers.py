"""A service with a learned scorer of drawn weights, found by entry point whether or not ours is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gnn.bench.drawn import drawn_shape, drawn_weights
from gnn.guard.asked import row_names
from gnn.guard.detector import write_detector
from gnn.guard.fit import Fit, Stream, fit
from gnn.student import write_student


def installed(folder: Path) -> Path:
    """A folder for PYTHONPATH in which a package registers the scorer `drawn`."""
    told = folder / "site" / "drawn_scorer-1.0.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: drawn-scorer\nVersion: 1.0\n")
    (told / "entry_points.txt").write_text("[prewarm.scorers]\ndrawn = gnn.scorer:load\n")
    return told.parent


def environment(folder: Path, *, detector: bool = True, scorer: str = "drawn") -> dict[str, str]:
    """Variables that switch it on."""
    shape, weights = drawn_shape(), folder / "placement-drawn.npz"
    write_student(weights, shape, drawn_weights(shape, np.random.default_rng(0)))
    if detector:
        rng = np.random.default_rng(0)
        rows = [rng.uniform(-50.0, 50.0, (3, len(row_names()))) for _ in range(30)]
        streams = [Stream(np.arange(3.0), one, np.zeros((3, 1))) for one in rows]
        write_detector(folder / "guard-drawn.npz", fit(streams, rng, Fit(rate=0.05)))
    return {
        "PYTHONPATH": str(installed(folder)),
        "PREWARM_PLACEMENT__SCORER": scorer,
        "PREWARM_PLACEMENT__SCORER_WEIGHTS": str(weights),
        "PREWARM_PLACEMENT__SCORER_DEADLINE_MS": "1000",
    }
