"""The named factors of a score, each one small function from a case to a value in 0..1 for each cluster."""
