"""Tests of prewarm.policy."""
