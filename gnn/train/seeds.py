"""What a seed is for; no world is used for two purposes."""

from __future__ import annotations

EVALUATION = range(100)
"""Looked at when all is done."""
VALIDATION = range(500, 600)
"""Choose between weights while training."""
TRAINING_FROM = 10_000
"""Seeds of training episodes begin here."""
