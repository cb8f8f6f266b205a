"""The table of per-function models: what each name means, which are cheap enough for everyone.

The names are those of `--model`, of the API and of the decision log. Cheap models run vectorised in the service; the
dear ones only in a worker, asked for by name or for the few functions that deserve them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from prewarm.domain import InputError
from prewarm.forecast.batch import Forecaster
from prewarm.forecast.dense.forecaster import DenseForecaster
from prewarm.forecast.levels.ahead import NearByLevels
from prewarm.forecast.local.classical import Classical, Wishes
from prewarm.forecast.local.hazard import Hazard
from prewarm.forecast.local.intermittent import Intermittent
from prewarm.forecast.local.peaks import RepeatedPeaks
from prewarm.forecast.local.prior import FLEET, HazardPrior, PriorForecaster
from prewarm.forecast.local.profile import DayProfile
from prewarm.forecast.local.smoothing import SeasonalNaive, Smoothing
from prewarm.forecast.local.timers import Timer
from prewarm.forecast.select import Auto

AUTO_WINDOW = 20_160  # newest steps that the automatic choice looks at: two weeks of minutes


@dataclass(frozen=True, slots=True)
class Setting:
    """What models may need to know beside the counts."""

    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    wishes: Wishes = field(default_factory=Wishes)
    prior: HazardPrior = FLEET
    """Stands in where a function has no history, or too little of it."""
    incumbent: str | None = None
    """The model that `auto` chose the last time; it stays unless another is clearly cheaper."""
    near_by_levels: bool = False
    """Whether the level model speaks for the next quarter of an hour; it loads lightgbm and numba."""


Factory = Callable[[Setting], Forecaster]

DEAR: dict[str, Factory] = {
    "holt_winters": lambda s: Classical("holt_winters", s.wishes),
    "arima": lambda s: Classical("arima", s.wishes),
    "sarima": lambda s: Classical("sarima", s.wishes),
    "dense": lambda _: DenseForecaster(),
}

CHEAP: dict[str, Factory] = {
    "smoothing": lambda _: Smoothing(),
    "tsb": lambda _: Intermittent("tsb"),
    "hazard": lambda s: Hazard(s.prior),
    "timer": lambda _: Timer(),
    "profile": lambda s: DayProfile(s.zone),
    "seasonal_naive": lambda _: SeasonalNaive(),
    "croston": lambda _: Intermittent("croston"),
    "sba": lambda _: Intermittent("sba"),
    "repeated_peaks": lambda s: RepeatedPeaks(DayProfile(s.zone), s.zone),
    "prior": lambda s: PriorForecaster(s.prior),
}

# Of equal cost (mostly none at all) the earlier speaks; on the public exemplars timers and hazards generalise best.
IN_AUTO = ("timer", "hazard", "tsb", "smoothing", "profile", "seasonal_naive")
UNSCORED = IN_AUTO.index("hazard")  # works from the first call on

NAMES: tuple[str, ...] = ("auto", *CHEAP, *DEAR)


def model_named(name: str, setting: Setting | None = None, *, place: str = "model") -> Forecaster:
    """The forecaster of a name; InputError naming `place` for an unknown one."""
    known = setting or Setting()
    model = _plain(name, known, place)
    return NearByLevels(model) if known.near_by_levels else model


def _plain(name: str, known: Setting, place: str) -> Forecaster:
    if name == "auto":
        models = tuple(CHEAP[n](known) for n in IN_AUTO)
        return Auto(models, window=AUTO_WINDOW, unscored=UNSCORED, incumbent=known.incumbent)
    factory = CHEAP.get(name) or DEAR.get(name)
    if factory is None:
        raise InputError(f"{place}: must be one of {', '.join(NAMES)}, is {name[:40]!r}")
    return factory(known)
