"""`run.json` as it stands when a run begins."""

from typing import Any

from keyheat.load.existing.adapt import noted
from keyheat.load.record.machine import machine
from keyheat.load.run.options import Plan
from keyheat.load.transport.target import Target, scale_at
from keyheat.runfiles import time_of
from keyheat.runs.folder import versions
from keyheat.runs.table_facts import table_facts


def manifest_of(
    plan: Plan,
    target: Target,
    described: dict[str, Any],
    *,
    run_id: str,
    started_s: float,
    processes: int,
    users: int,
) -> dict[str, Any]:
    """What was asked, of which table, with which versions; `described` is DescribeTable's answer."""
    scenario, scale = plan.scenario, scale_at(target)
    return {
        "run_id": run_id,
        "scenario": scenario.model_dump(mode="json"),
        "scenario_path": plan.scenario_shown,
        "seed": scenario.seed,
        "target": target.url if scale is None else "local",
        "endpoint_url": target.url,
        **({"endpoint": plan.endpoint.to_json()} if plan.endpoint else {}),
        "region": target.region,
        "scale": 1.0 if scale is None else scale,
        "transport": plan.transport,
        "retries": plan.retries,
        "started_at": time_of(started_s),
        "versions": versions("keyheat", "locust", "botocore"),
        "machine": machine(),
        "table": table_facts(described).model_dump(mode="json"),
        "processes": processes,
        "users": users,
        **noted(plan),
    }
