"""Which scaler stands behind which name at request grain, and what stays unloaded until it is needed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.sim.cluster import simulate
from prewarm.sim.kpa import KpaScaler
from prewarm.sim.minute import MinuteWorkload
from prewarm.sim.request_policies import scalers
from prewarm.sim.requests import ClusterSettings, RequestFunction
from prewarm.sim.scalers import ClairvoyantScaler, FloorScaler, KeepAliveScaler
from tests.sim.made import calls, workload


@pytest.fixture
def functions() -> list[RequestFunction]:
    """One function called every ten minutes for two hours."""
    return [calls([600.0 * each + 5.0 for each in range(12)], limit=10)]


@pytest.fixture
def by_minute() -> MinuteWorkload:
    return workload([[1 if minute % 10 == 0 else 0 for minute in range(120)]])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("kpa", KpaScaler),
        ("ka-10", KeepAliveScaler),
        ("clairvoyant", ClairvoyantScaler),
        ("never-unload", FloorScaler),
        ("hh-1h", FloorScaler),
        ("faascache-1", FloorScaler),
    ],
)
def test_every_name_has_its_scaler(
    functions: list[RequestFunction], by_minute: MinuteWorkload, name: str, kind: type
) -> None:
    found = scalers(name, functions, by_minute)
    assert [type(each) for each in found] == [kind]


@pytest.mark.parametrize(
    ("name", "cold"),
    [
        pytest.param("kpa", 12, id="gone-after-90-seconds"),
        pytest.param("ka-5", 12, id="gone-after-five-minutes"),
        pytest.param("ka-11", 1, id="kept-until-the-next"),
        pytest.param("never-unload", 1, id="floor-from-the-second-minute-on"),
        pytest.param("clairvoyant", 0, id="ready-before-the-first"),
    ],
)
def test_cold_calls_of_a_function_called_every_ten_minutes(
    functions: list[RequestFunction], by_minute: MinuteWorkload, name: str, cold: int
) -> None:
    chosen = scalers(name, functions, by_minute)
    found = simulate(functions, chosen, ClusterSettings(7200.0), rng=np.random.default_rng(1))[0]
    assert int((found.wait_s > 1e-6).sum()) == cold


def test_an_unknown_name_is_refused(functions: list[RequestFunction], by_minute: MinuteWorkload) -> None:
    with pytest.raises(InputError, match="unknown"):
        scalers("ka-forever", functions, by_minute)


@pytest.mark.parametrize("module", ["replay", "report", "cluster", "policies"])
def test_compilers_models_and_drawing_are_loaded_late(module: str) -> None:
    heavy = ("numba", "matplotlib", "statsmodels", "pandas", "torch", "lightgbm")
    code = f"import sys, prewarm.sim.{module}; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
