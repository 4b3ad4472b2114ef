"""What keeps a table from being loaded, as the person who wanted to load it reads it."""


class TableError(Exception):
    """A table cannot be made, described or loaded; every reason is a line of its own."""

    def __init__(self, *errors: str) -> None:
        super().__init__("\n".join(errors))
        self.errors = list(errors)


class Refused(TableError):
    """A table could be loaded, and must not be; the text names the option that allows it."""
