"""Tests of prewarm.sim."""
