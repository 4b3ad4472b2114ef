"""What an answer says, in sentences, rows and values: the same on a page, in a terminal, for a program."""
