"""A load test whose transport lies to its readers, in a different way each time: the checks must see it.

Each kind of lie is told to whole reads only, and counted, so that the counts can be compared.
"""

from collections.abc import Callable
from itertools import cycle
from time import perf_counter
from typing import Any

import orjson
from locust import task

from keyheat.load.transport.answer import Answer, Transport
from keyheat.load.users.readers import CollectionReader
from keyheat.load.users.user import TableUser
from keyheat.scenario.keys import random_suffix

Content = dict[str, Any]


def hide(content: Content) -> None:
    del content["Items"][1]


def duplicate(content: Content) -> None:
    content["Items"].insert(1, content["Items"][1])


def swap(content: Content) -> None:
    items = content["Items"]
    items[0], items[1] = items[1], items[0]


def drop_page(content: Content) -> None:
    """As a reader that does not follow LastEvaluatedKey."""
    content["Items"] = content["Items"][:1]


LIES = (hide, duplicate, swap, drop_page)
HIDING = (hide, drop_page)


class Lying:
    """A transport that changes one query's answer where it was told to."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.lie: Callable[[Content], None] | None = None
        self.certain: Callable[[Content], bool] = bool
        self.told = 0

    def send(self, operation: str, body: bytes) -> Answer:
        answer = self._transport.send(operation, body)
        if operation != "Query" or self.lie is None or not answer.accepted:
            return answer
        content = orjson.loads(answer.body)
        if len(content["Items"]) < 3:
            return answer
        lie, self.lie = self.lie, None
        before = list(content["Items"])
        lie(content)
        hidden = [item for item in before if item not in content["Items"]]
        self.told = sum(self.certain(item) for item in hidden) if lie in HIDING else 1
        return Answer(answer.status, orjson.dumps(content), answer.service_s)

    def close(self) -> None:
        self._transport.close()


class WriterUser(TableUser):
    @task
    def put_order(self) -> None:
        self.put(random_suffix(self.draw_key(), self.shards, self.rng))


class DeceivedUser(CollectionReader):
    fixed_count = 1

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._lying = self.load.transport = Lying(self.load.transport)
        self._lies = cycle(LIES)

    @task
    def read_whole(self) -> None:
        lie = next(self._lies)
        self._lying.lie, self._lying.told = lie, 0
        began_s = perf_counter()
        self._lying.certain = lambda item: self._acknowledged_by(began_s, item)
        self.read_collection(self.draw_key(), consistent=True)
        self.count(f"lies.{lie.__name__}", self._lying.told)

    def _acknowledged_by(self, began_s: float, item: Content) -> bool:
        """Whether a read had to find it: a write that is still in flight may be in the table, too."""
        acknowledged_s = self._ledger.acknowledged_s(self._ledger.identity(self.table.name, item))
        return acknowledged_s is not None and acknowledged_s <= began_s
