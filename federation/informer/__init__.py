"""List and watch every member, and keep an immutable view of each."""
