"""Placement as a pure function: filter, score, divide, safety, with its reasons."""
