"""Forecasts of demand, as calibrated distributions: per function (`local`), across functions (`levels`, `dense`).

Every forecaster answers the same question in the same shape (`batch.ForecastBatch`), so that the selector can compare
them by rolling-origin backtest and the sizing need not know which one spoke.
"""
