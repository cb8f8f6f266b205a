"""The fleet as a graph of numbers: what the learned policy sees, in arrays that need no torch."""
