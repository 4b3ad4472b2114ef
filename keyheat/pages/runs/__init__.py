"""The index of all runs."""
