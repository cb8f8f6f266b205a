"""List, watch, list again: one collection of one member kept as it is there."""
