"""The fleet inside the service: what is asked, decided, carried out and kept placed, and what outlives a restart."""
