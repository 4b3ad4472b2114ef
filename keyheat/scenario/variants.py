"""Derive scenarios with other shards, capacity or any field, and compare two scenarios.

A derived scenario is a whole file of its own, so that it can be read, and run again by itself.

    PATH=VALUE    keys.shards=20   table.provisioned.write=4_000   load.arrivals="poisson"
                  table.indexes[0].provisioned.write=500, or table.indexes.by-day.provisioned.write=500
    PATH=         takes the field out, as if the file did not say it

Paths are those of the scenario file, values are TOML. Every mistake is said at once.
"""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from reprlib import Repr
from typing import Any, Final

from keyheat.inputs import MOST_KEY_PARTS, NotAccepted, parsed_toml, text_of
from keyheat.runfiles import write_atomically
from keyheat.scenario.scenario import Scenario, ScenarioError, parsed, scenario_from_dict
from keyheat.scenario.spec.tasks import without_total_rate
from keyheat.words import Direction


def with_shards(scenario: Scenario, shards: int) -> Scenario:
    """The scenario with another number of shards, on tables of its own.

    A table that an earlier number has loaded has split and spent its burst. The expected label of the
    scenario's own number is dropped.
    """
    raw = scenario.model_dump(mode="json")
    raw["keys"]["shards"] = shards
    if shards != scenario.keys.shards:
        raw["expects"] = None
    return scenario_from_dict(_on_own_tables(raw, f"-{shards}"), f"{scenario.name} with {shards} shards")


SHARDED_INDEX: Final[dict[str, dict[str, object]]] = {
    "country_index": {"partition_key": "prefix", "sort_key": "country"},
    "leaderboard": {},
}
"""Load tests that spread an index's partition key over the scenario's shards; with the keys it has then."""


def with_index_shards(scenario: Scenario, index: str, shards: int) -> Scenario | None:
    """Return the scenario with this many shards of each value of an index's partition key.

    By the attribute that the scenario describes, else by a load test that does it; None where neither is.
    """
    names = next((item.partition_keys for item in scenario.table.indexes if item.name == index), ())
    described = (name for name in names if name in scenario.attributes)
    name = next((item for item in described if scenario.attributes[item].copy_of is None), None)
    if name is not None:
        changed = {name: scenario.attributes[name].model_copy(update={"shards": shards})}
        return scenario.model_copy(update={"attributes": {**scenario.attributes, **changed}})
    keys = scenario.keys.model_copy(update={"shards": shards})
    update = SHARDED_INDEX.get(scenario.loadtest)
    if update is None:
        return None
    indexes = tuple(
        item.model_copy(update=update) if item.name == index else item for item in scenario.table.indexes
    )
    table = scenario.table.model_copy(update={"indexes": indexes})
    return scenario.model_copy(update={"keys": keys, "table": table})


def at_scale(scenario: Scenario, scale: float) -> Scenario:
    """The same question at a part of its size: demand, and every limit of the local table, times `scale`."""
    raw = scenario.model_dump(mode="json", exclude_unset=True)
    raw.setdefault("local", {})["scale"] = scenario.local.scale * scale
    raw["load"] = rates_times(scale, raw["load"])
    return scenario_from_dict(raw, f"{scenario.name} at scale {scale:g}")


def rates_times(scale: float, raw: Any) -> Any:
    """A part of a raw scenario, with every rate in it multiplied."""
    if isinstance(raw, list):
        return [rates_times(scale, value) for value in raw]
    if not isinstance(raw, dict):
        return raw
    return {
        name: value * scale if name.endswith("per_s") and value is not None else rates_times(scale, value)
        for name, value in raw.items()
    }


def with_capacity(scenario: Scenario, direction: Direction, units: int, index: str | None = None) -> Scenario:
    """The scenario with another provisioned capacity of the table, or of an index, from beginning to end.

    Its timeline and auto scaling are left out, for they would change it; and so is what was expected of it.
    """
    raw = without_scaling(scenario).model_dump(mode="json")
    owner = next((item for item in raw["table"]["indexes"] if item["name"] == index), raw["table"])
    owner["provisioned"][direction.value] = units
    raw |= {"timeline": [], "expects": None, "name": f"{scenario.name}-{units}"}
    return scenario_from_dict(raw, f"{scenario.name} with {units} {direction} units")


def without_scaling(scenario: Scenario) -> Scenario:
    """Return the scenario without auto scaling, which depends on consumed units."""
    table = scenario.table
    indexes = tuple(index.model_copy(update={"auto_scaling": None}) for index in table.indexes)
    alone = table.model_copy(update={"auto_scaling": None, "indexes": indexes})
    return scenario.model_copy(update={"table": alone})


def scaled_fields(scenario: Scenario) -> list[str]:
    """The fields of a scenario that say how its table and indexes are scaled: `table.auto_scaling`, ..."""
    owners = [("table", scenario.table.auto_scaling)]
    owners += [(f"table.indexes[{n}]", index.auto_scaling) for n, index in enumerate(scenario.table.indexes)]
    return [f"{path}.auto_scaling" for path, spec in owners if spec is not None]


def without_options(fields: Sequence[str]) -> str:
    """What takes fields out of a scenario, as it is typed behind a command."""
    return " ".join(f"--set '{field}='" for field in fields)


def with_demand(scenario: Scenario, per_s: float, duration_s: float) -> Scenario:
    """Return the scenario with a constant demand, in the unit of its target, and a constant capacity.

    Shape, timeline and auto scaling are left out; so is what was expected of it, or allowed.
    """
    raw = without_scaling(scenario).model_dump(mode="json")
    field = {"WCU": "write_units_per_s", "RCU": "read_units_per_s"}.get(scenario.load.target_unit)
    raw["load"] |= {field or "requests_per_s": per_s, "duration_s": duration_s, "shape": None}
    raw |= {"timeline": [], "expects": None, "thresholds": {}}
    return scenario_from_dict(raw, f"{scenario.name} at {per_s:g}/s")


def lasting(scenario: Scenario, duration_s: float | None) -> Scenario:
    """The scenario for another time than it says; None: for its own."""
    if duration_s is None or duration_s == scenario.load.duration_s:
        return scenario
    load = scenario.load.model_copy(update={"duration_s": duration_s})
    return scenario.model_copy(update={"load": load})


def with_own_tables(scenario: Scenario, ending: str) -> Scenario:
    """The scenario under a name of its own, on tables of their own: none inherits what another run left."""
    raw = _on_own_tables(scenario.model_dump(mode="json"), ending)
    return scenario_from_dict(raw, f"{scenario.name}{ending}")


def _on_own_tables(raw: dict[str, Any], ending: str) -> dict[str, Any]:
    for owner in (raw, raw["table"], *raw["companions"]):
        owner["name"] += ending
    if raw["dynamic_sharding"] is not None:
        raw["dynamic_sharding"]["table"] += ending
    return raw


def with_files_of(scenario: Scenario, folder: Path) -> Scenario:
    """The scenario, whose trace and load test are found from everywhere; `folder` is the scenario's."""
    update: dict[str, object] = {}
    if scenario.loadtest.endswith(".py"):
        update["loadtest"] = str((folder / scenario.loadtest).resolve())
    if scenario.keys.trace is not None:
        trace = str(scenario.keys.trace_path(folder).resolve())
        update["keys"] = scenario.keys.model_copy(update={"trace": trace})
    return scenario.model_copy(update=update)


def write_scenario(path: Path, scenario: Scenario) -> Path:
    """Write a scenario as a JSON file, which `load_scenario` reads. Raises `CannotWrite`."""
    body = scenario.model_dump_json(indent=2, exclude_none=True).encode() + b"\n"
    write_atomically(path, lambda file: file.write(body))
    return path


_PART: Final = r"[A-Za-z_][A-Za-z0-9_-]*(?:\[\d{1,9}\])*"
_SETTING: Final = re.compile(rf"(?P<path>{_PART}(?:\.{_PART})*)\s*=(?P<value>.*)", re.DOTALL)
_STEP: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*|\[\d+\]")
_TAKEN_OUT: Final = object()
_BRIEFLY: Final = Repr()  # of what may be a file's worth of text
_BRIEFLY.maxstring = 80


def overridden(scenario: Scenario, settings: Sequence[str], source: str) -> Scenario:
    """Apply settings to a scenario in their order; `source` names it in errors.

    The expectations of the original scenario are dropped. Raises `ScenarioError` with every invalid setting,
    or with the errors of the changed scenario.
    """
    if not settings:
        return scenario
    raw = without_total_rate(scenario.model_dump(mode="json", exclude_unset=True))
    raw.pop("expects", None)
    raw, mistakes = _with_settings(raw, settings)
    try:
        changed = scenario_from_dict(raw, f"{source} with {', '.join(settings)}")
    except ScenarioError as error:
        raise ScenarioError(error.source, [*mistakes, *error.errors]) from error
    if mistakes:
        raise ScenarioError(source, mistakes)
    changed._assumed = tuple(field for field in scenario.assumed if not _sets(settings, field))
    return changed


def wrong_settings(file: Path, settings: Sequence[str]) -> list[str]:
    """The mistakes that settings add to those of an invalid scenario's file."""
    try:
        raw = parsed(text_of(file), file)
    except (OSError, NotAccepted, ScenarioError):
        raw = {}
    changed, mistakes = _with_settings(raw, settings)
    before = _errors(raw)
    return [*mistakes, *(error for error in _errors(changed) if error not in before)]


def _errors(raw: dict[str, Any]) -> list[str]:
    try:
        scenario_from_dict(raw, "scenario")
    except ScenarioError as error:
        return error.errors
    return []


def _with_settings(raw: dict[str, Any], settings: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """A scenario's fields with those settings that can be made, and what is wrong with the others."""
    mistakes = []
    for setting in settings:
        trial = deepcopy(raw)
        if problem := _make(trial, setting):
            mistakes.append(problem)
        else:
            raw = trial
    return raw, mistakes


def _sets(settings: Sequence[str], field: str) -> bool:
    """Whether a setting is of a field, of what it stands in, or of something within it."""
    steps = _STEP.findall(field.partition("=")[0])
    paths = (_STEP.findall(setting.partition("=")[0]) for setting in settings)
    return any(path[: len(steps)] == steps[: len(path)] for path in paths)


def _make(raw: dict[str, Any], setting: str) -> str | None:
    """Make one setting in place; what is wrong with it, where it cannot be made."""
    match = _SETTING.fullmatch(setting.strip())
    if match is None:
        return f"{_BRIEFLY.repr(setting)} is not PATH=VALUE, such as keys.shards=20 @ --set"
    path, text = match["path"], match["value"].strip()
    *way, last = [int(step[1:-1]) if step.startswith("[") else step for step in _STEP.findall(path)]
    if len(way) >= MOST_KEY_PARTS:
        return f"{_BRIEFLY.repr(path)} has {len(way) + 1:,} parts, at most {MOST_KEY_PARTS} are read @ --set"
    try:
        value = parsed_toml(f"value = {text}")["value"] if text else _TAKEN_OUT
    except NotAccepted as error:
        return (
            f'{_BRIEFLY.repr(text)} is not a TOML value ({error}); text needs quotes: {path}="..." @ $.{path}'
        )
    node: Any = raw
    for step, following in pairwise([*way, last]):
        node = _into(node, step, [] if isinstance(following, int) else {})
        if node is None:
            return f"no such field @ $.{path}"
    return _put(node, last, value, path)


def _into(node: Any, step: str | int, new: Any) -> Any:
    """What is found one step further, made where a field was not said; None where there is no way."""
    if isinstance(node, dict) and isinstance(step, str):
        if node.get(step) is None:
            node[step] = new
        return node[step]
    if isinstance(node, list) and isinstance(step, int):
        if step == len(node):
            node.append(new)
        return node[step] if step < len(node) else None
    if isinstance(node, list):
        return next((each for each in node if isinstance(each, dict) and each.get("name") == step), None)
    return None


def _put(node: Any, last: str | int, value: Any, path: str) -> str | None:
    fits = (isinstance(node, dict) and isinstance(last, str)) or (
        isinstance(node, list) and isinstance(last, int) and last <= len(node)
    )
    if not fits:
        return f"no such field @ $.{path}"
    if value is not _TAKEN_OUT:
        if last == len(node) and isinstance(node, list):
            node.append(value)
        else:
            node[last] = value
    elif isinstance(node, dict):
        node.pop(last, None)
    elif isinstance(last, int) and last < len(node):
        del node[last]
    return None


ABSENT: Final = "–"
ONLY_NAMES: Final = ("name", "question", "expects")  # what says nothing about what is sent, or to what


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field with another value; `ABSENT` where the scenario does not say it."""

    path: str
    before: str
    after: str

    @property
    def words(self) -> str:
        return f"{self.path}: {self.before} → {self.after}"


def changes(before: Scenario, after: Scenario) -> tuple[FieldChange, ...]:
    """Every field with another value, in the order of the file; names and words are not among them."""
    return changes_of(
        *(scenario.model_dump(mode="json", exclude=set(ONLY_NAMES)) for scenario in (before, after))
    )


def changes_of(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    """Every field of two scenarios, or parts of them, with another value; its path is as `--set` names it."""
    old, new = _flat(before), _flat(after)
    paths = dict.fromkeys([*old, *new])
    return tuple(
        FieldChange(path, old.get(path, ABSENT), new.get(path, ABSENT))
        for path in paths
        if old.get(path, ABSENT) != new.get(path, ABSENT)
    )


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """Fields by their paths: `table.indexes[0].provisioned.write`."""
    if isinstance(value, Mapping):
        parts = [(f"{path}.{name}" if path else name, inner) for name, inner in value.items()]
    elif isinstance(value, list):
        parts = [(f"{path}[{number}]", inner) for number, inner in enumerate(value)]
    else:
        return {} if value is None else {path: _value_text(value)}
    return {name: leaf for inner_path, inner in parts for name, leaf in _flat(inner, inner_path).items()}


def _value_text(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
