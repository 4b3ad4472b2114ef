"""The setup of a run: target, machine, scenario, and the settings of an existing table."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict

from keyheat.addresses import in_aws
from keyheat.runs.manifest import Machine, Manifest
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict

AWS: Final = "aws"
STANDARD: Final = "STANDARD"  # the class of a table, as nearly all have it
GIB: Final = 1 << 30
WARM: Final = "warm"


class Setup(BaseModel):
    """What a run was measured on; on an existing table, the scenario has that table's capacity."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    target: str  # simulated | local | aws | the endpoint's URL
    region: str | None = None
    machine: str | None = None  # "2 cores, 24 GiB, Intel Xeon"; None for a simulated run
    scale: float = 1.0
    scenario: Mapping[str, Any] | None = None  # without defaults; None: not recorded
    existing: Mapping[str, Any] | None = None  # an existing table's settings that no scenario has
    transport: str | None = None  # of the requests; None for a simulated run
    processes: int | None = None  # that sent requests
    versions: Mapping[str, str | None] = {}  # keyheat, python, botocore, locust


def setup_of(manifest: Manifest) -> Setup:
    """The setup of a run, by its manifest."""
    return Setup(
        target=target_of(manifest),
        region=manifest.region,
        machine=None if manifest.simulated or manifest.machine is None else in_words(manifest.machine),
        scale=manifest.scale,
        scenario=None if manifest.scenario is None else _without_defaults(manifest.scenario),
        existing=dict(_existing_settings(manifest)) if manifest.existing else None,
        transport=manifest.transport,
        processes=manifest.processes,
        versions=manifest.versions,
    )


def target_of(manifest: Manifest) -> str:
    """Return the run's target: simulated, local, aws, or the URL of another endpoint."""
    target = manifest.target or manifest.endpoint_url or "unknown"
    return AWS if in_aws(urlsplit(target).hostname or "") else target


def in_words(machine: Machine) -> str:
    """Describe a machine; memory in whole GiB, since it differs by a few pages between boots."""
    cores = f"{machine.cores} core{'s' if machine.cores != 1 else ''}"
    return f"{cores}, {round(machine.memory_bytes / GIB)} GiB, {machine.cpu}"


def kept_form(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario as a summary stores it: a stated default equals an omitted one."""
    return scenario.model_dump(mode="json", exclude_defaults=True)


def _without_defaults(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Drop a manifest's scenario defaults; keep a scenario that this version cannot read."""
    try:
        return kept_form(scenario_from_dict(dict(raw), "run.json"))
    except ScenarioError:
        return dict(raw)


def _existing_settings(manifest: Manifest) -> Iterator[tuple[str, Any]]:
    """Yield an existing table's settings: class, warm throughput, auto scaling policies."""
    table = manifest.table
    yield "name", table.name
    if table.table_class not in (None, STANDARD):
        yield "table_class", table.table_class
    if table.warm is not None and table.billing_mode == "PAY_PER_REQUEST":
        yield WARM, asdict(table.warm)
    for policy in manifest.auto_scaling.scaled if manifest.auto_scaling else ():
        name = f"auto_scaling.{policy.index or 'table'}.{policy.side}"
        yield name, {"min": policy.min, "max": policy.max, "target": policy.target}
