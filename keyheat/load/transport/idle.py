"""Open connections that wait for a request, each used in its turn.

    used last ->  [ 4 | 3 | 2 | 1 ]  -> the next request

A service hands out what a small table has in parts, and a connection stays with one of them
(`keyheat.model.nodes`). Were the connection that was used last the next one, a whole load would go over one
wherever answers come soon, and how soon they come would decide how much of the table it finds.
"""

from collections import deque
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

IDLE_S: Final = 15.0
"""Less than servers wait before they close, for a request on a closing connection is lost."""
SPREAD: Final = 13
"""Connections that a load is spread over at least: two for each of a small table's nodes, and a prime, so
that operations in a fixed order do not meet the same few again and again."""

Connection = TypeVar("Connection")


class Idle(Generic[Connection]):
    """The connections that wait, and when each was used last; `at_least` so many beside those in use.

    Where requests are so rare that more connections would idle too long, there are fewer.
    """

    def __init__(self, at_least: int) -> None:
        self._at_least = at_least
        self._waiting: deque[tuple[Connection, float]] = deque()

    def add(self, connection: Connection, now_s: float) -> None:
        """Let a connection wait that was used until now."""
        self._waiting.append((connection, now_s))

    def take(self, now_s: float) -> tuple[Connection, float] | None:
        """The connection whose turn it is, and when it was used last; None: another one is to be opened."""
        if not self._waiting:
            return None
        _connection, used_s = self._waiting[0]
        if len(self._waiting) < self._at_least and now_s - used_s < IDLE_S / 2:
            return None
        return self._waiting.popleft()

    def emptied(self) -> Iterator[Connection]:
        """Every connection that waits; none does afterwards."""
        while self._waiting:
            yield self._waiting.popleft()[0]
