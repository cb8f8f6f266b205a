"""The parts of the synthetic generator: the clock, the population, and one law for each shape of demand."""
