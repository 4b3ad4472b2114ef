"""Evidence of a simulated run: what DescribeTable, CloudWatch and the client would have said of it.

The same series under the same names and periods as `collect` asks for. Of what a simulation knows nothing,
such as latencies, the series stay empty.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from keyheat.evidence.collection import run_window
from keyheat.evidence.series import Points, series_of
from keyheat.model.minutes import Datapoint, Dimensions
from keyheat.model.table import TableModel
from keyheat.runfiles import SIMULATED
from keyheat.runs.client import seconds_summed, throttles_counted
from keyheat.runs.formats import AccountFacts, Evidence, SecondCount, TableFacts, ThrottleCount
from keyheat.runs.manifest import Manifest
from keyheat.runs.metrics import series_keys
from keyheat.simulator.folder import table_facts, throttles_table
from keyheat.simulator.simulate import Simulation

_INDEX, _OPERATION = "GlobalSecondaryIndexName", "Operation"
_STATISTICS: Final[Mapping[str, Callable[[Datapoint], float]]] = {
    "Sum": lambda point: point.sum,
    "SampleCount": lambda point: float(point.count),
    "Average": lambda point: point.sum / point.count,
    "Minimum": lambda point: point.minimum,
    "Maximum": lambda point: point.maximum,
}


def evidence_of(simulation: Simulation) -> Evidence:
    """Everything that could be known of a simulated run once its last minute is published."""
    table = TableFacts.model_validate(table_facts(simulation.model, simulation.scenario.table.name))
    run = Manifest(
        target=SIMULATED,
        started_at=datetime.fromtimestamp(simulation.started_s, UTC),
        ended_at=datetime.fromtimestamp(simulation.ended_s, UTC),
        table=table,
    )
    window = run_window(run, simulation.ended_s)
    points = _points(simulation.model, table, window.start.timestamp(), window.end.timestamp())
    account = simulation.model.capacity.account
    throttles = throttles_counted(throttles_table(simulation))
    seconds = seconds_summed(simulation.client.seconds_table())
    return Evidence(
        table=table,
        account=AccountFacts(table_read=account.read, table_write=account.write),
        window=window,
        series=series_of(points, window),
        throttles=tuple(ThrottleCount(**row) for row in throttles.to_pylist()),
        seconds=tuple(SecondCount(consumed=row.pop("consumed_units"), **row) for row in seconds.to_pylist()),
        scale=simulation.scenario.local.scale,
    )


def _points(model: TableModel, table: TableFacts, start_s: float, end_s: float) -> Points:
    """The points of every series that would be asked for; one of which there are none is kept as such."""
    published = {
        (one.metric, one.period_s, *_whose(one.dimensions)): one.points
        for one in model.minutes.series(table.name, start_s, end_s)
    }
    return {
        key: {
            datetime.fromtimestamp(point.start_s, UTC): _STATISTICS[key.statistic](point)
            for point in published.get((key.metric, key.period_s, key.index, key.operation), ())
        }
        for key in series_keys([index.name for index in table.indexes])
    }


def _whose(dimensions: Dimensions) -> tuple[str | None, str | None]:
    """The index and the operation that a series is of."""
    named = dict(dimensions)
    return named.get(_INDEX), named.get(_OPERATION)
