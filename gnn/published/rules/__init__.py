"""Who gives the factors their weights: fixed rules, and the seam for a policy that decides pod by pod."""
