"""Builders of what tests are about, each with everything filled in that the test does not mention.

A builder takes what matters as keywords and returns the product's own value. Nothing here simulates, sends or
waits; `a_run` alone writes files.
"""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyheat import runfiles
from keyheat.analysis.summary import RunSummary, Setup
from keyheat.load.options import Guards
from keyheat.load.record.attempt import Attempt
from keyheat.load.record.record import Record
from keyheat.load.run.plan import LoadPlan
from keyheat.load.transport.boto import Boto3Transport
from keyheat.load.transport.signed import SignedTransport
from keyheat.load.transport.target import LOCAL_KEYS, Target, target_at
from keyheat.runfiles import FILES
from keyheat.runs.formats import Diagnosis, Evidence
from keyheat.runs.manifest import Manifest
from keyheat.scenario.scenario import Scenario, load_scenario, scenario_from_dict
from keyheat.scenario.spec.tables import TableSpec
from keyheat.scenario.variants import overridden

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
"""When everything begins; a whole minute."""


def with_nights(values: Iterable[Any], nights: Collection[Any]) -> list[Any]:
    """Values of a parameter, of which some are for the nightly lane."""
    return [pytest.param(value, marks=pytest.mark.nightly) if value in nights else value for value in values]


# Tables

ON_DEMAND: Mapping[str, Any] = {"billing_mode": "PAY_PER_REQUEST", "provisioned": None}
"""What makes a specification one of a table on demand."""


def a_spec(**fields: Any) -> TableSpec:
    """The table of a scenario."""
    return TableSpec.model_validate({"name": "made", "provisioned": {"read": 5, "write": 7}} | fields)


# Scenarios

SCENARIO: Mapping[str, Any] = {
    "format": "keyheat.scenario/1",
    "name": "made",
    "question": "Does it throttle?",
    "loadtest": "hotkey",
    "table": {"name": "orders", "provisioned": {"read": 5, "write": 7}},
    "keys": {"kind": "uniform"},
}


SCENARIOS = Path(__file__).parents[1] / "configs" / "scenarios"
DEPENDING = {"aggregate-scan", "aggregate-stream", "dynamic-sharding"}
"""Scenarios of which no dry run shows what they send: it depends on answers."""
SAMPLED = [path for path in sorted(SCENARIOS.glob("*.toml")) if path.stem not in DEPENDING]


def a_shipped(name: str, *settings: str, **parts: Any) -> Scenario:
    """A scenario of configs/, with settings as a person types them, and with other fields in its parts.

    None takes a field away.
    """
    scenario = overridden(load_scenario(SCENARIOS / f"{name}.toml"), settings, name)
    if not parts:
        return scenario
    raw = scenario.model_dump(mode="json")
    for part, fields in parts.items():
        if isinstance(fields, dict):
            fields = {key: value for key, value in (raw[part] | fields).items() if value is not None}
        raw[part] = fields
    return scenario_from_dict(raw, name)


def shipped_on_demand(name: str) -> Scenario:
    """A provisioned scenario of configs/, with its table and all indexes on demand."""
    provisioned = a_shipped(name).table.indexes
    indexes = [one.model_dump(mode="json", exclude={"provisioned"}) for one in provisioned]
    return a_shipped(name, table=dict(ON_DEMAND) | {"indexes": indexes})


def a_raw_scenario(**sections: Any) -> dict[str, Any]:
    """What a scenario's file says: these sections instead of those of `SCENARIO`. Tasks have a sender."""
    sender = {"loadtest": "operations"} if "tasks" in sections else {}
    return {**SCENARIO, **sender, **sections}


def a_scenario_of_tenants(**sections: Any) -> dict[str, Any]:
    """What a scenario's file says of an on-demand table of skewed tenants, with an index by type."""
    keys = {"partition_key": "event_type", "sort_key": "at"}
    table = {"name": "orders", "partition_key": "tenant", "sort_key": "at", **ON_DEMAND}
    return a_raw_scenario(
        table={**table, "indexes": [{"name": "by-type", **keys}]},
        keys={"kind": "zipf", "keys": 500, "exponent": 1.1},
        **sections,
    )


def a_scenario(**sections: Any) -> Scenario:
    """A scenario with these sections, which replace those of `SCENARIO`."""
    return scenario_from_dict(a_raw_scenario(**sections), "test")


def a_scenario_file(folder: Path, raw: Mapping[str, Any], **sections: Any) -> Path:
    """A scenario's file: what `raw` says, with other sections, or other fields in them."""
    laid = {
        name: {**raw.get(name, {}), **new} if isinstance(new, dict) else new for name, new in sections.items()
    }
    path = folder / "scenario.json"
    path.write_bytes(orjson.dumps(a_raw_scenario(**raw | laid)))
    return path


def a_suite(name: str, *settings: str, head: str = "", more: str = "") -> str:
    """The text of a suite's file: two runs of one short case, with these settings; `more` is at its end."""
    return f"""
format = "keyheat.suite/1"
name = "{name}"
question = "Is it as good as it was?"
repetitions = 2
{head}
[[gates]]
measure = "labels"

[[gates]]
measure = "units_per_operation.write"

[[cases]]
scenario = "too-small"
set = {orjson.dumps(["keys.keys=10", *settings]).decode()}
{more}"""


def a_plan(scenario: Scenario | None = None, **fields: Any) -> LoadPlan:
    """The plan of a load; what its `Guards` have is among the fields."""
    known = {
        "scenario_path": Path("test.toml"), "target": None, "out": None, "transport": "signed",
        "retries": "off",
        "show_keys": False, "progress": False, "report": True,
    }  # fmt: skip
    allowed = {
        entry.name: fields.pop(entry.name) for entry in dataclasses.fields(Guards) if entry.name in fields
    }
    return LoadPlan(scenario=scenario or a_scenario(), guards=Guards(**allowed), **known | fields)


# What a client records


def an_attempt(
    second: float = 0.0, key: str = "hot", operation: str = "PutItem", direction: Any = "write", **more: Any
) -> Attempt:
    """One request, `second` seconds after `START`."""
    fields = {"late_us": 0, "service_us": 100} | more
    return Attempt(operation, direction, key, START.timestamp() + second, **fields)


def a_record(
    accepted: Iterable[Attempt] = (), throttled: Iterable[Attempt] = (), reason: str | None = None
) -> Record:
    """What a client recorded of these requests, each of one unit."""
    record = Record()
    for attempt in accepted:
        record.add(attempt._replace(units=1.0))
    for attempt in throttled:
        record.add(attempt._replace(outcome="throttled", units=1.0, reason=reason))
    return record


# Transports

TIMEOUT_S = 600.0


def a_transport(kind: str, target: Target | str, timeout_s: float = TIMEOUT_S) -> Any:
    """A transport, `signed` or `boto3`, to a target or a URL."""
    target = target_at(target, region="us-east-1") if isinstance(target, str) else target
    if kind == "signed":
        return SignedTransport(target, lambda: LOCAL_KEYS, timeout_s=timeout_s)
    return Boto3Transport(target, connections=1, timeout_s=timeout_s)


# Evidence: a table called `orders`, minutes and seconds from `START`

KEY_RANGE = "TableWriteKeyRangeThroughputExceeded"
PROVISIONED = "TableWriteProvisionedThroughputExceeded"


def a_series(
    metric: str, *per_minute: float | None, index: str | None = None, statistic: str = "Sum"
) -> dict[str, Any]:
    """One value a minute; None where CloudWatch has no point."""
    points = [
        (START + timedelta(minutes=n), value) for n, value in enumerate(per_minute) if value is not None
    ]
    return {"metric": metric, "statistic": statistic, "period_s": 60, "index": index, "points": points}


def consumed(*per_s: float | None, index: str | None = None) -> dict[str, Any]:
    """Consumed write units per second, minute by minute."""
    per_minute = (rate if rate is None else rate * 60 for rate in per_s)
    return a_series("ConsumedWriteCapacityUnits", *per_minute, index=index)


def throttle_events(*per_minute: float | None, index: str | None = None) -> dict[str, Any]:
    """`WriteThrottleEvents`, minute by minute."""
    return a_series("WriteThrottleEvents", *per_minute, index=index)


def provisioned(units: float, index: str | None = None) -> dict[str, Any]:
    """The provisioned write capacity."""
    return a_series("ProvisionedWriteCapacityUnits", units, index=index, statistic="Average")


def provisioned_over_time(**statistics: Sequence[float]) -> list[dict[str, Any]]:
    """The provisioned write capacity of each five minutes, by these statistics."""
    return [
        a_series("ProvisionedWriteCapacityUnits", statistic=name)
        | {"period_s": 300, "points": [(START + timedelta(minutes=5 * n), v) for n, v in enumerate(values)]}
        for name, values in statistics.items()
    ]


def an_evidence(*series: dict[str, Any], minutes: int = 5, indexes: int = 0, **more: Any) -> Evidence:
    """Evidence of these series; `table` adds facts of the table."""
    names = [{"name": f"by_{n}"} for n in range(indexes)]
    table = {"name": "orders", "billing_mode": "PROVISIONED", "indexes": names, **more.pop("table", {})}
    window = {"start": START, "end": START + timedelta(minutes=minutes)}
    return Evidence.model_validate({"table": table, "window": window, "series": series, **more})


def throttled(
    reason: str | None, seconds: range, count: int = 100, index: str | None = None
) -> list[dict[str, Any]]:
    """Throttled writes of a client in these seconds."""
    return [
        {
            "second": START + timedelta(seconds=s),
            "index": index,
            "direction": "write",
            "reason": reason,
            "count": count,
        }
        for s in seconds
    ]


def client_seconds(*stretches: tuple[range, float, int]) -> list[dict[str, Any]]:
    """A client's seconds: (seconds, units consumed in each, attempts throttled in each)."""
    return [
        {
            "second": START + timedelta(seconds=s), "direction": "write", "consumed": units,
            "attempts": int(units) + refused, "throttled": refused,
        }
        for stretch, units, refused in stretches
        for s in stretch
    ]  # fmt: skip


# Runs


def a_manifest(**fields: Any) -> Manifest:
    """What `run.json` says of a run."""
    known = {"started_at": START, "table": {"name": "orders"}, "target": "local"}
    return Manifest.model_validate(known | fields)


def a_diagnosis(
    constraint: str = "partition",
    resource: str | None = "table",
    direction: str | None = "write",
    *,
    valid: bool = True,
    **fields: Any,
) -> Diagnosis:
    """A diagnosis with one verdict."""
    verdict = {
        "constraint": constraint, "resource": resource, "direction": direction, "grade": "reason",
        "confidence": 0.9, "valid": valid, "because": [],
    }  # fmt: skip
    known = {
        "verdict": verdict,
        "labels": [],
        "generator": {"bound": False},
        "coverage": {"minutes": 1},
    }
    return Diagnosis.model_validate(known | fields)


SETUP = Setup(
    target="local",
    region="us-east-1",
    machine="2 cores, 24 GiB",
    scenario=SCENARIO,
    versions={"keyheat": "0.1.0", "python": "3.11.7", "locust": "2.47.0"},
)
SIMULATED = SETUP.model_copy(update={"target": "simulated", "machine": None})
PARTITION = "table write partition"
MEASURES = {
    "units_per_operation.write": 1.0,
    "write_amplification": 1.0,
    "accepted_units_per_s.write": 1_000.0,
    "throttle_share": 0.2,
    "first_throttle_s": 5.0,
}


def a_summary(seed: int | None = 1, *, setup: Setup = SETUP, **more: Any) -> RunSummary:
    """One run in a few numbers; `measures` replace those of `MEASURES`, and None takes one away."""
    measures = MEASURES | more.pop("measures", {})
    fields: dict[str, Any] = {
        "run_id": f"run-{seed}",
        "scenario": "hotkey",
        "question": "Does hotkey throttle?",
        "started_at": START,
        "duration_s": 60.0,
        "seed": seed,
        "status": "finished",
        "setup": setup,
        "valid": True,
        "constraint": "partition",
        "resource": "table",
        "direction": "write",
        "grade": "reason",
        "confidence": 0.98,
        "labels": (PARTITION,),
        "attempts": 10_000,
        "throttled": 2_000,
        "measures": {name: value for name, value in measures.items() if value is not None},
    }
    return RunSummary(**fields | more)


def summaries(measure: str, values: Iterable[float | None], **more: Any) -> list[RunSummary]:
    """A run for each value of one measure, seed by seed."""
    return [a_summary(seed, measures={measure: value}, **more) for seed, value in enumerate(values, 1)]


def a_run(folder: Path, summary: RunSummary | None = None, **manifest: Any) -> Path:
    """A run directory: that of a run which is going on, or with a summary, of one that was analyzed."""
    scenario = summary.scenario if summary else "hotkey"
    at = summary.started_at if summary else START
    content: dict[str, Any] = {
        "run_id": folder.name,
        "status": "finished" if summary else "running",
        "target": "local",
        "scenario": {"name": scenario, "question": f"Does {scenario} throttle?"},
        "started_at": at.isoformat(),
        "ended_at": (at + timedelta(seconds=60)).isoformat() if summary else None,
        "table": {"name": f"table-of-{scenario}"},
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder, runfiles.RUN, content | manifest)
    if summary:
        write_file(folder, runfiles.DIAGNOSIS, {})
        write_file(folder, runfiles.SUMMARY, summary.model_dump(mode="json"))
        (folder / "report.html").write_text("<!doctype html><title>a report</title>")
    return folder


def write_file(folder: Path, kind: str, content: Mapping[str, Any]) -> None:
    """Write a file of a run as `write_json` does, without waiting for the disk."""
    (folder / FILES[kind]).write_bytes(orjson.dumps({"format": kind, **content}))
