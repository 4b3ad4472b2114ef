"""Exit codes, as the documentation has them."""

DONE, BROKEN, WRONG_USE, INVALID, REFUSED, INTERRUPTED = 0, 1, 2, 3, 4, 130
