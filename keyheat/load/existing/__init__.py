"""Tables that are there already: loaded as they are, and left as they were found."""
