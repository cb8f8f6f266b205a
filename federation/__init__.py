"""Many clusters: where a workload should run, decided from one snapshot and applied through each cluster's API."""
