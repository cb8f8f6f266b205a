"""What a policy sees, how its action is read, the teacher, and the environment."""
