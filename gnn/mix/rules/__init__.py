"""Policies that nobody had to train: plain divisions, published rules as far as they speak about this, and our own."""
