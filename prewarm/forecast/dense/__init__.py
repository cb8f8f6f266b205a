"""Dense demand: series that are busy every minute, where the art lies in the sum of many timers.

A linear forecast refitted per series each day knows that series' lags; a global boosted model, trained once across
series on scale-free features, corrects it; past errors, stretched by how unsure the moment is, give the quantiles.
"""
