"""Several processes: the master gives the order, workers send their records in pieces, the master merges.

The order travels as one of our options in Locust's own message that starts users. A message of ours that is
sent before it would be lost on a worker that has connected, but does not yet listen to more than Locust does.
A worker cuts a piece off its record every second: neither a message nor its memory grows with the run.
They come in their order, and the last one says that it is the last: the master waits for it. Locust's own
final report would not do: in a headless run the master leaves half a second for it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Any, ClassVar

import gevent
from gevent.event import Event

from keyheat.load.record.attempt import ConsumedUnits
from keyheat.load.record.generator import Health
from keyheat.load.record.record import DAMAGE, PIECES_ARRIVE_S, Piece, Record
from keyheat.load.run.launch import tell
from keyheat.load.run.load import BEAT_S, Load, Order, SteadyClock, start_load
from keyheat.load.run.watch import LoadWatch, watch_master
from keyheat.load.transport.target import TargetError
from keyheat.masking import masked

ORDER = "keyheat_order"  # an option that only the master sets
HALT, PIECE = "keyheat_halt", "keyheat_piece"  # messages
TELL_EVERY_S = 1.0  # one that has only just connected does not listen yet
MISSING = "missing"  # what Locust calls a worker whose heartbeats ceased
SILENCE_S = 15.0
"""How long the master waits at the end for a worker from which nothing comes."""
GONE_SILENCE_S = 3.0
"""The same for one whose heartbeats ceased during the run: Locust gives it up after `ALIVE_S`."""
ALIVE_S = 15
"""Locust gives a worker up after 3 s without a heartbeat. On a busy machine one that is only making its users
takes longer: both were given up before they were told to send, and the run ended without a request."""


class Worker:
    """A worker's side: obeys the order, and reports."""

    def __init__(self, environment: Any) -> None:
        self._environment = environment
        self._runner = environment.runner
        self._run_id: str | None = None
        self._halted: str | None = None  # the run that was said to be over
        self._ended: str | None = None  # the run whose last piece has been sent
        self._load: Load | None = None
        self._sent = ConsumedUnits()  # what the pieces of this run have told of
        self._greenlets: list[gevent.Greenlet] = []
        self._runner.register_message(HALT, self._on_halt, concurrent=True)

    def _on_halt(self, environment: Any, msg: Any, **_more: Any) -> None:
        """The run is over: stop the users now, which fires `test_stop`. The master may say so twice."""
        run_id, self._environment.stop_timeout = msg.data
        if run_id == self._halted:
            return
        self._halted = run_id
        self._runner.stop()
        if self._ended != run_id:  # it had no users
            self._run_id = run_id
            self._send(Record(), last=True)

    @property
    def loading(self) -> bool:
        """Whether there is something to report yet."""
        return self._load is not None

    def begin(self) -> None:
        """The test starts: make what the order needs."""
        order = order_for(getattr(self._environment.parsed_options, ORDER), self._runner.client_id)
        self._run_id, self._sent = order.run_id, ConsumedUnits()
        try:
            load = start_load(order, self._environment, worker=self._runner.worker_index)
        except TargetError as error:  # its machine has no credentials, say
            problem = f"worker {self._runner.client_id}: {error}"
            self._send(Record(health=Health(problems=[problem])), last=True)
            gevent.spawn(self._runner.quit)
            raise gevent.GreenletExit from error  # users cannot be started
        self._load = load
        load.watch(self._report)

        def lost_master() -> None:
            if self.loading:
                tell("keyheat: this worker hears nothing of its master: it sends no more")
                self.stop()
                gevent.spawn(self._runner.quit)

        heard_s = lambda: self._runner.last_heartbeat_timestamp  # noqa: E731
        self._greenlets = [gevent.spawn(watch_master, heard_s, lost_master)]
        if order.caps is not None:
            watch = LoadWatch(order.caps, load, self._used_up, consumed=self.consumed_by_all)
            self._greenlets.append(gevent.spawn(watch.follow))

    def consumed_by_all(self) -> ConsumedUnits:
        """What this worker has consumed by now, and the others as much each: its part of the caps is even."""
        assert self._load is not None, "it loads"
        mine = self._sent.plus(self._load.record.consumed)
        return ConsumedUnits().plus(mine, times=max(1, self._load.order.workers))

    def stop(self) -> None:
        """Send no further request."""
        if self._load is not None:
            self._load.stop()

    def _used_up(self) -> None:
        """This worker has used up its part of the budget: it sends no more, and the master ends the run."""
        self.stop()
        self._report(used_up=True)

    def end(self) -> None:
        """The test has stopped and no request is in flight: send what is left."""
        load, self._load = self._load, None
        if load is not None:
            gevent.killall(self._greenlets)
            self._send(load.end().cut(), last=True)

    def _report(self, *, used_up: bool = False) -> None:
        if self._load is not None:
            self._send(self._load.record.cut(), used_up=used_up)

    def _send(self, record: Record, *, last: bool = False, used_up: bool = False) -> None:
        self._sent = self._sent.plus(record.consumed)
        self._ended = self._run_id if last else None
        piece = Piece(self._run_id, last, used_up, self._runner.user_count, record)
        self._runner.send_message(PIECE, piece.to_wire())


def order_for(wire: dict[str, Any], client_id: str) -> Order:
    """The order as one worker has it: with its part of the load, or none."""
    workers = wire["workers"]
    number = wire["numbers"].get(client_id, workers)
    return Order.from_wire({**wire["order"], "worker": number, "workers": workers})


def short_name(client_id: str) -> str:
    """A worker's host name and 8 of the 32 random signs after it, which tell it from another."""
    host, _, number = client_id.rpartition("_")
    return f"{host}_{number[:8]}" if host else client_id


@dataclass(slots=True)
class WorkerProgress:
    """What came from one worker, and when, by the master's clock."""

    number: int = 0  # of its share of an open loop's arrivals
    users: int = 0  # that it had when it last reported
    last_s: float | None = None  # when the newest piece came
    whole: bool = False  # its last piece has come, and with it all before
    left_early: bool = False  # it stopped by itself while the load went on

    def missing_words(self, client_id: str, *, users: int, started_s: float) -> str | None:
        """What a person should know is missing from it; None if nothing is. `users`: in all processes."""
        if self.whole and not self.left_early:
            return None
        name = short_name(client_id)
        if self.last_s is None:
            return (
                f"worker {name} was lost before anything came from it: nothing that it sent is counted, "
                "and its part of the load is not known"
            )
        share = self.users / users if users else 0.0
        at = f"{datetime.fromtimestamp(self.last_s, UTC):%H:%M:%S} UTC, {self.last_s - started_s:.0f} s"
        had = f"at {at} into the run: it had {self.users:,} of {users:,} users ({share:.0%} of the load)"
        if self.whole:
            return f"worker {name} left the run {had}; nothing that it sent is missing"
        return f"worker {name} was lost {had}; what it sent after that is not counted"


@dataclass(slots=True)
class Gatherer:
    """The master's side: merges pieces into one record. It is to a run what a `Load` is in one process."""

    behind_s: ClassVar[int] = PIECES_ARRIVE_S
    environment: Any
    order: Order
    record: Record
    started_s: float = 0.0
    clock: Callable[[], float] = field(default_factory=SteadyClock)
    used_up: Callable[[], None] = lambda: None  # a worker has used up its part of the budget
    workers: dict[str, WorkerProgress] = field(default_factory=dict)
    distrusted: set[str] = field(default_factory=set)  # workers whose pieces cannot be read
    halting: bool = False  # the load is being stopped: from now on a worker's last piece is expected
    loading: Event = field(default_factory=Event)  # set once a worker has reported
    pieces: int = 0  # that came

    def give_order(self) -> None:
        """Tell all workers what to do, and which part of the load is whose."""
        clients = self.environment.runner.clients
        workers = [worker for worker in clients if not self._gone(worker)]
        workers = workers or list(clients)  # all of them may only be slow, and come back
        self.workers = {name: WorkerProgress(number) for number, name in enumerate(workers)}
        self._publish(len(self.workers))

    def give_order_to(self, worker: str) -> None:
        """A worker has joined late: it has users of a closed loop, and no part of an open one."""
        if worker not in self.workers:
            self.workers[worker] = WorkerProgress(len(self.workers))
            published = getattr(self.environment.parsed_options, ORDER)
            self._publish(published["workers"] or 1)  # 0: no worker was there

    def _publish(self, workers: int) -> None:
        numbers = {name: arrived.number for name, arrived in self.workers.items()}
        wire = {"order": self.order.to_wire(), "numbers": numbers, "workers": workers}
        setattr(self.environment.parsed_options, ORDER, wire)

    def take(self, msg: Any) -> None:
        """Merge a piece that a worker sent; one that cannot be read makes the run invalid."""
        try:
            piece = Piece.from_wire(msg.data)
            if piece.run_id != self.order.run_id:
                return
            self.record.merge(piece.record)
        except DAMAGE as error:
            if msg.node_id not in self.distrusted:
                self.distrusted.add(msg.node_id)
                why = str(error) if type(error) is ValueError else f"{type(error).__name__}: {error}"
                words = f"what worker {short_name(msg.node_id)} sends is not counted: {why}"
                self.record.health.problems.append(words)
                tell(f"keyheat: {masked(words)}")
            return
        self.loading.set()
        arrived = self.workers.setdefault(msg.node_id, WorkerProgress())
        self.pieces += 1
        arrived.last_s, arrived.whole = self.clock(), piece.last
        if not piece.last:
            arrived.users = piece.users
        if piece.used_up and not self.halting:
            self.used_up()
        arrived.left_early = piece.last and not self.halting and arrived.users > 0

    def wait_out(self, duration_s: float) -> None:
        """Wait as long as the load lasts: from when a worker sends, which the master hears a beat later."""
        self.loading.wait()
        gevent.sleep(max(0.0, duration_s - BEAT_S))

    def end(self, silence_s: float = SILENCE_S) -> None:
        """Stop the workers, wait until the last piece of each has come, and name what is missing."""
        self.halting = True
        seen, waited_s, told_s = -1, 0.0, -inf
        while any(  # a piece may still come
            not arrived.whole
            and waited_s < (min(silence_s, GONE_SILENCE_S) if self._gone(name) else silence_s)
            for name, arrived in self.workers.items()
        ):
            if self.clock() - told_s > TELL_EVERY_S:
                self.stop()
                told_s = self.clock()
            waited_s = waited_s + 0.05 if self.pieces == seen else 0.0
            seen = self.pieces
            gevent.sleep(0.05)
        missing = self._missing(self.workers)
        self.record.health.missing += missing
        if len(missing) == len(self.workers):  # of a part that is missing a run says less, of all nothing
            self.record.health.problems.append("no worker was left at the end: nothing was sent from then on")

    def expect_end(self) -> None:
        """The load is being stopped: a worker that sends its last piece from now on does not leave early."""
        self.halting = True

    def stop(self) -> None:
        """Tell the workers that the run is over, which stops their users at once."""
        self.halting = True
        runner = self.environment.runner
        for worker, arrived in self.workers.items():
            if not arrived.whole:
                runner.send_message(HALT, (self.order.run_id, runner.environment.stop_timeout), worker)

    def _gone(self, client_id: str) -> bool:
        node = self.environment.runner.clients.get(client_id)
        return node is None or node.state == MISSING

    def missing_now(self) -> list[str]:
        return self._missing(
            name for name, arrived in self.workers.items() if arrived.left_early or self._gone(name)
        )

    def _missing(self, workers: Iterable[str]) -> list[str]:
        users, started_s = self.order.users, self.started_s
        words = (self.workers[name].missing_words(name, users=users, started_s=started_s) for name in workers)
        return [line for line in words if line]
