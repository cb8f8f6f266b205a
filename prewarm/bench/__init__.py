"""Benchmarks: each module measures one claim of the project against its anchors and says which goals are met.

A benchmark is a function from a data folder and a seed to a `BenchResult`; the command line prints and writes it.
"""
