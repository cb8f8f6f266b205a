"""What could be had: a lower bound on J, and placements that know more than any policy may."""
