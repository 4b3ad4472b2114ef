"""What workers record arrives at the master, whole, or the master says what is missing."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import gevent
import msgpack  # type: ignore[import-untyped]
import pytest

from keyheat.load.record.record import Piece, Record
from keyheat.load.record.rows import ATTEMPTS
from keyheat.load.run import workers
from keyheat.load.run.load import BEAT_S, Order
from keyheat.load.run.watch import Caps
from keyheat.load.run.workers import HALT, ORDER, PIECE, Gatherer, Worker, WorkerProgress, order_for
from tests.make import a_plan, an_attempt


def order(url: str = "http://127.0.0.1:1") -> Order:
    return Order(plan=a_plan(), run_id="run-1", url=url, region="us-east-1", users=4)


@dataclass
class Wire:
    """Stands for Locust's runners on both sides: what one sends, the other's listener gets, as msgpack."""

    client_id: str = "a"
    worker_index: int = 0
    clients: dict[str, Any] = field(default_factory=lambda: {"a": SimpleNamespace(state="running")})
    user_count: int = 3
    last_heartbeat_timestamp: float | None = None
    listeners: dict[str, Any] = field(default_factory=dict)
    quits: int = 0
    environment: Any = field(default_factory=lambda: SimpleNamespace(stop_timeout=0.0))

    def register_message(self, kind: str, listener: Any, concurrent: bool = False) -> None:
        self.listeners[kind] = listener

    def send_message(self, kind: str, data: Any, client_id: str | None = None) -> None:
        if kind in self.listeners:
            plain = msgpack.unpackb(msgpack.packb(data), strict_map_key=False)
            message = SimpleNamespace(data=plain, node_id=self.client_id)
            self.listeners[kind](environment=None, msg=message)

    def stop(self) -> None:
        self.listeners["stop"]()

    def quit(self) -> None:
        self.quits += 1


def connected(the_order: Order) -> tuple[Gatherer, Worker, Any]:
    wire = Wire()
    environment = SimpleNamespace(runner=wire, parsed_options=SimpleNamespace())
    worker = Worker(environment)
    gatherer = Gatherer(environment, the_order, Record())
    wire.listeners["stop"] = worker.end
    wire.register_message(PIECE, lambda environment, msg: gatherer.take(msg))
    gatherer.give_order()
    return gatherer, worker, environment


def test_every_piece_arrives() -> None:
    gatherer, worker, environment = connected(order())
    worker.begin()
    for number in range(30):
        environment.keyheat.record.add(an_attempt(number, units=1.0))
        if number % 10 == 0:
            worker._report()
    gatherer.end()
    environment.runner.send_message(HALT, (gatherer.order.run_id, 0.0))  # it has reported
    assert gatherer.record.seconds.of_requests()[ATTEMPTS] == 30
    assert gatherer.record.heat["write"].sketch.units.total == 30
    assert gatherer.record.health.problems == []
    assert gatherer.workers["a"].whole


def test_the_time_of_a_load_counts_from_when_a_worker_sends() -> None:
    gatherer, worker, _environment = connected(order())
    waits = gevent.spawn(gatherer.wait_out, BEAT_S)
    gevent.sleep(0.01)
    assert not waits.ready(), "no worker has begun"
    worker.begin()
    worker.end()
    waits.join()


def test_a_lost_worker_is_named_with_what_it_carried() -> None:
    gatherer, worker, environment = connected(order())
    gatherer.workers["b"] = WorkerProgress(last_s=1.0, whole=True)
    worker.begin()
    environment.keyheat.record.add(an_attempt(1, units=1.0))
    worker._report()
    environment.runner.listeners.pop(HALT)  # it was killed: it hears no more
    gatherer.end(silence_s=0.1)
    worker.end()
    health = gatherer.record.health
    (line,) = health.missing
    assert line.startswith("worker a was lost at ")
    assert "it had 3 of 4 users (75% of the load); what it sent after that" in line
    assert health.problems == []
    assert gatherer.record.seconds.of_requests()[ATTEMPTS] == 1


def test_a_run_that_lost_every_worker_says_nothing() -> None:
    gatherer, worker, environment = connected(order())
    worker.begin()
    environment.runner.listeners.pop(HALT)
    gatherer.end(silence_s=0.1)
    worker.end()
    (line,) = gatherer.record.health.missing
    assert "worker a was lost before anything came from it" in line
    assert "no worker was left" in gatherer.record.health.problems[0]


def test_a_worker_that_goes_by_itself_is_named_but_nothing_of_it_is_lost() -> None:
    gatherer, worker, _environment = connected(order())
    gatherer.workers["b"] = WorkerProgress(last_s=1.0, whole=True)
    worker.begin()
    worker._report()
    worker.end()
    gatherer.end()
    (line,) = gatherer.record.health.missing
    assert line.startswith("worker a left the run at ")
    assert "nothing that it sent is missing" in line


def test_pieces_of_another_run_are_not_taken() -> None:
    gatherer, _worker, environment = connected(order())
    environment.runner.send_message(PIECE, piece(run_id="run-0", last=True))
    assert gatherer.pieces == 0


@pytest.mark.usefixtures("no_account")
def test_a_worker_without_credentials_makes_the_run_invalid() -> None:
    gatherer, worker, environment = connected(order("https://dynamodb.eu-west-1.amazonaws.com"))
    with pytest.raises(gevent.GreenletExit):
        worker.begin()
    gatherer.end()
    gevent.sleep(0)
    assert "no AWS credentials found" in gatherer.record.health.problems[0]
    assert environment.runner.quits == 1


def test_every_worker_has_its_part_and_one_that_joins_late_has_none() -> None:
    nodes = {name: SimpleNamespace(state="running") for name in "abc"}
    environment = SimpleNamespace(runner=Wire(clients=nodes), parsed_options=SimpleNamespace())
    gatherer = Gatherer(environment, order(), Record())

    def parts() -> dict[str, tuple[int, int]]:
        wire = msgpack.unpackb(msgpack.packb(getattr(environment.parsed_options, ORDER)))
        orders = {name: order_for(wire, name) for name in gatherer.workers}
        return {name: (order.worker, order.workers) for name, order in orders.items()}

    gatherer.give_order()
    assert parts() == {"a": (0, 3), "b": (1, 3), "c": (2, 3)}
    gatherer.give_order_to("d")
    assert parts()["d"] == (3, 3)
    for node in nodes.values():
        node.state = "missing"  # slow when the order is given: they have their parts when they come back
    gatherer.give_order()
    assert [parts()[name] for name in "abc"] == [(0, 3), (1, 3), (2, 3)]
    nodes.clear()
    gatherer.give_order()
    gatherer.give_order_to("late")
    assert parts()["late"] == (0, 1)


def capped(units: float) -> Order:
    return replace(order(), caps=Caps(units=units))


def test_a_worker_whose_part_is_used_up_sends_no_more_and_the_master_ends_the_run() -> None:
    ended: list[str] = []
    gatherer, worker, environment = connected(capped(1_000.0))
    gatherer.used_up = lambda: ended.append("used up")
    worker.begin()
    environment.keyheat.record.add(an_attempt(1, units=600.0))
    worker._used_up()
    assert environment.keyheat.stopped.is_set()
    assert ended == ["used up"]
    assert gatherer.record.consumed.units == 600.0, "what it consumed came with it"
    worker.end()


def test_a_worker_takes_the_others_to_consume_as_much_as_it_does() -> None:
    _gatherer, worker, environment = connected(replace(capped(1_000.0), workers=4))
    worker.begin()
    environment.keyheat.order = replace(environment.keyheat.order, workers=4)
    environment.keyheat.record.add(an_attempt(1, units=50.0))
    worker._report()
    environment.keyheat.record.add(an_attempt(2, units=100.0))
    assert worker.consumed_by_all().units == 600.0
    worker.end()


def test_a_worker_that_did_not_listen_yet_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "TELL_EVERY_S", 0.0)
    gatherer, _worker, environment = connected(order())
    listener, runner = environment.runner.listeners.pop(HALT), environment.runner
    gevent.spawn(runner.register_message, HALT, listener)
    gatherer.end()
    assert gatherer.record.health.missing == []
    assert gatherer.workers["a"].whole


def piece(**more: Any) -> dict[str, Any]:
    return {**Piece("run-1", False, False, 1, Record()).to_wire(), **more}


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        pytest.param(piece(version="0.9"), "it runs Keyheat 0.9, and its master ", id="another version"),
        pytest.param(piece(record=b"\xc1garbage"), "FormatError", id="garbage"),
        pytest.param(piece(record=msgpack.packb({})), "KeyError: 'seconds'", id="nothing at all"),
    ],
)
def test_a_piece_that_cannot_be_read_is_not_counted_and_the_run_says_nothing(
    sent: Any, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    gatherer, worker, environment = connected(order())
    worker.begin()
    for number in range(3):
        environment.keyheat.record.add(an_attempt(number, units=1.0))
    worker.end()
    before = gatherer.record.to_wire()
    for _ in range(2):
        gatherer.take(SimpleNamespace(data=sent, node_id="host_0123456789abcdef"))
    after = gatherer.record.to_wire()
    (problem,) = after["health"].pop("problems")
    before["health"].pop("problems")
    assert after == before
    assert problem.startswith(f"what worker host_01234567 sends is not counted: {why}")
    assert capsys.readouterr().err == f"keyheat: {problem}\n", "it is said once"
