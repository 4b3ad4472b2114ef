"""What a run was measured on: the machine, the table, and all of the scenario that decides what is sent.

Names, words, seeds and what is only judged afterwards are no part of it: a scenario that is told in other
words, or with another seed, is still the same measurement.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from pydantic import BaseModel, ConfigDict

from keyheat.addresses import in_aws
from keyheat.runs.formats import IndexFacts, TableFacts
from keyheat.runs.manifest import NOTHING_EXPIRES, Machine, Manifest
from keyheat.scenario.scenario import ScenarioError, scenario_from_dict

AWS: Final = "aws"
STANDARD: Final = "STANDARD"  # the class of a table, as nearly all have it
GIB: Final = 1 << 30
DIGITS: Final = 16  # of a digest
NOT_SENT: Final = (
    "format", "name", "question", "seed", "expects", "thresholds", "budget", "abort_on", "local",
)  # fmt: skip
"""Fields of a scenario that do not decide what is sent; `local.scale` is the setup's own `scale`."""
SAID_BY_THE_TABLE: Final = ("name", "billing_mode", "provisioned", "max_on_demand", "warm")
"""Fields of a scenario's table that stand among the table's facts, as the run found them."""
FACTS: Final = ("auto_scaling", "stream", "regions", "indexes")
"""Further ones that change what a table can take, and not what it is sent."""
OF_NO_EFFECT: Final = ("on_end", "expires_h")
WARM: Final = "warm"

Flat = Mapping[str, str | float | bool | None]


class Setup(BaseModel):
    """What a run was measured on: two runs whose setups differ measure different things."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: str  # simulated | local | aws | the endpoint's URL
    region: str | None = None
    machine: str | None = None  # digest of CPU model, cores and memory; None for a simulated run
    machine_says: str | None = None  # the same in words: "2 cores, 24 GiB, Intel Xeon"
    scale: float = 1.0
    table: Flat = {}  # mode, capacities, indexes: flat, by path
    scenario: str | None = None  # digest of all that decides what is sent; None: the run does not say it
    transport: str | None = None  # with which the requests were sent; None for a simulated run
    processes: int | None = None  # that sent them
    versions: Mapping[str, str | None] = {}  # keyheat, python, botocore, locust


def setup_of(manifest: Manifest) -> Setup:
    """The setup of a run, by its manifest."""
    machine = None if manifest.simulated or manifest.machine is None else in_words(manifest.machine)
    return Setup(
        target=target_of(manifest),
        region=manifest.region,
        machine=None if machine is None else _digest(machine.encode()),
        machine_says=machine,
        scale=manifest.scale,
        table={
            **dict(_table(manifest.table, existing=manifest.existing)),
            **_facts(manifest.scenario),
            **(dict(_around(manifest)) if manifest.existing else {}),
        },
        scenario=None if manifest.scenario is None else scenario_digest(manifest.scenario),
        transport=manifest.transport,
        processes=manifest.processes,
        versions=manifest.versions,
    )


def target_of(manifest: Manifest) -> str:
    """Where the run was made: simulated, local, aws, or the URL of another endpoint."""
    target = manifest.target or manifest.endpoint_url or "unknown"
    return AWS if in_aws(urlsplit(target).hostname or "") else target


def in_words(machine: Machine) -> str:
    """A machine in words; memory in whole GiB, since a few pages less are no other machine."""
    cores = f"{machine.cores} core{'s' if machine.cores != 1 else ''}"
    return f"{cores}, {round(machine.memory_bytes / GIB)} GiB, {machine.cpu}"


def scenario_digest(raw: Mapping[str, Any]) -> str:
    """A digest of all in a scenario that decides what is sent.

    What is said and what is the default anyway are the same; a scenario that this version does not read
    counts as it is written.
    """
    try:
        said = scenario_from_dict(dict(raw), "run.json").model_dump(mode="json", exclude_defaults=True)
    except ScenarioError:
        said = dict(raw)
    return _digest(orjson.dumps(sent_of(said), option=orjson.OPT_SORT_KEYS))


def sent_of(said: Mapping[str, Any]) -> dict[str, Any]:
    """All in a scenario that decides what is sent; what the table's facts say is not among it."""
    sent = {name: value for name, value in said.items() if name not in NOT_SENT}
    sent["table"] = _keys_of(said.get("table"))
    sent["keys"] = _without_folder(said.get("keys"))
    sent["companions"] = [_without_name(table) for table in said.get("companions") or ()]
    return sent


def grows_by_itself(fact: str) -> bool:
    """Whether a fact of the table, named by its path, is a warm throughput: AWS raises it with the load."""
    return fact.split(".")[-2:-1] == [WARM]


def _keys_of(table: Any) -> dict[str, Any]:
    """A scenario's table without what its facts say: its keys."""
    dropped = {*SAID_BY_THE_TABLE, *FACTS, *OF_NO_EFFECT}
    return {name: value for name, value in (table or {}).items() if name not in dropped}


def _without_folder(keys: Any) -> dict[str, Any]:
    """A scenario's keys; a trace is the same trace wherever it lies."""
    kept = dict(keys or {})
    if isinstance(kept.get("trace"), str):
        kept["trace"] = PurePath(kept["trace"]).name
    return kept


def _without_name(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in table.items() if name not in ("name", *OF_NO_EFFECT)}


def _table(table: TableFacts, *, existing: bool) -> Iterator[tuple[str, str | float | bool | None]]:
    """The table's facts by path. Its name only where it was there before: each run's own is a new one."""
    if existing:
        yield "name", table.name
    yield "billing_mode", table.billing_mode
    yield "has_lsi", table.has_lsi
    if table.table_class not in (None, STANDARD):
        yield "table_class", table.table_class
    on_demand = table.billing_mode == "PAY_PER_REQUEST"
    yield from _capacities("", table, on_demand)
    for index in sorted(table.indexes, key=lambda one: one.name):
        yield from _capacities(f"indexes.{index.name}.", index, on_demand)


def _around(manifest: Manifest) -> Iterator[tuple[str, str | float | None]]:
    """What a table that was there has around it, and no scenario says: other Regions, expiry, policies."""
    if manifest.table.replicas:
        yield "replicas", ", ".join(sorted(manifest.table.replicas))
    if manifest.time_to_live != NOTHING_EXPIRES:
        yield "time_to_live", manifest.time_to_live
    for one in manifest.auto_scaling.scaled if manifest.auto_scaling else ():
        owner = f"indexes.{one.index}." if one.index else ""
        yield from _scaling(owner, {one.side: {"min": one.min, "max": one.max, "target": one.target}})


def _scaling(
    owner: str, sides: Mapping[str, Mapping[str, float | None] | None]
) -> Iterator[tuple[str, float]]:
    """Each bound of an auto scaling policy by its path, as `auto_scaling.write.max`."""
    for side, bounds in sides.items():
        for name, bound in (bounds or {}).items():
            if bound:  # no cooldown, as the default is
                yield f"{owner}auto_scaling.{side}.{name}", bound


def _facts(scenario: Mapping[str, Any] | None) -> dict[str, str | float]:
    """What else the table of a run is like, by what its scenario says: an index by its keys, and so on."""
    table: Mapping[str, Any] = (scenario or {}).get("table") or {}
    found: dict[str, str | float] = dict(_scaling("", table.get("auto_scaling") or {}))
    if table.get("stream"):
        found["stream"] = table["stream"]
    if table.get("regions"):
        found["regions"] = ", ".join(table["regions"])
    for index in table.get("indexes") or ():
        keys = [index.get(name) for name in ("partition_key", "sort_key")]
        keys += [*(index.get("more_partition_keys") or ()), *(index.get("more_sort_keys") or ())]
        kind = "local" if index.get("local") else "global"
        keyed = ", ".join(key for key in keys if key)
        found[f"indexes.{index['name']}"] = f"{kind}, keyed by {keyed}, {index.get('projection', 'ALL')}"
        found |= _scaling(f"indexes.{index['name']}.", index.get("auto_scaling") or {})
    return found


def _capacities(
    before: str, owner: TableFacts | IndexFacts, on_demand: bool
) -> Iterator[tuple[str, float | None]]:
    """Capacities by path. Warm throughput grows by itself; it and maxima limit on-demand tables only."""
    maximum = owner.max_on_demand if on_demand else None
    for side, units in (("read", maximum.read), ("write", maximum.write)) if maximum else ():
        if units is not None:  # else there is none
            yield f"{before}max_on_demand.{side}", units
    name, pair = (WARM, owner.warm) if on_demand else ("provisioned", owner.provisioned)
    yield f"{before}{name}.read", pair.read if pair else None
    yield f"{before}{name}.write", pair.write if pair else None


def _digest(content: bytes) -> str:
    return f"sha256:{sha256(content).hexdigest()[:DIGITS]}"
