"""The kinds of load that the cases need: each sends requests to a model, one by one, and keeps a record."""

from collections.abc import Callable
from heapq import heappop, heappush
from random import Random
from typing import Any

from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.table import IndexWrite, TableModel
from keyheat.words import Direction
from tests.calibration.cases import Case
from tests.calibration.keys import keys_of
from tests.calibration.record import Attempt, Record

START_S = 1_800_000_000.0
LEGACY_BASE_S = 0.05  # botocore's "legacy" retries for DynamoDB sleep 0.05 x 2^n seconds
LEGACY_RETRIES = 9


class Sender:
    """A client of one table: sends a request on a connection, and writes down what became of it."""

    def __init__(self, case: Case, seed: int, behaviour: Behaviour) -> None:
        self.scale = case.load.get("scale", 1.0)
        self.history_s = sum(p["seconds"] for p in case.load.get("phases", ()) if p.get("history"))
        self.rng = Random(seed)
        self.indexed_share = case.load.get("indexed_share", 1.0)
        self.indexes = [index["name"] for index in case.table.get("indexes", ())]
        self.hosts = case.load.get("index_keys", 200)
        self.record = Record(
            TableModel(
                case.capacity,
                now_s=START_S,
                scale=self.scale,
                seed=seed,
                behaviour=behaviour,
            ),
            self.scale,
        )

    def send(
        self, at_s: float, position: bytes, units: float, *, connection: int | None = None,
        verb: str = "write", eventual: bool = False, label: str = "", index: str | None = None,
        entry_units: float = 1.0,
    ) -> bool:  # fmt: skip
        """Whether the request was served; `index` is the one that is read."""
        model, now_s = self.record.model, START_S + self.history_s + at_s
        index_units = 0.0
        if verb == "read":
            refusal = model.admit_read(
                position, units, now_s, index=index, eventual=eventual, connection=connection
            )
        else:
            entries = self._entries(entry_units)
            index_units = sum(entry.units for entry in entries)
            refusal = model.admit_write(position, units, now_s, entries, connection=connection)
        direction = Direction.READ if verb == "read" else Direction.WRITE
        self.record.attempts.append(Attempt(at_s, direction, units, index_units, refusal, label))
        return refusal is None

    def count_partitions(self, at_s: float) -> None:
        """Note how many partitions the table has."""
        self.record.partitions.append((at_s, self.record.model.partition_count()))

    def _entries(self, units: float) -> tuple[IndexWrite, ...]:
        if not self.indexes or not units or self.rng.random() >= self.indexed_share:
            return ()
        key = b"host-%d" % self.rng.randrange(self.hosts)
        return tuple(IndexWrite(name, key.ljust(8, b"-"), units) for name in self.indexes)


def threads(case: Case, sender: Sender) -> None:
    """`threads` clients, each with one request in flight, that share `requests` or go on for `seconds`.

    A refused request is tried again after `base_s` x 2^n seconds, with full jitter where `jitter` is set.
    """
    load = case.load
    keys, taken = keys_of(load.get("keys", {}), sender.rng), 0
    requests, seconds = load.get("requests", 10**9), load.get("seconds", 1e9)
    block = load.get("block", requests)
    waiting: list[tuple[float, int, bytes, int, int]] = []
    for thread in range(load.get("threads", 1)):
        heappush(waiting, (0.0, thread, keys(taken), 0, taken))
        taken += 1
    ends: dict[int, float] = {}
    throttles: dict[int, int] = {}
    at_s = 0.0
    while waiting:
        at_s, thread, position, tries, number = heappop(waiting)
        if at_s >= seconds:
            continue
        if sender.send(at_s, position, load.get("units", 1.0), connection=thread):
            at_s += load["service_s"]
            ends[number // block] = at_s
            if taken < requests:
                heappush(waiting, (at_s, thread, keys(taken), 0, taken))
                taken += 1
            continue
        throttles[number // block] = throttles.get(number // block, 0) + 1
        pause_s = min(load.get("longest_s", 1e9), load.get("base_s", LEGACY_BASE_S) * 2**tries)
        if load.get("jitter"):
            pause_s *= sender.rng.random()
        heappush(waiting, (at_s + pause_s + load.get("refused_s", 0.0), thread, position, tries + 1, number))
    sender.record.elapsed_s = min(at_s, seconds)
    for number in ends:
        sender.record.notes[f"elapsed_s_block_{number + 1}"] = ends[number] - ends.get(number - 1, 0.0)
        sender.record.notes[f"throttles_block_{number + 1}"] = throttles.get(number, 0)


def batches(case: Case, sender: Sender) -> None:
    """`threads` batch writers: what was not processed goes into the next batch, at once; a batch of which
    nothing was processed is tried again after 0.05 x 2^n seconds, and the writer gives up after nine retries.
    """
    load = case.load
    keys, size = keys_of({}, sender.rng), load["items"]
    refused_batches = 0
    waiting = [(0.0, thread, 0) for thread in range(load["threads"])]
    at_s = gave_up_s = 0.0
    taken = 0
    while waiting:
        at_s, thread, tries = heappop(waiting)
        if at_s >= load["seconds"]:
            continue
        served = 0
        for _ in range(size):
            served += sender.send(at_s, keys(taken), 1.0, connection=thread)
            taken += 1
        if served:
            heappush(waiting, (at_s + load["service_s"], thread, 0))
            continue
        refused_batches += 1
        if tries < LEGACY_RETRIES:
            heappush(waiting, (at_s + LEGACY_BASE_S * 2**tries, thread, tries + 1))
        else:
            gave_up_s = at_s
    record = sender.record
    record.elapsed_s = max(at_s, load["seconds"])
    record.notes["throttled_batches"] = refused_batches
    record.notes["writers_gave_up"] = float(gave_up_s > 0)
    record.notes["index_units_first_minute"] = record.metric("index_units", 0.0, 60.0)
    record.notes["index_throttle_events"] = record.metric("reason:IndexWriteProvisionedThroughputExceeded")
    record.notes["table_throttle_events"] = record.metric("throttles") - record.notes["index_throttle_events"]


def waves(case: Case, sender: Sender) -> None:
    """Requests at given times; each of a wave has a connection of its own, unless the step names one.

    All steps are repeated `times` times, `every_s` apart. With `connections`, each has one of so many.
    """
    load = case.load
    keys = keys_of(load.get("keys", {"kind": "item"}), sender.rng)
    anew = [time * load.get("every_s", 0.0) for time in range(load.get("times", 1))]
    for begins_s, step in ((begins_s, step) for begins_s in anew for step in load["steps"]):
        for number in range(step.get("requests", 1)):
            drawn = sender.rng.randrange(load["connections"]) if "connections" in load else number
            sender.send(
                begins_s + step["at_s"] + number * step.get("apart_s", 0.0), keys(number), step["units"],
                connection=step.get("connection", drawn), verb=step.get("verb", "write"),
                eventual=step.get("eventual", False), label=step.get("label", ""),
                index=step.get("index"), entry_units=step.get("entry_units", 1.0),
            )  # fmt: skip
    sender.record.elapsed_s = anew[-1] + load["steps"][-1]["at_s"] + 1.0


def phases(case: Case, sender: Sender) -> None:
    """Open loops one after the other: `write_per_s` and `read_per_s` units, in requests of `units` each.

    A rate may be a pair: a ramp from the first to the second. `history = true`: time counts from its end.
    """
    load = case.load
    keys = keys_of(load.get("keys", {}), sender.rng)
    at_s = -float(sender.history_s)
    sent = 0
    for phase in load["phases"]:
        for second in range(int(phase["seconds"])):
            part = second / phase["seconds"]
            arrivals = sorted(
                (sender.rng.random() if load.get("random") else (number + 0.5) / count, verb)
                for verb in ("write", "read")
                for count in [_requests(phase, verb, part, sender)]
                for number in range(count)
            )
            for share, verb in arrivals:
                sender.send(
                    at_s + share, keys(sent), phase.get("units", 1.0), verb=verb,
                    eventual=load.get("eventual", False),
                )  # fmt: skip
                sent += 1
            at_s += 1.0
            sender.count_partitions(at_s)
    sender.record.elapsed_s = at_s


def _requests(phase: dict[str, Any], verb: str, part: float, sender: Sender) -> int:
    rate = phase.get(f"{verb}_per_s", 0.0)
    if isinstance(rate, list):
        rate = rate[0] + (rate[1] - rate[0]) * part
    mean = rate * sender.scale / phase.get("units", 1.0)
    return int(mean + sender.rng.random())


KINDS: dict[str, Callable[[Case, Sender], None]] = {
    "threads": threads, "batches": batches, "waves": waves, "phases": phases,
}  # fmt: skip


def run(case: Case, seed: int, behaviour: Behaviour = DEFAULT) -> Record:
    """The record of one run of a case."""
    sender = Sender(case, seed, behaviour)
    sender.count_partitions(-1e9)
    KINDS[case.load["kind"]](case, sender)
    return sender.record
