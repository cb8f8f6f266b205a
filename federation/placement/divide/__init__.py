"""Division of instances over clusters: whole numbers whose sum is exact, for one workload or for many at once."""
