"""Service graphs placed over 4 to 128 clusters (W8): the world, its exact optimum, rules, and what a policy sees."""
