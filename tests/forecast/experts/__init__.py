"""Tests of prewarm.forecast.experts."""
