"""A fix before and after, on a page and in a terminal."""
