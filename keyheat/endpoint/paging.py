"""A list that is answered page by page."""

from collections.abc import Callable, Sequence
from typing import Any


def page(
    name: str, entries: Sequence[Any], most: int, token: str, place: Callable[[Any], str] = str
) -> dict[str, Any]:
    """The first entries as `name`; where more follow, `token` is the `place` of the last of them."""
    more = {token: place(entries[most - 1])} if len(entries) > most else {}
    return {name: list(entries[:most]), **more}
