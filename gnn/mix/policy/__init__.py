"""The learned policy of the serverless mix: what it is asked each minute, what it sees, and what its answers become."""
