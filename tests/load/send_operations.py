"""Sends every operation some times in a fixed order, and prints what was recorded of it as JSON.

Run as `python -m tests.load.send_operations TRANSPORT URL SCENARIO TIMES`: Locust replaces the sockets
of the process that it is imported into, so this is none of the tests' own.
"""

import json
import sys
from pathlib import Path
from typing import Any

import locust

from keyheat.load.run.load import Order, start_load
from keyheat.load.tables.lifecycle import RunTables
from keyheat.load.transport.target import target_at
from keyheat.scenario.scenario import load_scenario
from loadtests.operations import OperationsUser


def main(transport: str, url: str, path: str, times: str) -> None:
    """Send, and print."""
    scenario = load_scenario(Path(path))
    RunTables(target=target_at(url), run_id="operations", alone=True).prepare(scenario.table)
    order = Order(
        run_id="operations",
        scenario=scenario,
        url=url,
        region="us-east-1",
        transport=transport,
        show_keys=True,
        users=1,
    )
    environment: Any = locust.env.Environment(user_classes=[OperationsUser])
    load = start_load(order, environment)
    user = OperationsUser(environment)
    operations = [operation for operation, _weight in user.task_weights()]
    for _ in range(int(times)):
        for operation in operations:
            operation()
    record = load.record
    rows: dict[str, list[float]] = {}
    for row, counts in record.seconds.rows.items():
        name = f"{row.operation or row.resource} {row.direction}"
        rows[name] = [
            one + other for one, other in zip(rows.get(name, [0] * len(counts)), counts, strict=True)
        ]
    throttles = record.throttles.table()
    result = {
        "rows": rows,
        "counted": record.counted,
        "errors": dict(record.errors_by_kind),
        "timed": {tag: int(latency.counts().sum()) for tag, latency in record.latencies.items()},
        "throttles": throttles.select(["operation", "reason", "direction", "units"]).to_pylist(),
    }
    print(json.dumps(result))
    load.transport.close()
    record.heat.clear()


if __name__ == "__main__":
    main(*sys.argv[1:])
