"""Evidence of a simulated run, as DescribeTable, CloudWatch and the client would report it.

Contains the same series, names and periods as `collect`. Series that a simulation does not model, such as
latencies, stay empty.
"""

from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Any

from keyheat.evidence.series import Points, series_of
from keyheat.model.minutes import Datapoints
from keyheat.model.table import TableModel
from keyheat.runfiles import SIMULATED
from keyheat.runs.formats import Evidence, SecondCount, ThrottleCount
from keyheat.runs.manifest import Manifest, run_window
from keyheat.runs.metrics import series_keys
from keyheat.runs.table_facts import AccountFacts, TableFacts
from keyheat.simulator.folder import table_facts
from keyheat.simulator.simulate import ClientRecord, Simulation
from keyheat.words import Direction


def evidence_of(simulation: Simulation) -> Evidence:
    """Build the evidence of a simulated run after its last minute is published."""
    table = TableFacts.model_validate(table_facts(simulation.model, simulation.scenario.table))
    run = Manifest(
        target=SIMULATED,
        started_at=datetime.fromtimestamp(simulation.started_s, UTC),
        ended_at=datetime.fromtimestamp(simulation.ended_s, UTC),
        table=table,
    )
    window = run_window(run, simulation.ended_s)
    points = _points(simulation.model, table, window.start.timestamp(), window.end.timestamp())
    account = simulation.model.capacity.account
    return Evidence(
        table=table,
        account=AccountFacts(table_read=account.read, table_write=account.write),
        window=window,
        series=series_of(points, window),
        throttles=_throttles(simulation.client),
        seconds=_seconds(simulation.client),
        scale=simulation.scenario.local.scale,
        source="simulated",
    )


def _throttles(client: ClientRecord) -> tuple[ThrottleCount, ...]:
    """Throttled attempts per second, resource, direction and reason, in order."""
    counts: Counter[tuple[int, str | None, str, str | None]] = Counter()
    for second, index, side, reason, _operation, _key, _units, count in client.throttles:
        counts[second, index, side, reason] += count
    return tuple(
        ThrottleCount(
            second=datetime.fromtimestamp(second, UTC), index=index, direction=Direction(side),
            reason=reason, count=counts[second, index, side, reason],
        )
        for second, index, side, reason in sorted(counts, key=_nulls_last)
    )  # fmt: skip


def _seconds(client: ClientRecord) -> tuple[SecondCount, ...]:
    """Attempts, throttles and consumed units per second, resource and direction, in order."""
    sums: defaultdict[tuple[int, str | None, str], list[float]] = defaultdict(lambda: [0, 0, 0.0])
    for second, index, side, _of, attempts, _accepted, throttled, _errors, units in client.seconds:
        row = sums[second, index, side]
        row[:] = row[0] + attempts, row[1] + throttled, row[2] + units
    return tuple(
        SecondCount(
            second=datetime.fromtimestamp(second, UTC), index=index, direction=Direction(side),
            attempts=int(attempts), throttled=int(throttled), consumed=units,
        )
        for second, index, side in sorted(sums, key=_nulls_last)
        for attempts, throttled, units in [sums[second, index, side]]
    )  # fmt: skip


def _nulls_last(row: tuple[Any, ...]) -> list[tuple[bool, Any]]:
    """Sort key that puts missing values last, as in files."""
    return [(value is None, value) for value in row]


def _points(model: TableModel, table: TableFacts, start_s: float, end_s: float) -> Points:
    """Points of every requested series; series without points stay as empty ones.

    A series has no further dimension, because PartiQL is not simulated.
    """
    published: dict[tuple[object, ...], Datapoints] = {}
    for series in model.minutes.series(table.name, start_s, end_s):
        named = dict(series.dimensions)
        owner = named.get("GlobalSecondaryIndexName"), named.get("Operation"), None
        published[series.metric, series.period_s, *owner] = series.points
    keys = series_keys([index.name for index in table.indexes], replicas=table.replicas)
    return {
        key: {
            datetime.fromtimestamp(start_s, UTC): tally.statistic(key.statistic) or 0.0
            for start_s, tally in published.get(
                (key.metric, key.period_s, key.index, key.operation, key.dimension), {}
            ).items()
        }
        for key in keys
    }
