"""Mistakes of a scenario: what its parts have to agree on, each right by itself; and the line of each."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Final

from keyheat.scenario.spec.keys import AttributeSpec, KeysSpec, ShardingSpec
from keyheat.scenario.spec.part import Mistake
from keyheat.scenario.spec.tables import ChangeSpec, TableSpec
from keyheat.scenario.spec.tasks import MIXED, LoadSpec, TaskSpec
from keyheat.validation import Place

ON_DEMAND = "PAY_PER_REQUEST"
NO_TASKS = "list [[tasks]], or set loadtest to a load test with its own tasks"


def broken_companions(companions: Sequence[TableSpec]) -> Iterator[Mistake]:
    """What only the scenario's own table can have."""
    for number, table in enumerate(companions):
        if table.regions:
            yield "only the scenario's own table can be a global one", "companions", number, "regions"
        if table.scaled:
            yield "only the scenario's own table is scaled", "companions", number, "auto_scaling"


def broken_sharding(
    sharding: ShardingSpec, keys: KeysSpec, table: TableSpec, companions: Sequence[TableSpec]
) -> Iterator[Mistake]:
    """What dynamic sharding disagrees with.

    The metadata table is on demand: its reads are unknown, and a throttle there stops every writer.
    """
    named, path = repr(sharding.table), ("dynamic_sharding", "table")
    companion = next((each for each in companions if each.name == sharding.table), None)
    if companion is None:
        yield f"no companion is named {named}", *path
    elif companion.billing_mode != ON_DEMAND:
        yield f"{named} has to be PAY_PER_REQUEST", *path
    elif companion.sort_key is not None or companion.partition_key_type != "S":
        yield f"{named} has to have a partition key of text, and no sort_key", *path
    if keys.shards != 1:
        yield "say either how many shards there are, or dynamic_sharding", "keys", "shards"


def broken_timeline(timeline: Sequence[ChangeSpec], table: TableSpec, duration_s: float) -> Iterator[Mistake]:
    """Every step that cannot be; the steps of one moment are one request."""
    indexes = sorted(index.name for index in table.indexes if not index.local)
    modes, before_s = [table.billing_mode], -inf
    for at_s, same in groupby(enumerate(timeline), key=lambda numbered: numbered[1].at_s):
        steps = list(same)
        first = ("timeline", steps[0][0])
        if at_s < before_s:
            yield f"the steps are in order of time, and the one before is at {before_s:g} s", *first, "at_s"
        if at_s >= duration_s:
            yield f"the load ends after {duration_s:g} s", *first, "at_s"
        before_s = max(before_s, at_s)
        for number, step in steps:
            if step.billing_mode == modes[-1]:
                yield f"the table is in {modes[-1]} mode already", "timeline", number, "billing_mode"
            elif step.billing_mode is not None:
                modes.append(step.billing_mode)
                yield from _lacking(number, [each for _number, each in steps], indexes)
        yield from _broken_request(steps, modes[-1], indexes)
    if table.auto_scaling is not None and set(modes) == {ON_DEMAND}:
        yield "PAY_PER_REQUEST mode has no capacity to scale", "table", "auto_scaling"


def _broken_request(
    steps: Sequence[tuple[int, ChangeSpec]], mode: str, indexes: Sequence[str]
) -> Iterator[Mistake]:
    numbers: dict[str | None, int] = {}
    for number, step in steps:
        path = ("timeline", number)
        if step.index in numbers:
            yield f"$.timeline[{numbers[step.index]}] is of the same moment: say both in one step", *path
        numbers[step.index] = number
        if step.index is not None and step.index not in indexes:
            there = ", ".join(map(repr, indexes)) or "none"
            yield f"there is no global index {step.index!r}; global indexes: {there}", *path, "index"
        elif step.provisioned is not None and mode == ON_DEMAND:
            yield f"{ON_DEMAND} mode by then, without provisioned capacity", *path, "provisioned"
        elif step.max_on_demand is not None and mode != ON_DEMAND:
            yield "PROVISIONED mode by then, without an on-demand maximum", *path, "max_on_demand"


def _lacking(number: int, steps: Sequence[ChangeSpec], indexes: Sequence[str]) -> Iterator[Mistake]:
    """The capacities that a switch to provisioned mode does not name."""
    if not any(step.billing_mode == "PROVISIONED" for step in steps):
        return
    pairs = {step.index: step.provisioned for step in reversed(steps)}
    for name in (None, *indexes):
        lacking = [side for side in ("read", "write") if getattr(pairs.get(name), side, None) is None]
        if lacking:
            where = "" if name is None else f" of index {name!r}, in a step of the same at_s"
            yield f"PROVISIONED mode needs provisioned.{' and .'.join(lacking)}{where}", "timeline", number


def broken_tasks(tasks: Sequence[TaskSpec], loadtest: str, table: TableSpec) -> Iterator[Mistake]:
    """Every disagreement about `[[tasks]]`."""
    if not tasks and loadtest == MIXED:
        yield NO_TASKS, "tasks"
    if tasks and loadtest != MIXED:
        yield f"{loadtest!r} has its own tasks; [[tasks]] are for {MIXED!r}, the default", "loadtest"
    with_rate = any(task.per_s is not None for task in tasks)
    if tasks and not with_rate and all(task.weight == 0 for task in tasks):
        yield "at least one task needs a weight above 0", "tasks"
    local = {index.name: index.local for index in table.indexes}
    for number, task in enumerate(tasks):
        if with_rate and task.per_s is None:
            yield "another task says per_s, so this one needs it, too", "tasks", number, "per_s"
        if task.index is not None and task.index not in local:
            there = ", ".join(local) or "none"
            yield f"the table has no index {task.index!r}; it has: {there}", "tasks", number, "index"
        elif task.index is not None and task.consistent and not local[task.index]:
            yield "a global index is never read strongly consistent", "tasks", number, "consistent"


def broken_attributes(attributes: Mapping[str, AttributeSpec], table: TableSpec) -> Iterator[Mistake]:
    """Every disagreement between `[attributes]` and the keys of the table and its indexes."""
    heads = {name for index in table.indexes for name in index.partition_keys}
    keys = heads | {name for index in table.indexes for name in index.sort_keys}
    for name, spec in attributes.items():
        path = ("attributes", name)
        near = get_close_matches(name, sorted(keys - attributes.keys()), n=1)
        if name not in keys and near:
            yield f"no index is keyed by it, did you mean {near[0]}?", *path
        if name in (table.partition_key, table.sort_key):
            yield "it is a key of the table: [keys] says which values it has", *path
        if name in heads and spec.timestamp == "second":
            yield "an index keyed by it is hot for one second: say minute, hour or day", *path, "timestamp"
        if spec.copy_of == "sort_key" and table.sort_key is None:
            yield "the table has no sort key", *path, "copy_of"


def broken_replay(loadtest: str, keys: KeysSpec, load: LoadSpec) -> Iterator[Mistake]:
    """What a trace, its load test and its times disagree with."""
    replay = Path(loadtest).stem == "replay"  # ours, or a copy of it
    replays, timed = keys.kind == "replay", load.arrivals == "trace"
    if replay and not replays:
        yield "loadtest = 'replay' needs kind = 'replay', and a trace", "keys", "kind"
    if replay and not timed:
        yield "loadtest = 'replay' needs arrivals = 'trace': rows are sent at their times", "load", "arrivals"
    elif timed and not replay:
        yield "only loadtest = 'replay' sends at the times of a trace", "load", "arrivals"
    elif keys.speed is not None and not timed:
        yield "no meaning without arrivals = 'trace'", "keys", "speed"


HEAD: Final = re.compile(r"\s*(\[\[?)([^\]\n]+)\]\]?\s*(?:#.*)?")
MOST_LINES: Final = 500  # of one value; a longer one is taken to have ended
ENDS: Final = ("]", "}", '"""', "'''")
NAME: Final = r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')"
PART: Final = re.compile(NAME)
ASSIGNED: Final = re.compile(rf"\s*({NAME}(?:\s*\.\s*{NAME})*)\s*=")
STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
POINTS_TO: Final = re.compile(r"^(.*) @ \$((?:\.[^.\[\]]+|\[\d+\])+)$", re.DOTALL)


def located(errors: list[str], text: str) -> list[str]:
    """Mistakes of a TOML file (`message @ $.keys.share`), each with the line that it is about."""
    lines = dict(_lines(text))
    return [_with_line(error, lines) for error in errors]


def marked(text: str, mark: str) -> Iterator[str]:
    """The fields of a TOML file on whose line a comment has the mark, as `keys.exponent = 0.8`."""
    lines = text.splitlines()
    for path, number in _lines(text):
        setting, _, comment = lines[number - 1].partition(" #")
        if mark in comment and "=" in setting:
            steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
            yield f"{''.join(steps).lstrip('.')} = {setting.partition('=')[2].strip()}"


def _with_line(error: str, lines: Mapping[Place, int]) -> str:
    match = POINTS_TO.match(error)
    if match is None:
        return error
    steps = (name or int(number) for name, number in STEP.findall(match[2]))
    path: Place = tuple(steps)
    while path and path not in lines:
        path = path[:-1]
    return f"{error} (line {lines[path]})" if path else error


def _lines(text: str) -> Iterator[tuple[Place, int]]:
    """The line on which each table and each field begins."""
    table: Place = ()
    counts: dict[Place, int] = {}
    value, since = "", 0  # of a field that goes on over several lines
    for number, line in enumerate(text.splitlines(), start=1):
        if value:
            value = f"{value}\n{line}"
            if number - since > MOST_LINES:
                value = ""
            elif line.partition("#")[0].rstrip().endswith(ENDS):
                value = _going_on(value)
        elif head := HEAD.fullmatch(line):
            table = _within(_parts(head[2]), counts)
            if head[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, number
        elif field := ASSIGNED.match(line):
            yield (*table, *_parts(field[1])), number
            value, since = _going_on(line), number


def _going_on(assigned: str) -> str:
    """A field whose value does not end here; nothing where it does."""
    try:
        tomllib.loads(assigned)
    except tomllib.TOMLDecodeError:
        return assigned
    return ""


def _parts(name: str) -> tuple[str, ...]:
    return tuple(step.strip("\"'") for step in PART.findall(name))


def _within(parts: tuple[str, ...], counts: Mapping[Place, int]) -> Place:
    """A table's place; within an array of tables it is in the last one so far."""
    path: Place = ()
    for number, name in enumerate(parts, start=1):
        path = (*path, name)
        if path in counts and number < len(parts):
            path = (*path, counts[path])
    return path
