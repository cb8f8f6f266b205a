"""The fleet in columns: what a decision passes over, rebuilt only where a cluster changed."""
