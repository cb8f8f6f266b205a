"""Tests: they mirror the source; cases/ holds reported situations, faults/ what breaks."""
