"""Several opinions on the next minute, and how much each function's past says each of them is worth."""
