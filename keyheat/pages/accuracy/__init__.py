"""How right the labels are, in a terminal and on a page."""
