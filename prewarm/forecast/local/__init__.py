"""Forecasters that look at one function's own past only, vectorised over functions where they run for all of them."""
