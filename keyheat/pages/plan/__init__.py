"""A plan, or a what-if search, in a terminal and for programs."""
