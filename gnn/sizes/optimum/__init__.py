"""The exact optimum of one request given the room that is left, and what it says about every cluster in question."""
