"""The run directory of a simulated run, with the same files as a load.

It has no latencies, and no generator that could be the limit.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from keyheat.model.table import TableModel
from keyheat.runfiles import LATENCY, SIMULATED, time_of
from keyheat.runs.folder import (
    COUNTS,
    TOP_KEYS,
    RunFiles,
    RunFolder,
    hot_keys,
    keys_json,
    totals_json,
    versions,
)
from keyheat.runs.manifest import Keys
from keyheat.scenario.keys import digest_of
from keyheat.scenario.spec.tables import TableSpec
from keyheat.simulator.capacity import capacity_of
from keyheat.simulator.flow import KeyHistory, hottest
from keyheat.simulator.simulate import ClientRecord, Simulation
from keyheat.words import WRITES_FIRST, Direction

if TYPE_CHECKING:
    import pyarrow as pa

US_PER_S: Final = 1_000_000
NO_GENERATOR: Final = "simulated on a virtual clock: no generator that could have been the limit"


def write_run(
    simulation: Simulation,
    folder: Path,
    *,
    scenario_path: str | None = None,
    show_keys: bool = False,
    notes: Sequence[str] = (),
) -> None:
    """Write every file of a run but those of the analyzer. Raises `CannotWrite`.

    The same simulation gives the same files, bit by bit. `notes`: what of the load was not simulated.
    """
    from keyheat.runs.parquet import THROTTLES_SCHEMA
    from keyheat.runs.partitions import partitions_table  # pyarrow, which no check needs

    names = ("at", "index", "direction", "reason", "operation", "key", "units", "count")
    throttles = [
        dict(zip(names, (second * US_PER_S, *row), strict=True))
        for second, *row in simulation.client.throttles
    ]
    record = simulation.model.partition_record()
    files = RunFiles(
        seconds=seconds_table(simulation),
        throttles=THROTTLES_SCHEMA.empty_table().from_pylist(throttles, THROTTLES_SCHEMA),
        keys=_hot_keys(simulation, show=show_keys),
        write_latencies=lambda file: file.write(f"#[{LATENCY}]\n".encode()),
        partitions=partitions_table(record, simulation.started_s, simulation.ended_s),
    )
    RunFolder(folder, manifest_of(simulation, scenario_path, notes)).end(files, {})


def manifest_of(
    simulation: Simulation, scenario_path: str | None = None, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """The content of `run.json`; `scenario_path` is where the scenario was read from."""
    scenario, seed, started_s = simulation.scenario, simulation.seed, simulation.started_s
    raw = scenario.model_dump(mode="json")
    beside = {f"tables.{name}.{what}": number for (name, what), number in simulation.client.beside.items()}
    counted = {**simulation.counted, **beside}  # by the load test, and requests to the companion tables
    # As it was at the start: what it has become is the evidence's to say.
    table = TableModel(capacity_of(scenario.table), now_s=started_s)
    return {
        "run_id": sha256(orjson.dumps([raw, seed], option=orjson.OPT_SORT_KEYS)).hexdigest()[:12],
        "scenario": raw,
        "scenario_path": scenario_path,
        "seed": seed,
        "target": SIMULATED,
        "scale": scenario.local.scale,
        "started_at": time_of(started_s),
        "versions": versions("keyheat"),
        "table": table_facts(table, scenario.table),
        "users": scenario.load.users,
        "status": "finished",
        "ended_at": time_of(simulation.ended_s),
        "generator": {"bound": False, "checks": [NO_GENERATOR], "missing": list(notes)},
        "totals": _totals(simulation.client),
        "counted": {name: round(count, 1) for name, count in sorted(counted.items())},
        "timeline": [event.to_json() for event in simulation.log],
    }


def _totals(client: ClientRecord) -> dict[str, Any]:
    counts, units, reasons = Counter[str](), Counter[str](), Counter[str | None]()
    for _second, index, side, _operation, *numbers, consumed in client.seconds:
        units[side] += consumed
        if index is None:
            counts.update(dict(zip(COUNTS, numbers, strict=True)))
    for _second, _index, _side, reason, _operation, _key, _units, count in client.throttles:
        reasons[reason] += count
    conflicts = {"TransactionConflict": client.conflicts} if client.conflicts else {}
    return totals_json(counts, units, reasons, conflicts)


def keys_of(simulation: Simulation, *, show_keys: bool = False) -> dict[str, Any]:
    """The content of `keys.json`: the hottest keys of the run and of each window."""
    return keys_json(_hot_keys(simulation, show=show_keys))


def _hot_keys(simulation: Simulation, *, show: bool) -> Keys:
    histories = simulation.client.keys
    indexes: dict[str, list[Keys]] = {}
    for index, side in sorted((index, side) for index, side in histories if index is not None):
        indexes.setdefault(index, []).append(_hot(side, histories[index, side], show=show))
    return Keys.joined(
        [_hot(side, histories[None, side], show=show) for side in WRITES_FIRST],
        indexes={index: Keys.joined(sides) for index, sides in indexes.items()},
    )


def _hot(side: Direction, history: KeyHistory, *, show: bool) -> Keys:
    return hot_keys(
        side,
        total_units=history.total_units,
        overall=hottest(history.run, TOP_KEYS),
        by_throttles=[row for row in hottest(history.run, TOP_KEYS, by=1) if round(row[1][1])],
        windows={start: hottest(named, TOP_KEYS) for start, named in history.windows.items()},
        window_s=history.window_s,
        digest=digest_of,
        show=show,
    )


def table_facts(model: TableModel, table: TableSpec) -> dict[str, Any]:
    """What DescribeTable would say of a simulated table, in the shape of `evidence.json`'s table."""
    capacity = model.capacity
    return {
        "name": table.name,
        "arn": None,
        **({"region": table.regions[0], "replicas": table.regions[1:]} if table.regions else {}),
        "billing_mode": capacity.billing_mode,
        **_capacity_facts(model, None),
        "has_lsi": capacity.has_lsi,
        "indexes": [{"name": index.name, **_capacity_facts(model, index.name)} for index in capacity.indexes],
    }


def _capacity_facts(model: TableModel, index: str | None) -> dict[str, Any]:
    part, (read, write) = model.capacity.parts[index], model.warm_throughput(index)
    provisioned, maximum = part.provisioned, part.max_on_demand
    return {
        "provisioned": asdict(provisioned) if provisioned and not model.capacity.on_demand else None,
        "max_on_demand": asdict(maximum) if maximum else None,
        "warm": {"read": round(read), "write": round(write)},
    }


def seconds_table(simulation: Simulation) -> "pa.Table":
    """The rows as they stand in `seconds.parquet`: every simulated attempt meets the table."""
    from keyheat.runs.parquet import SECONDS_SCHEMA

    names = SECONDS_SCHEMA.names
    return SECONDS_SCHEMA.empty_table().from_pylist(
        [dict(zip(names, (*row, 0), strict=True)) for row in simulation.client.seconds], SECONDS_SCHEMA
    )
