"""The users that locustfiles are made of: each waits for its answer, records it, and keeps to its pace."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from inspect import isclass
from random import Random
from typing import TYPE_CHECKING, Any

import gevent
import locust
import orjson
from gevent import GreenletExit
from locust.exception import StopUser

from keyheat.load.pacer import ClosedPacer, OpenPacer, OwnPace
from keyheat.load.record.attempt import METHOD
from keyheat.load.transport.answer import IN_FLIGHT, Answer
from keyheat.load.transport.retries import PolicyRetries, RetriedCall
from keyheat.load.users.items import NONE, Attributes
from keyheat.load.users.outcomes import Note, Request, consumed, note_answer
from keyheat.model.units import write_units
from keyheat.scenario.keys import KeyPattern
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import TableSpec
from keyheat.words import DirectionName

if TYPE_CHECKING:
    from keyheat.load.run.load import Load


def _add_options(parser: Any, **_more: Any) -> None:
    from keyheat.load.options import add_options

    add_options(parser)


def _begin(environment: Any, runner: Any, **_more: Any) -> None:
    from keyheat.load.run.session import begin

    begin(environment, runner)


def _start_test(environment: Any, **_more: Any) -> None:
    from keyheat.load.run.session import start_test

    start_test(environment)


# Locust knows a locustfile's listeners only from what importing it registers. What they need comes later.
locust.events.init_command_line_parser.add_listener(_add_options)  # type: ignore[no-untyped-call]
locust.events.init.add_listener(_begin)  # type: ignore[no-untyped-call]
locust.events.test_start.add_listener(_start_test)  # type: ignore[no-untyped-call]


READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"})
TABLES_NAMED_WITHIN = ("RequestItems", "TransactItems")
"""Members of requests about several tables, which name the table of each item themselves."""


class TableUser(locust.User):
    """A user of the scenario's table: one after the other, it runs its tasks when they are due."""

    abstract = True
    needs_sort_key = False
    """Whether the question makes no sense on a table without a sort key."""
    needs_no_sort_key = False
    """Whether it finds items by the partition key alone."""
    needs_text_sort_key = False
    """Whether it reads the items of a table whose sort keys begin with some text."""
    needs_indexes: tuple[str, ...] = ()
    """The indexes that it names: on a table that is there already, they are as the scenario says."""
    only_ours = ""
    """Why it loads no existing table; empty if it may."""

    @classmethod
    def not_sampled(cls, scenario: Scenario) -> str:
        """Return what these users do that no sample of their requests shows; empty: it shows all."""
        return ""

    @classmethod
    def lacks(cls, scenario: Scenario) -> Iterator[str]:
        """What the scenario lacks for these users, as `message @ $.path`; said before anything starts."""
        yield from ()

    load: "Load"
    keys: KeyPattern
    rng: Random

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self.load = environment.keyheat
        self.keys = self.load.keys
        self.number = next(self.load.numbers)
        self.rng = Random(f"{self.load.order.scenario.seed}/{self.number}")
        self._written = 0
        self.table: TableSpec = self.load.order.scenario.table
        """The table that this run loads: its name, keys and indexes."""
        self._counted = {"ReturnConsumedCapacity": "INDEXES" if self.table.indexes else "TOTAL"}
        self.pace: ClosedPacer | OpenPacer | OwnPace = self.load.pace(self.rng)
        self._told_each = not self.load.statistics.suffice
        self._others_ran = False  # since the last task: while an answer was waited for

    def on_start(self) -> None:
        """Wait for the first task's turn, as for every other."""
        if self._taskset_instance is not None:
            self._taskset_instance._sleep = self._sleep_unless_due  # type: ignore[method-assign]
        self.wait()  # type: ignore[no-untyped-call]

    def _sleep_unless_due(self, wait_s: float) -> None:
        """Sleep between two tasks; not where the next one is due, and others had their turn meanwhile.

        Locust sleeps for no time then, which takes an eighth of the time of a request.
        """
        if wait_s > 0 or not self._others_ran:
            gevent.sleep(wait_s)
        self._others_ran = False

    def wait_time(self) -> float:
        """The task is over: seconds until the next one begins."""
        return self.pace.wait()

    @property
    def shards(self) -> int:
        """On how many shards each key is, as the scenario says."""
        return self.load.shards

    def task_weights(self) -> Iterable[tuple[Callable[..., Any], float]]:
        """Yield what this user does, each task with its weight."""
        counts: Counter[Any] = Counter(self.tasks)
        for task, count in counts.items():
            yield (task if isclass(task) else task.__get__(self)), count

    @property
    def elapsed_s(self) -> float:
        return self.load.clock() - self.load.started_s

    def draw_key(self) -> str:
        """The partition key that the scenario's pattern touches next."""
        return self.keys.draw(self.rng, self.elapsed_s)

    def next_sort_key(self) -> str:
        """A sort key that is later than every one before it: milliseconds, this user, a running number."""
        self._written += 1
        return f"{int(self.load.clock() * 1000):013d}-{self.number:07d}-{self._written:06d}"

    def put(self, key: str, sort_key: str | None = None, *, attributes: Attributes = NONE) -> Answer:
        """Write one item of the scenario's size; on a table with sort keys, under a new one unless stated.

        `attributes`, strings or numbers, are chosen by the load test; they are a part of the size.
        """
        items = self.load.items
        size = items.draw_size(self.rng)
        body = items.put(key, sort_key or self.next_sort_key(), self.rng, size, attributes)
        return self.send("PutItem", body, key=key, direction="write", units=write_units(0, size))

    def spared(self) -> None:
        """A cache had the answer, and no request is needed: the next one is due as if it had been sent."""
        cost = self.load.cost_of("read", 0.0, None)
        self.pace.begin(self.load.clock(), cost)
        self.pace.sent(cost)

    def count(self, name: str, number: float = 1) -> None:
        """Add to something that this load test counts, `group.what`; it ends in `run.json`."""
        self.load.record.count(name, number)

    def send(
        self,
        operation: str,
        body: bytes,
        *,
        key: str,
        direction: DirectionName,
        units: float,
        table: str | None = None,
        note: Note | None = None,
    ) -> Answer:
        """Send one request and record what came of it; `units` is what it would cost if it were throttled.

        `table` names a table beside the one that is judged; its attempts are counted apart.
        `note` records a request that one attempt does not describe: a batch, a transaction, a condition.
        Nothing is sent once the test stops: Locust kills users that wait for their turn, and one whose
        turn comes in that moment would be killed with a request in flight.
        """
        load = self.load
        if load.stopped.is_set():
            raise StopUser
        now_s, cost = load.clock(), load.cost_of(direction, units, table)
        if table is None and load.key_name is not None:
            key = load.key_name(key)
        intended_s = self.pace.begin(now_s, cost)
        late_us = max(0, int((now_s - intended_s) * 1e6))
        request = Request(operation, body, key, direction, units, table, note)
        if load.retries is None:
            self.pace.sent(cost)
            answer = self._attempt(request, now_s, late_us)
        else:
            answer = self._retried(load.retries, request, late_us, cost)
        if cost and load.unit != "requests" and answer.accepted:
            content = answer.content()  # a batch of which a part was refused keeps what it was taken to cost
            if not (content.get("UnprocessedItems") or content.get("UnprocessedKeys")):
                self.pace.settle(consumed(answer)[0] - cost)
        load.record.timed(f"{operation}.response", int((load.clock() - intended_s) * 1e6))
        return answer

    def _retried(self, retries: PolicyRetries, request: Request, late_us: int, cost: float) -> Answer:
        def attempt(first: bool) -> Answer:
            if first:  # from which on a request counts
                self.pace.sent(cost)
            return self._attempt(request, self.load.clock(), late_us if first else 0)

        call = RetriedCall(request.operation, client=self.number)
        return retries.send(call, self.load.record, sleep=self._pause, attempt=attempt)

    def ask(
        self, operation: str, key: str, units: float, *, note: Note | None = None, table: str | None = None,
        **members: Any,
    ) -> Answer:  # fmt: skip
        """Send one request with its `members`, about the scenario's table or another `table` (see `send`)."""
        named = {} if members.keys() & {*TABLES_NAMED_WITHIN} else {"TableName": table or self.table.name}
        body = orjson.dumps({**named, **self._counted, **members})
        return self.send(
            operation, body, key=key, direction="read" if operation in READS else "write", units=units,
            table=table, note=note,
        )  # fmt: skip

    def _pause(self, wait_s: float) -> float:
        """Wait as long as the load goes on; returns the seconds that it took. Raises `StopUser`."""
        if not wait_s:
            return 0.0
        began_s = self.load.clock()
        if self.load.stopped.wait(wait_s):
            raise StopUser
        return self.load.clock() - began_s

    def _attempt(self, request: Request, sent_s: float, late_us: int) -> Answer:
        """Send one request once, and record what came of it."""
        load = self.load
        if load.stopped.is_set():
            raise StopUser
        answer = _UNANSWERED
        try:
            answer = load.transport.send(request.operation, request.body)
        except GreenletExit:
            self._record(request, answer, sent_s, late_us)
            raise
        self._others_ran = answer.status > 0
        self._record(request, answer, sent_s, late_us)
        return answer

    def _record(self, request: Request, answer: Answer, sent_s: float, late_us: int) -> None:
        """Put one answer in the record and in Locust's statistics, where errors have short stable names."""
        load = self.load
        attempt, failure = note_answer(load.record, request, answer, sent_s, late_us)
        if failure is None and not self._told_each:
            load.statistics.add(request.operation, answer.service_s, len(answer.body))
        else:
            self.environment.events.request.fire(
                request_type=METHOD,
                name=request.operation,
                response_time=answer.service_s * 1000,
                response_length=len(answer.body),
                exception=failure,
                context={},
            )
        if load.entries is not None and request.table is None and request.direction == "write":
            load.entries.note(load.record, attempt, request.body, answer)
        if answer.failure is not None:
            load.note_failure(answer.failure, sent_s)


_UNANSWERED = Answer(0, b"", 0.0, failure=IN_FLIGHT)
