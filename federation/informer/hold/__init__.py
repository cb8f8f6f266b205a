"""What is held of one member between snapshots: sums that an event changes in place, and columns made of them."""
