"""What goes with a placement: what it depends on, its end, the emptying of a cluster, and the traffic to its parts."""
