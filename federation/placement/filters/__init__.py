"""Filters with names: each is one small function that says which clusters it drops, and why in words."""
