"""What is wanted against what is there, as values: kinds, ownership, differences, and the plan for one cluster."""
