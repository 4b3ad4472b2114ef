"""A regress on a page and in a terminal, and the history of them."""
