"""The scenario of a table that somebody described, as a file to go on from: what nobody told is marked."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from keyheat.intake.description import table_of
from keyheat.intake.tables import SourceTable
from keyheat.scenario.scenario import FORMAT

MARK: Final = "ASSUMED"
ITEM_BYTES: Final = 1_000
WRITES_PER_S, READS_PER_S = 100.0, 100.0
NAME_LENGTH: Final = 60
VALUES: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What is asked of the table; None where nobody told."""

    writes_per_s: float | None = None
    reads_per_s: float | None = None
    item_bytes: int | None = None
    keys: int | None = None


def scenario_text(table: SourceTable, demand: Demand, source: str, schema: str) -> str:
    """A scenario file of the table; `schema` is where its JSON Schema is, `source` what the table is from."""
    return "\n".join(_lines(table, demand, source, schema)) + "\n"


def _lines(table: SourceTable, demand: Demand, source: str, schema: str) -> Iterator[str]:
    spec = table_of(table.description)
    yield f"#:schema {schema}"
    yield f"# The table {table.name}, from {source}."
    yield f"# Lines that say {MARK} hold what that could not tell: put your own numbers there."
    yield from (f"# Not taken: {note}" for note in table.notes)
    yield f'format = "{FORMAT}"'
    yield f"name = {_quoted(_name_of(table.name))}"
    yield f"question = {_quoted(f'Does {table.name} hold its load?')}"
    yield ""
    yield "[table]"
    yield f"name = {_quoted(_own_name(table.name))}  # of a table of its own, wherever the scenario is run"
    yield from _owner(spec, table.scaling, None)
    if spec["stream"]:
        yield f"stream = {_quoted(spec['stream'])}"
    yield from _scaled(table.scaling, None, "table")
    for index in spec["indexes"]:
        yield from _index(index, table)
    yield from _keys(demand)
    yield from _attributes(spec)
    yield from _load(table, demand)
    yield from _tasks(spec, demand)


def _owner(spec: Mapping[str, Any], scaling: Mapping[Any, Any], index: str | None) -> Iterator[str]:
    """Keys and capacity, which a table and its indexes say alike."""
    if index is None:
        yield f"billing_mode = {_quoted(spec['billing_mode'])}"
    for key in ("partition_key", "sort_key"):
        if spec.get(key):
            yield f"{key} = {_quoted(spec[key])}"
            if spec.get(f"{key}_type", "S") != "S":
                yield f"{key}_type = {_quoted(spec[f'{key}_type'])}"
    if spec.get("provisioned"):
        yield f"provisioned = {_pair(_within(spec['provisioned'], scaling, index))}"
    yield from (f"{field} = {_pair(spec[field])}" for field in ("max_on_demand", "warm") if spec.get(field))


def _within(pair: Mapping[str, Any], scaling: Mapping[Any, Any], index: str | None) -> dict[str, Any]:
    """What is provisioned, within the bounds of its scaling."""
    found = dict(pair)
    for side in found:
        bounds = scaling.get((index, side))
        if bounds and found[side] is not None:
            found[side] = min(max(found[side], bounds["min"]), bounds["max"])
    return found


def _pair(pair: Mapping[str, Any]) -> str:
    said = ", ".join(f"{side} = {_number(pair[side])}" for side in ("read", "write") if pair.get(side))
    return f"{{ {said} }}"


def _scaled(scaling: Mapping[Any, Any], index: str | None, path: str) -> Iterator[str]:
    for side in ("read", "write"):
        bounds = scaling.get((index, side))
        if bounds:
            yield ""
            yield f"[{path}.auto_scaling.{side}]"
            yield from (
                f"{key} = {_number(bounds[key])}" for key in ("min", "max", "target") if key in bounds
            )


def _index(index: Mapping[str, Any], table: SourceTable) -> Iterator[str]:
    yield ""
    yield "[[table.indexes]]"
    yield f"name = {_quoted(index['name'])}"
    if index["local"]:
        yield "local = true"
    yield from _owner(index, table.scaling, index["name"])
    if index["projection"] != "ALL":
        yield f"projection = {_quoted(index['projection'])}"
    if index["include"]:
        yield f"include = [{', '.join(map(_quoted, index['include']))}]"
    yield from _scaled(table.scaling, index["name"], "table.indexes")


def _keys(demand: Demand) -> Iterator[str]:
    yield ""
    yield "[keys]"
    yield f'kind = "zipf"        # {MARK}: a few partition keys take much; or "uniform", "hot_key" ...'
    yield f"keys = {demand.keys or VALUES:_}{_mark(demand.keys)}"
    yield f"exponent = 0.8       # {MARK}"


def _attributes(spec: Mapping[str, Any]) -> Iterator[str]:
    own = {spec["partition_key"], spec.get("sort_key")}
    heads = dict.fromkeys(one["partition_key"] for one in spec["indexes"] if not one["local"])
    for name in (one for one in heads if one not in own):
        yield ""
        yield f"[attributes.{_key(name)}]"
        yield f"count = {VALUES:_}        # {MARK}: so many, evenly; or values = {{ open = 50, closed = 1 }}"


def _load(table: SourceTable, demand: Demand) -> Iterator[str]:
    size = demand.item_bytes or table.item_bytes
    yield ""
    yield "[load]"
    yield "users = 50"
    yield "duration_s = 60"
    yield f"item_bytes = {size or ITEM_BYTES:_}{_mark(size)}"


def _tasks(spec: Mapping[str, Any], demand: Demand) -> Iterator[str]:
    writes, reads = demand.writes_per_s, demand.reads_per_s
    yield from _task("put", writes if writes is not None else WRITES_PER_S, writes)
    per_s = reads if reads is not None else READS_PER_S
    asked = [one["name"] for one in spec["indexes"] if not one["local"]]
    each = per_s / (len(asked) + 1)
    yield from _task("query" if spec.get("sort_key") else "get", each, reads)
    for name in asked:
        yield from _task("query", each, reads, [f"index = {_quoted(name)}"])


def _task(operation: str, per_s: float, told: object, more: Sequence[str] = ()) -> Iterator[str]:
    if per_s <= 0:
        return
    yield ""
    yield "[[tasks]]"
    yield f"operation = {_quoted(operation)}"
    yield f"per_s = {_number(round(per_s, 3))}{_mark(told)}"
    yield from more


def _mark(told: object) -> str:
    return f"  # {MARK}" if told is None else ""


def _number(value: float) -> str:
    return f"{int(value):_}" if float(value).is_integer() else f"{value:g}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _name_of(table: str) -> str:
    """A scenario's name: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", table.lower()).strip("-")[:NAME_LENGTH].strip("-") or "table"


def _own_name(table: str) -> str:
    """The name of the table that a run creates, which is never the one that was described."""
    return f"keyheat-{table}"[:255]
