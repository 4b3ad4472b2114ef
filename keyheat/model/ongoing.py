"""Items that a transaction is under way on: another write of one of them is refused until it is over.

A transaction prepares its items and then commits them. Meanwhile DynamoDB refuses, and does not queue,
another transaction on one of them and a plain write of one of them:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(slots=True)
class OngoingTransactions:
    """The items of one table on which transactions are under way, each for `lasts_s`; 0: none ever is."""

    lasts_s: float = 0.0
    _ends: deque[tuple[float, bytes]] = field(default_factory=deque)
    _items: set[bytes] = field(default_factory=set)

    def meets(self, item: bytes, now_s: float) -> bool:
        """Whether a request for the item at this time, which is no earlier than the last one, meets one."""
        while self._ends and self._ends[0][0] <= now_s:
            self._items.discard(self._ends.popleft()[1])
        return item in self._items

    def begin(self, items: Iterable[bytes], now_s: float) -> None:
        """One is under way on these items, none of which meets another."""
        if self.lasts_s > 0:
            for item in items:
                self._ends.append((now_s + self.lasts_s, item))
                self._items.add(item)
