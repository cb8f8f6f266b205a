"""When does the next call come, from the idle times alone: the ARIMA branch of the hybrid histogram policy.

Fits are kept by the exact history they were made on, so replaying the same trace twice, or for two ranges, fits once.
statsmodels is imported on the first fit: only the simulator and the workers come here.
"""

from __future__ import annotations

import math
import warnings
from functools import lru_cache

import numpy as np

FEWEST = 4  # idle times before a model is fitted; their mean until then


@lru_cache(maxsize=100_000)
def next_idle_time(idle_times: tuple[float, ...]) -> float:
    """The next idle time (same unit) from the earlier ones, at least 1; ARIMA(1,0,1), else their mean.

    The forecast is held within the shortest and twice the longest idle time seen: a near-unit root may run away.
    """
    mean = math.fsum(idle_times) / len(idle_times)
    if len(idle_times) < FEWEST or max(idle_times) == min(idle_times):
        return max(1.0, mean)
    from statsmodels.tsa.arima.model import ARIMA

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = ARIMA(np.asarray(idle_times), order=(1, 0, 1))
            fitted = model.fit(method="innovations_mle", low_memory=True)
            value = float(fitted.forecast(1)[0])
        except (ValueError, np.linalg.LinAlgError):
            value = mean
    if not math.isfinite(value):
        value = mean
    return max(1.0, min(max(value, min(idle_times)), 2.0 * max(idle_times)))
