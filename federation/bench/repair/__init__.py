"""How often an exact repair of a pending pod ends in time (benchmarks W10)."""
