"""Laws of start-up time: their moments and quantiles, and the measured table by language."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from prewarm.domain import InputError
from prewarm.sim.startup import ConstantStart, LogNormalStart, MeasuredStart, StartLaw, measured_by_language


@pytest.mark.parametrize(
    ("law", "mean", "p99"),
    [
        pytest.param(ConstantStart(0.808), 0.808, 0.808, id="constant"),
        pytest.param(LogNormalStart.of_mean_sd(2.3, 1.15), 2.3, 6.169, id="mean-2.3-cv-0.5"),
        pytest.param(LogNormalStart.of_mean_p99(3.15, 4.18), 3.15, 4.18, id="mean-and-p99"),
        pytest.param(MeasuredStart(np.array([1.0, 2.0, 3.0])), 2.0, 2.98, id="measured"),
    ],
)
def test_draws_have_the_mean_and_the_tail_that_were_asked_for(law: StartLaw, mean: float, p99: float) -> None:
    drawn = law.draw(np.random.default_rng(1), 200_000)
    assert drawn.mean() == pytest.approx(mean, rel=0.01)
    assert law.quantile(0.99) == pytest.approx(p99, rel=1e-3)
    assert drawn.min() > 0


def test_the_standard_deviation_is_that_of_the_law() -> None:
    law = LogNormalStart.of_mean_sd(3.24, 7.10)
    assert np.exp(law.mu + law.sigma**2 / 2) == pytest.approx(3.24)
    assert np.exp(law.sigma**2) - 1 == pytest.approx((7.10 / 3.24) ** 2)


def test_the_same_seed_draws_the_same() -> None:
    law = LogNormalStart.of_mean_sd(2.3, 1.15)
    first, second = (law.draw(np.random.default_rng(9), 5).tolist() for _ in range(2))
    assert first == second


@pytest.mark.parametrize("p99", [1.0, 100.0])
def test_a_mean_and_a_tail_that_no_lognormal_has_are_refused(p99: float) -> None:
    with pytest.raises(InputError, match="no log-normal"):
        LogNormalStart.of_mean_p99(3.0, p99)


def test_init_times_by_language(tmp_path: Path) -> None:
    table = tmp_path / "init.csv"
    table.write_text(
        "date,runtime,package,arch,memory_mb,init_ms\n"
        "d,python3.12,zip,arm64,128,100\nd,python3.9,zip,arm64,128,300\nd,graalvm java17 (prov.al2),zip,a,1,50\n"
        "d,go (prov.al2),zip,a,1,\nd,go1.x,zip,a,1,oops\nd,c++ 11 (prov.al2),zip,a,1,20\n"
        "d,,zip,a,1,7\nd,rust,z,a,1,-4\n"
    )
    found = measured_by_language(table)
    assert {name: law.seconds.tolist() for name, law in found.items()} == {
        "c++": [0.02],
        "graalvm java": [0.05],
        "python": [0.1, 0.3],
        "unknown": [0.007],
    }


def test_a_table_without_times_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("runtime,init_ms\n")
    with pytest.raises(InputError, match="no row"):
        measured_by_language(tmp_path / "empty.csv")


def test_the_public_table_gives_the_common_languages(traces_dir: Path) -> None:
    found = measured_by_language(traces_dir / "lambda-perf" / "init_duration_ms.csv")
    assert {"python", "nodejs", "java", "go", "rust", "dotnet", "ruby"} <= set(found)
    assert found["java"].quantile(0.5) > found["python"].quantile(0.5) > found["rust"].quantile(0.5)
