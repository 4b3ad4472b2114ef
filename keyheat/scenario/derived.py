"""Scenarios made from a scenario: the same question with other shards, another capacity, another demand.

A derived scenario is a whole file of its own, so that it can be read, and run again by itself.
"""

from pathlib import Path

from keyheat.runfiles import write_atomically
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.words import Direction

MOST_SHARDS = 100_000


def shard_counts(text: str) -> tuple[int, ...]:
    """Numbers of shards as a person lists them, `1,2,4`; in ascending order.

    Raises `ValueError` with everything that is wrong with the list.
    """
    parts = [part.strip() for part in text.split(",")]
    errors = [found for part in parts if (found := _mistake(part))]
    counts = [int(part) for part in parts if not _mistake(part)]
    errors += [f"{count} is listed twice" for count in sorted({c for c in counts if counts.count(c) > 1})]
    if errors:
        raise ValueError("; ".join(errors))
    return tuple(sorted(counts))


def _mistake(part: str) -> str | None:
    if not (part.isascii() and part.lstrip("-").isdigit()):
        return f"{part!r} is not a whole number"
    if not 1 <= int(part) <= MOST_SHARDS:
        return f"{part} is not between 1 and {MOST_SHARDS:,}"
    return None


def with_shards(scenario: Scenario, shards: int) -> Scenario:
    """The scenario with another number of shards, on tables of its own.

    A table that an earlier number has loaded has split and spent its burst: the next one would not be
    measured by the same measure. What was expected of the scenario's own number is not expected of this one.
    """
    raw = scenario.model_dump(mode="json")
    raw["name"] = named(scenario.name, shards)
    raw["keys"]["shards"] = shards
    for table in (raw["table"], *raw["companions"]):
        table["name"] = named(table["name"], shards)
    if shards != scenario.keys.shards:
        raw["expects"] = None
    return scenario_from_dict(raw, f"{scenario.name} with {shards} shards")


def with_capacity(scenario: Scenario, direction: Direction, units: int, index: str | None = None) -> Scenario:
    """The scenario with another provisioned capacity of the table, or of an index, from beginning to end.

    Its timeline and auto scaling are left out, for they would change it; and so is what was expected of it.
    """
    raw = scenario.model_dump(mode="json")
    table = raw["table"]
    for owner in (table, *table["indexes"]):
        owner["auto_scaling"] = None
        if owner is table if index is None else owner is not table and owner["name"] == index:
            owner["provisioned"][direction.value] = units
    raw |= {"timeline": [], "expects": None, "name": named(scenario.name, units)}
    return scenario_from_dict(raw, f"{scenario.name} with {units} {direction} units")


def with_demand(scenario: Scenario, per_s: float, duration_s: float) -> Scenario:
    """The scenario with a constant demand, in the unit of its own target, on a table that nobody changes.

    Shape, timeline and auto scaling are left out; so is what was expected of it, or allowed.
    """
    raw = scenario.model_dump(mode="json")
    load = raw["load"]
    field = {"WCU": "write_units_per_s", "RCU": "read_units_per_s"}.get(scenario.load.target_unit)
    load |= {field or "requests_per_s": per_s, "duration_s": duration_s, "shape": None}
    for owner in (raw["table"], *raw["table"]["indexes"]):
        owner["auto_scaling"] = None
    raw |= {"timeline": [], "expects": None, "thresholds": {}}
    return scenario_from_dict(raw, f"{scenario.name} at {per_s:g}/s")


def with_own_tables(scenario: Scenario, ending: str) -> Scenario:
    """The scenario under a name of its own, on tables of their own: none inherits what another run left."""
    raw = scenario.model_dump(mode="json")
    raw["name"] = f"{raw['name']}{ending}"
    for table in (raw["table"], *raw["companions"]):
        table["name"] = f"{table['name']}{ending}"
    if raw["dynamic_sharding"] is not None:
        raw["dynamic_sharding"]["table"] += ending
    return scenario_from_dict(raw, f"{scenario.name}{ending}")


def with_files_of(scenario: Scenario, folder: Path) -> Scenario:
    """The scenario, whose trace and load test are found from everywhere; `folder` is the scenario's."""
    update: dict[str, object] = {}
    if scenario.loadtest.endswith(".py"):
        update["loadtest"] = str((folder / scenario.loadtest).resolve())
    if scenario.keys.trace is not None:
        trace = str(scenario.keys.trace_path(folder).resolve())
        update["keys"] = scenario.keys.model_copy(update={"trace": trace})
    return scenario.model_copy(update=update)


def named(name: str, shards: int) -> str:
    """The name of what is made for a number, of shards or of units."""
    return f"{name}-{shards}"


def write_scenario(path: Path, scenario: Scenario) -> Path:
    """Write a scenario as a JSON file, which `load_scenario` reads. Raises `CannotWrite`."""
    body = scenario.model_dump_json(indent=2, exclude_none=True).encode() + b"\n"
    write_atomically(path, lambda file: file.write(body))
    return path
