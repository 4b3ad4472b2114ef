"""Simulate a scenario on a virtual clock, second by second, and record what its client sees.

The record stays small however many requests a second has, and equals that of a load generator.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, Final

from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.resources import Refusal
from keyheat.model.retries import RetryPolicy
from keyheat.model.table import TableModel
from keyheat.scenario.keys import digest_of
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.capacity import CapacityTimeline, TimelineEvent, capacity_of
from keyheat.simulator.flow import WINDOW_S, WINDOWS_KEPT, FlowAnswer, KeyHistory, Traffic
from keyheat.simulator.requests import RetryTally
from keyheat.simulator.second import SimulatedTables
from keyheat.simulator.traffic import traffic_of
from keyheat.words import Direction

ROWS_OF_KEYS = 5
"""Throttle rows of one flow, second and reason that name a key; one more stands for all other keys."""
NOTABLE_SHARE = 0.02
"""Share of the throttles from which a key gets its own row."""


Row = tuple[str | None, str, str | None]  # index, direction, operation of the table's rows


@dataclass(slots=True)
class ClientRecord:
    """Everything that one client saw of the table that is judged, and counts of the tables beside it.

    `seconds` has the columns of `seconds.parquet`. `throttles` has, for each second: second, index,
    direction, reason, operation, key (a digest; None: one of the keys that are not hot), units of each
    attempt, and how many attempts. With `counts_only` it has no rows or keys: the files of a run need them,
    and `attempts` and `throttled`, by direction, are enough to compare runs.
    """

    counts_only: bool = False
    window_s: int = WINDOW_S  # of the hottest keys
    attempts: dict[Direction, int] = field(default_factory=lambda: dict.fromkeys(Direction, 0))
    throttled: dict[Direction, int] = field(default_factory=lambda: dict.fromkeys(Direction, 0))
    conflicts: int = 0
    loaded_s: int = 0  # seconds in which anything was sent
    seconds: list[tuple[Any, ...]] = field(default_factory=list)
    throttles: list[tuple[Any, ...]] = field(default_factory=list)
    keys: dict[tuple[str | None, Direction], KeyHistory] = field(default_factory=dict)  # of each index's own
    beside: dict[tuple[str, str], float] = field(default_factory=dict)  # (table, what)

    def __post_init__(self) -> None:
        for direction in Direction:
            self._keys(None, direction)

    def saw(self, second: int, answers: Sequence[FlowAnswer]) -> None:
        """Record one second's answers, except those to other clients."""
        rows: dict[Row, list[float]] = {}
        self.loaded_s += any(answer.attempts for answer in answers)
        for answer in answers:
            if not answer.flow.ours:
                continue
            if answer.flow.table is not None:
                self._beside(answer.flow.table, answer)
                continue
            self.attempts[answer.flow.direction] += answer.attempts
            self.throttled[answer.flow.direction] += answer.attempts - answer.accepted
            self.conflicts += answer.conflicts
            if self.counts_only:
                continue
            _count(rows, answer)
            self._throttles(second, answer)
            self._keys(answer.flow.index, answer.flow.direction).add(second, answer)
            for entry in answer.flow.index_writes:
                self._keys(entry.index, Direction.WRITE).add_entries(second, answer, entry)
        for (index, direction, operation), counts in rows.items():
            whole = [int(count) for count in counts[:4]]
            self.seconds.append((second, index, direction, operation, *whole, counts[4]))

    def _keys(self, index: str | None, direction: Direction) -> KeyHistory:
        return self.keys.setdefault((index, direction), KeyHistory(self.window_s))

    def end(self) -> None:
        """Close the windows that are still open at the end of the run."""
        for history in self.keys.values():
            history.close()

    def _beside(self, table: str, answer: FlowAnswer) -> None:
        counts = {
            "accepted": answer.accepted,
            "throttled": answer.attempts - answer.accepted,
            f"{answer.flow.direction}_units": answer.units + sum(answer.index_units.values()),
        }
        for what, count in counts.items():
            if count:
                self.beside[table, what] = self.beside.get((table, what), 0.0) + count

    def _throttles(self, second: int, answer: FlowAnswer) -> None:
        flow = answer.flow
        for (index, cause), count in answer.refused.items():
            refusal = Refusal(index, flow.direction, cause)
            of_batch = flow.items > 1  # partly failed batches carry no reason
            reason = None if of_batch else index, flow.direction.value, None if of_batch else refusal.reason
            units = flow.units + sum(entry.units for entry in flow.index_writes)
            remaining = count
            uses = answer.uses
            if uses is not None:
                for name, some in uses.throttled(refusal, count, ROWS_OF_KEYS, NOTABLE_SHARE):
                    self.throttles.append((second, *reason, flow.operation, digest_of(name), units, some))
                    remaining -= some
            if remaining:
                self.throttles.append((second, *reason, flow.operation, None, units, remaining))


def _count(rows: dict[Row, list[float]], answer: FlowAnswer) -> None:
    """Add attempts, accepted, throttled, errors and units: of the table, and of each index."""

    def add(index: str | None, operation: str | None, *counts: float) -> None:
        row = rows.setdefault((index, answer.flow.direction.value, operation), [0.0] * 5)
        row[:] = [before + each for before, each in zip(row, counts, strict=True)]

    flow, accepted, conflicts = answer.flow, answer.accepted, answer.conflicts
    units = answer.units if flow.index is None else 0.0
    attempts = answer.attempts + conflicts
    add(None, flow.operation, attempts, accepted, answer.attempts - accepted, conflicts, units)
    indexes = dict(answer.index_units) | ({} if flow.index is None else {flow.index: answer.units})
    for name, consumed in indexes.items() if accepted else ():
        add(name, None, accepted, accepted, 0, 0, consumed)
    for (index, _cause), count in answer.refused.items() if flow.items == 1 else ():  # a batch has no reason
        if index is not None:
            add(index, None, count, 0, count, 0, 0.0)


SIMULATED_START_S: Final = 1_796_083_200.0
"""Default start of simulated runs, a whole hour: 2026-12-01T00:00:00Z."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """A scenario that has been simulated. Times are epoch seconds of the virtual clock."""

    scenario: Scenario
    seed: int
    started_s: float
    ended_s: float
    models: Mapping[str, TableModel]  # by table name: the scenario's own and its companions
    client: ClientRecord
    log: tuple[TimelineEvent, ...] = ()
    """Changes by the timeline and by auto scaling."""
    counted: Mapping[str, float] = field(default_factory=dict)
    """What the load test counted, by `group.what`."""
    tally: RetryTally = field(default_factory=RetryTally)
    """Of a run with retries: what its clients did."""
    under_way: int = 0  # requests that are neither accepted nor given up at its end

    @property
    def model(self) -> TableModel:
        """The scenario's own table."""
        return self.models[self.scenario.table.name]


def simulate(
    scenario: Scenario,
    *,
    started_s: float = SIMULATED_START_S,
    seed: int | None = None,
    traffic: Traffic | None = None,
    folder: Path = Path(),
    behaviour: Behaviour = DEFAULT,
    progress: Callable[[float], None] | None = None,
    counts_only: bool = False,
    until: Callable[[ClientRecord], bool] | None = None,
    policy: RetryPolicy | None = None,
    clients: int | None = None,
    tail_s: int = 0,
) -> Simulation:
    """Send the scenario's load to a model of its tables: the same seed gives the same result, bit by bit.

    `traffic` is sent in place of what the scenario's load test sends; `folder` is the scenario's, where its
    trace is. `progress` is told every second how much of the run is done, from 0 to 1. `counts_only`: for
    its outcome, and not for its files (see `ClientRecord`). A run for which `until` becomes true ends there.
    `policy`: what is throttled is sent again by it, request by
    request, by this many `clients` (absent: the scenario's), and for `tail_s` after the load; absent: each
    request is sent once.
    """
    seed = scenario.seed if seed is None else seed
    if traffic is None:
        traffic = traffic_of(scenario, seed=seed, folder=folder)
    models = {
        table.name: TableModel(
            capacity_of(table), now_s=started_s, scale=scenario.local.scale, seed=seed + number,
            behaviour=behaviour,
        )
        for number, table in enumerate((scenario.table, *scenario.companions))
    }  # fmt: skip
    load_s = scenario.load.duration_s
    client = ClientRecord(counts_only, WINDOW_S * max(1, ceil(load_s / (WINDOW_S * WINDOWS_KEPT))))
    stated_s = scenario.local.transaction_s
    tables = SimulatedTables(
        models,
        own_table=scenario.table.name,
        seed=seed,
        started_s=started_s,
        policy=policy,
        clients=scenario.client.clients if clients is None else clients,
        transaction_s=behaviour.transaction_s if stated_s is None else stated_s,
        names_keys=not counts_only,
    )
    timeline = CapacityTimeline(scenario, started_s=started_s, seed=seed, behaviour=behaviour)
    at_s, seconds = 0, ceil(load_s)
    while at_s < seconds or (tables.queue.under_way and at_s < seconds + tail_s):
        now_s = started_s + at_s
        timeline(models[scenario.table.name], now_s)
        flows = traffic.second(at_s)
        answers = tables.second(flows, now_s)
        traffic.answered(at_s, answers[: len(flows)])
        client.saw(int(now_s), answers)
        at_s += 1
        if progress is not None:
            progress(min(1.0, at_s / seconds))
        if until is not None and until(client):
            break
    client.end()
    return Simulation(
        scenario=scenario,
        seed=seed,
        started_s=started_s,
        ended_s=started_s + at_s,
        models=models,
        client=client,
        log=tuple(timeline.log),
        counted={**traffic.counts, **(tables.queue.tally.counts if policy else {})},
        tally=tables.queue.tally,
        under_way=tables.queue.under_way,
    )
