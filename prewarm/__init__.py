"""Demand for serverless functions: forecast it and keep the right number of instances warm."""

__version__ = "0.1.0"
