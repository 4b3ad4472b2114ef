"""Answer a list page by page."""

from collections.abc import Callable, Sequence
from typing import Any


def page(
    name: str, entries: Sequence[Any], most: int, token: str, token_of: Callable[[Any], str] = str
) -> dict[str, Any]:
    """Return the first `most` entries as `name`; if more follow, `token` is that of the last one."""
    more = {token: token_of(entries[most - 1])} if len(entries) > most else {}
    return {name: list(entries[:most]), **more}
