"""Stand-ins for time and for what the users of a run share, as far as they need it without a table."""

import time
from itertools import chain, count
from random import Random
from types import SimpleNamespace
from typing import Any, Final

import gevent

from keyheat.load.dryrun.table import NotSampled, Tables
from keyheat.load.transport.answer import Answer
from keyheat.load.users.items import ItemTemplate
from keyheat.scenario.keys import KeyPattern
from keyheat.scenario.scenario import Scenario

MOST_REQUESTS: Final = 10_000  # of one execution of a task
STARTED_S: Final = 1_796_083_200.0
FIRST_USER: Final = 987  # not user 0, who may have more to do than others


class Clock:
    """The time of a dry run, epoch seconds: it stands still except while a user waits."""

    now_s = STARTED_S

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float = 0.0, *_more: Any, **_options: Any) -> None:
        """Sleep, and let other greenlets run."""
        self.now_s += seconds
        _yield(0)


_yield: Final = gevent.sleep
CLOCK: Final = Clock()


def replace_time() -> None:
    """Make `time` and `gevent` follow the virtual clock; before a load test is imported."""
    for name in ("time", "monotonic", "perf_counter"):
        setattr(time, name, CLOCK)
    for module in (time, gevent):
        setattr(module, "sleep", CLOCK.wait)  # noqa: B010  (the functions are other ones)


class NotedKeys:
    """The scenario's key pattern; it notes what the current task draws."""

    def __init__(self, pattern: KeyPattern) -> None:
        self._pattern = pattern
        self.draws: set[str] = set()

    def draw(self, rng: Random, elapsed_s: float) -> str:
        """The key that is touched next."""
        key = self._pattern.draw(rng, elapsed_s)
        self.draws.add(key)
        return key


class DryLoad:
    """What the users of one run share, as far as they need it without a table."""

    cache = knowledge = retries = key_name = entries = None
    statistics = SimpleNamespace(suffice=True)

    def __init__(self, scenario: Scenario, tables: Tables, keys: NotedKeys) -> None:
        self.order = SimpleNamespace(scenario=scenario, run_id="dry-run", users=scenario.load.users)
        self.keys, self.clock, self.started_s, self.transport = keys, CLOCK, STARTED_S, self
        items: Any = ItemTemplate(scenario, now_s=CLOCK)
        self.items, self._draw_size, items.draw_size = items, items.draw_size, self._sized
        size = scenario.load.item_size()
        self.sizes = {size.least} if size.least == size.most else set[int]()
        self.numbers = chain([0], count(FIRST_USER))
        self.record = SimpleNamespace(count=self._count, timed=lambda *_what: None)
        self.ledger = SimpleNamespace(identity=_identity, required=lambda *_what, **_how: ())
        self.last_looks: list[Any] = []
        self.reads: list[int] = []
        self.asked_for_shards = False
        self._tables = tables

    @property
    def shards(self) -> int:
        """The shards of each key; a load test that reads it sends by it."""
        self.asked_for_shards = True
        return self.order.scenario.keys.shards  # type: ignore[no-any-return]

    def pace(self, _rng: Random) -> Any:
        return SimpleNamespace(wait=lambda: 0.0)

    def send(self, operation: str, body: bytes) -> Answer:
        """The transport: an answer of the stand-in tables."""
        if len(self._tables.sent) > MOST_REQUESTS:
            raise NotSampled(f"sends more than {MOST_REQUESTS:,} requests in one task")
        status, content = self._tables.answer(operation, body)
        return Answer(status, content, 0.0)

    def _sized(self, rng: Random) -> int:
        size: int = self._draw_size(rng)
        self.sizes.add(size)
        return size

    def _count(self, name: str, _number: float = 1) -> None:
        if name == "reads.checked":
            self.reads.append(self._tables.requests)


def _identity(table: str, item: dict[str, Any]) -> tuple[str, ...]:
    return (table, *(str(value) for value in item.values()))
