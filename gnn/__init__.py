"""Learned placement: trained offline, loaded through entry points, never worse than the rule that stands beside it."""
