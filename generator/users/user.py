"""The users that locustfiles are made of: each waits for its answer, records it, and keeps to its pace."""

import math
from random import Random
from time import time
from typing import Any

import gevent
import locust
from gevent import GreenletExit

from generator.record.record import Attempt, Direction
from generator.run import session
from generator.run.load import Load
from generator.transport.answer import Answer
from generator.users.acknowledged import noting
from generator.users.items import NONE, Attributes
from generator.users.outcomes import Note, note_single
from tablemodel.keys import KeyPattern
from tablemodel.units import write_units

session.listen(locust.events)  # Locust knows a locustfile's listeners only from what importing it registers


class TableUser(locust.User):
    """A user of the scenario's table. It is a closed loop: it sends again after its answer has come."""

    abstract = True
    needs_sort_key = False
    """Whether the question makes no sense on a table without a sort key."""

    load: Load
    keys: KeyPattern
    rng: Random

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self.load = environment.keyheat
        self.keys = self.load.keys
        self.shards = self.load.order.scenario.keys.shards
        self.number = next(self.load.numbers)
        self.rng = Random(f"{self.load.order.scenario.seed}/{self.number}")
        self._written = 0
        self._intended_s = time() + self.rng.random() * self.load.interval_s

    def on_start(self) -> None:
        """Begin at a random point of the interval, so that users do not send in step."""
        gevent.sleep(max(0.0, self._intended_s - time()))

    def wait_time(self) -> float:
        """Seconds until the next request is due; starts missed while waiting for an answer are counted."""
        interval_s, now_s = self.load.interval_s, time()
        if self._intended_s < now_s - interval_s:
            missed = math.floor((now_s - self._intended_s) / interval_s)
            self.load.record.health.missed += missed
            self._intended_s += missed * interval_s
        return max(0.0, self._intended_s - now_s)

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began."""
        return time() - self.load.started_s

    def draw_key(self) -> str:
        """The partition key that the scenario's pattern touches next."""
        return self.keys.draw(self.rng, self.elapsed_s)

    def next_sort_key(self) -> str:
        """A sort key that is later than every one before it: milliseconds, this user, a running number."""
        self._written += 1
        return f"{int(time() * 1000):013d}-{self.number:07d}-{self._written:06d}"

    def put(self, key: str, sort_key: str | None = None, *, attributes: Attributes = NONE) -> Answer:
        """Write one item of the scenario's size; on a table with sort keys, under a new one unless stated.

        `attributes` are string attributes that the load test chooses itself; they are a part of the size.
        """
        items = self.load.items
        size = items.draw_size(self.rng)
        body = items.put(key, sort_key or self.next_sort_key(), self.rng, size, attributes)
        return self.send("PutItem", body, key=key, direction="write", units=write_units(0, size))

    def spared(self) -> None:
        """A request was not needed, for a cache had the answer: the next one is due as if it had been sent."""
        self._intended_s += self.load.interval_s

    def count(self, name: str, number: float = 1) -> None:
        """Add to something that this load test counts, `group.what`; it ends in `run.json`."""
        self.load.record.count(name, number)

    def send(
        self,
        operation: str,
        body: bytes,
        *,
        key: str,
        direction: Direction,
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
        if self.load.stopping:
            raise locust.exception.StopUser
        sent_s = time()
        late_us = max(0, int((sent_s - self._intended_s) * 1e6))
        self._intended_s += self.load.interval_s
        try:
            answer = noting(self.load.ledger, operation, body, self.load.transport.send)
        except GreenletExit:
            self._note(
                Attempt(operation, direction, key, sent_s, late_us, 0, table), _UNANSWERED, units, note
            )
            raise
        service_us = int(answer.service_s * 1e6)
        self._note(
            Attempt(operation, direction, key, sent_s, late_us, service_us, table), answer, units, note
        )
        return answer

    def _note(self, attempt: Attempt, answer: Answer, units: float, note: Note | None) -> None:
        """Put one answer in the record and in Locust's statistics, where errors have short stable names."""
        if note is None:
            failure = note_single(self.load.record, attempt, answer, units)
        else:
            failure = note(self.load.record, attempt, answer)
        self.environment.events.request.fire(
            request_type="DynamoDB",
            name=attempt.operation,
            response_time=answer.service_s * 1000,
            response_length=len(answer.body),
            exception=failure,
            context={},
        )


_UNANSWERED = Answer(0, b"", 0.0, failure="still_in_flight_at_stop")
