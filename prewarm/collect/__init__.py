"""Sources of counts: what they say becomes minutes in the history, and what they do not say stays unknown."""
