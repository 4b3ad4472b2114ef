"""What an endpoint can do, found out on a table of its own before a run rests on it."""
