"""A knee on a page and in a terminal."""
