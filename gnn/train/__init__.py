"""Training: what a world must offer to be learned in, the loop, and what comes of it."""
