"""What a placement does to single nodes: their states, their value to the work to come, and how it changes."""
