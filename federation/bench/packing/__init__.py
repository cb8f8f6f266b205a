"""How well rules of placement pack the public openb trace (benchmarks W2): baselines, ours, an upper bound."""
