"""The fleet's part of the HTTP API: clusters, placements, network, maintenance."""
