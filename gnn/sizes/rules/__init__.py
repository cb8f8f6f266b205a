"""Fixed rules: the plain ones that others use, and weighted named factors."""
