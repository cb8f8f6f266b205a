"""The harness: programs found, processes kept in order, clusters and fleets made of them."""
