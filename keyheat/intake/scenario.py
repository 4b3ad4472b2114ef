"""Write a scenario file for a described table, with assumptions marked."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from click import FloatRange, IntRange

from keyheat.flags import option
from keyheat.intake.measured import DAY_S, MINUTE_S, PUTS, SINGLE, TASKS, MeasuredTraffic, read_of
from keyheat.intake.scaling import clamp
from keyheat.intake.tables import SourceTable
from keyheat.model import limits
from keyheat.numbers import percent, span
from keyheat.runs.formats import HotKey
from keyheat.scenario.scenario import ASSUMED, FORMAT
from keyheat.scenario.spec.part import name_from
from keyheat.scenario.spec.tables import ScalingSpec
from keyheat.words import Direction, key_name

ITEM_BYTES: Final = 1_000
WRITES_PER_S, READS_PER_S = 100.0, 100.0
VALUES: Final = 1_000
HOMES: Final = ("us-east-1", "us-east-2", "eu-west-1", "us-west-2", "eu-central-1", "ap-northeast-1")
"""Regions to assume for a global table's load: the first that is not a replica."""
LEAST_PER_S: Final = 0.001
TARGET: Final = ScalingSpec.model_fields["target"].default
NOT_NAMED: Final = "no key is named; one key with this share throttles as much"
NEW_KEYS: Final = 1_000_000_000  # enough that hardly any item is overwritten within a run
MOVED: Final = 1.5  # index units for each of the table: below, more items are new than are overwritten
SHORTEST_S, LONGEST_S = 600, 7_200  # of a load that throttled
SPLIT: Final = f"{ASSUMED}: reads are split evenly between the table and its indexes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Demand on the table, which its description does not state; None if unknown."""

    writes_per_s: float | None = option("items written per second, at the peak", type=FloatRange(min=0))
    reads_per_s: float | None = option("reads per second, at the peak", type=FloatRange(min=0))
    item_bytes: int | None = option("mean size of an item", type=IntRange(1, 409_600))
    keys: int | None = option("number of partition keys", type=IntRange(1, 1_000_000_000))
    measured: MeasuredTraffic | None = None  # by CloudWatch, of a live table

    @property
    def by_metrics(self) -> bool:
        """Whether the measured rates apply: no others were given."""
        return self.measured is not None and self.writes_per_s is None and self.reads_per_s is None


def scenario_text(table: SourceTable, demand: Demand, source: str, schema: str | None) -> str:
    """Text of a scenario file for the table.

    `schema` refers to its JSON Schema for every reader; `source` is the table's origin.
    """
    spec = table.fields
    lines = [
        *([f"#:schema {schema}"] if schema else ()),
        f"# The table {table.name}, from {source}.",
        f"# Lines marked {ASSUMED} are guesses: put your own numbers there.",
        *(f"# Note: {remark}" for remark in table.remarks),
        *(f"# Not taken: {note}" for note in table.notes),
        *(_rate_comments(demand.measured) if demand.measured and demand.by_metrics else ()),
        f'format = "{FORMAT}"',
        f"name = {_quoted(name_from(table.name))}",
        f"question = {_quoted(f'Does {table.name} hold its load?')}",
        "",
        "[table]",
        f"name = {_quoted(f'keyheat-{table.name}'[:255])}  # a run creates its own table",
        *_owner(spec, table.scaling, None),
        *([f"stream = {_quoted(spec['stream'])}"] if spec["stream"] else ()),
        *_regions(spec, table),
        *_scaled(table.scaling, None, "table"),
        *(line for index in spec["indexes"] for line in _index(index, table, spec.get("provisioned"))),
        *_keys(demand),
        *_attributes(spec, demand),
        *_load(table, spec, demand),
        *_tasks(table, spec, demand),
    ]
    return "\n".join(lines) + "\n"


def _rate_comments(traffic: MeasuredTraffic) -> Iterator[str]:
    """Comments on the origin of the rates."""
    seen = span(traffic.days * DAY_S)
    peak, mean = sum(task.per_s for task in traffic.tasks), sum(task.mean_per_s for task in traffic.tasks)
    busiest = "throttled " if traffic.throttled else ""
    busiest += "minute" if traffic.period_s == MINUTE_S else span(traffic.period_s)
    yield f"# By CloudWatch, the busiest {busiest} of {traffic.hour or seen} was {traffic.peak_at:%FT%RZ}:"
    throttled = ", including throttled ones" if traffic.throttled else ""
    yield f"# {peak:,.4g} requests/s, as below{throttled}; their mean over {seen} was {mean:,.4g}."
    yield from (f"# Not taken: {note}" for note in traffic.notes)


def _owner(spec: Mapping[str, Any], scaling: Mapping[Any, Any], index: str | None) -> Iterator[str]:
    """Keys and capacity of a table or index."""
    if index is None:
        yield f"billing_mode = {_quoted(spec['billing_mode'])}"
    for key in ("partition_key", "sort_key"):
        if spec.get(key):
            names = [spec[key], *spec.get(f"more_{key}s", ())]
            several = f"[{', '.join(map(_quoted, names))}]"
            yield f"{key} = {several if len(names) > 1 else _quoted(spec[key])}"
            if spec.get(f"{key}_type", "S") != "S":
                yield f"{key}_type = {_quoted(spec[f'{key}_type'])}"
    if spec.get("provisioned"):
        unsaid = " and ".join(spec.get("unsaid", ()))
        mark = f"  # {ASSUMED}: {unsaid} as for the table" if unsaid else ""
        units = {
            side: clamp(units, bounds)
            if units is not None and (bounds := scaling.get((index, side)))
            else units
            for side, units in spec["provisioned"].items()
        }
        yield f"provisioned = {_pair(units)}{mark}"
    yield from (f"{field} = {_pair(spec[field])}" for field in ("max_on_demand", "warm") if spec.get(field))


def _regions(spec: Mapping[str, Any], table: SourceTable) -> Iterator[str]:
    """All Regions of a global table, the described one first."""
    if "regions" in spec:
        yield f"regions = [{', '.join(map(_quoted, spec['regions']))}]  # each write is copied to all of them"
    elif table.replicas:
        home = next(region for region in HOMES if region not in table.replicas)
        listed = ", ".join(map(_quoted, (home, *table.replicas)))
        yield f"regions = [{listed}]  # {ASSUMED}: the load is in {home}; the others are replicas"


def _pair(pair: Mapping[str, Any]) -> str:
    units = ", ".join(f"{side} = {_number(pair[side])}" for side in ("read", "write") if pair.get(side))
    return f"{{ {units} }}"


def _scaled(scaling: Mapping[Any, Any], index: str | None, path: str) -> Iterator[str]:
    for side in ("read", "write"):
        if not (bounds := scaling.get((index, side))):
            continue
        yield ""
        yield f"[{path}.auto_scaling.{side}]"
        fields = ("min", "max", "target", "scale_out_cooldown_s", "scale_in_cooldown_s")
        yield from (f"{name} = {_number(bounds[name])}" for name in fields if name in bounds)
        if not bounds.get("scale_in", True):
            yield "scale_in = false"
        if "target" not in bounds:
            yield f"target = {TARGET}  # {ASSUMED}"


def _index(index: Mapping[str, Any], table: SourceTable, capacity: Mapping[str, Any] | None) -> Iterator[str]:
    """An index; capacity that it does not state is the table's `capacity`."""
    if capacity and not index["local"]:
        stated = {side: units for side, units in (index.get("provisioned") or {}).items() if units}
        unsaid = [side for side in capacity if side not in stated]
        index = {**index, "provisioned": {**capacity, **stated}, "unsaid": unsaid}
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
    keys = f"keys = {demand.keys or VALUES:_}" + ("" if demand.keys else f"  # {ASSUMED}")
    yield ""
    yield "[keys]"
    if hot := demand.measured.keys_of(None) if demand.measured else ():
        yield from _key_comments(hot)
        yield f"kind = {_quoted('hot_key' if len(hot) == 1 else 'hot_set')}"
        yield f"share = {round(min(1.0, sum(key.share for key in hot)), 4):g}  # by Contributor Insights"
        if len(hot) > 1:
            yield f"hot_keys = {len(hot)}  # {ASSUMED}: evenly shared"
        yield keys
        return
    if (assumed := _assumed_share(demand, None)) is not None:
        yield 'kind = "hot_key"'
        yield f"share = {assumed:.3g}  # {ASSUMED}: {NOT_NAMED}"
        yield keys
    elif demand.measured and demand.measured.throttled:
        yield f'kind = "uniform"     # {ASSUMED}: no key of the table is named as hot'
        # An overwritten item moves within an index: two units for each of the table, a new one takes one.
        rates = demand.measured.asked_per_s.items()
        writes = {of.index: units for of, units in rates if of.direction is Direction.WRITE}
        of_table = writes.pop(None, 0.0)
        new = any(0 < units <= MOVED * of_table for units in writes.values())
        yield keys if demand.keys else f"keys = {NEW_KEYS if new else VALUES:_}  # {ASSUMED}"
    else:
        yield f'kind = "zipf"        # {ASSUMED}: few keys get most requests; or "uniform", "hot_key" ...'
        yield keys
        yield f"exponent = 0.8       # {ASSUMED}"


def _key_comments(keys: Iterable[HotKey]) -> Iterator[str]:
    yield from (f"# {key_name(key.key, key.shown)}: {percent(key.share)}, of the demand" for key in keys)


def _assumed_share(demand: Demand, index: str | None) -> float | None:
    of, share = (demand.measured.hot_share if demand.measured else None) or (None, None)
    return share if of == index else None


def _attributes(spec: Mapping[str, Any], demand: Demand) -> Iterator[str]:
    """The attributes that indexes are keyed by; the first one of an index carries its hot keys."""
    table_keys = {spec["partition_key"], spec.get("sort_key")}
    keyed = [index for index in spec["indexes"] if not index["local"]]
    hot = {index["partition_key"]: _hot_values(demand, index["name"]) for index in keyed}
    heads = dict.fromkeys(
        name for index in keyed for name in (index["partition_key"], *index.get("more_partition_keys", ()))
    )
    for name in (name for name in heads if name not in table_keys):
        yield ""
        yield f"[attributes.{_key(name)}]"
        shares = hot.get(name, ())
        evenly = "" if shares else ": evenly used; or values = { open = 50, closed = 1 }"
        yield f"count = {VALUES:_}  # {ASSUMED}{evenly}"
        yield from shares


def _hot_values(demand: Demand, index: str) -> list[str]:
    if keys := demand.measured.keys_of(index) if demand.measured else ():
        shares = ", ".join(f"{key.share:.4g}" for key in keys)
        return [*_key_comments(keys), f"hot = [{shares}]  # by Contributor Insights"]
    if (assumed := _assumed_share(demand, index)) is not None:
        return [f"hot = [{assumed:.3g}]  # {ASSUMED}: {NOT_NAMED}"]
    return []


def _load(table: SourceTable, spec: Mapping[str, Any], demand: Demand) -> Iterator[str]:
    size, comment = _item_bytes(table, demand)
    yield ""
    yield "[load]"
    yield "users = 50"
    measured = demand.measured if demand.by_metrics else None
    if measured is not None and measured.throttled:
        owners, spent_s = {None: spec, **{index["name"]: index for index in spec["indexes"]}}, 0.0
        for of, asked_per_s in measured.asked_per_s.items():
            has = (owners.get(of.index, {}).get("provisioned") or {}).get(of.direction)
            if has and asked_per_s > has:
                spent_s = max(spent_s, limits.BURST_S * has / (asked_per_s - has))
        longer_s = ceil(1.25 * spent_s / MINUTE_S) * MINUTE_S
        duration_s = min(LONGEST_S, max(SHORTEST_S, longer_s))
        yield f"duration_s = {duration_s}  # long enough to spend burst capacity"
    else:
        yield "duration_s = 60"
    yield f"item_bytes = {size:_}{comment}"


def _item_bytes(table: SourceTable, demand: Demand) -> tuple[int, str]:
    """The item size, and a comment on its origin."""
    measured = demand.measured
    if demand.item_bytes:
        return demand.item_bytes, ""
    if measured and (units := measured.units_per_write):
        size = max(1, round((units - 0.5) * limits.WRITE_UNIT_BYTES))
        return size, f"  # {units:.3g} WCU consumed per write"
    if mean := table.item_bytes:
        return mean, "  # the table's mean, from DescribeTable"
    if measured and demand.by_metrics and not _puts_items(measured):
        return ITEM_BYTES, "  # no task puts items"
    if measured and (units := measured.units_per_read) and units > 2 * limits.EVENTUAL_READ_FACTOR:
        sizes = (round((units / f - 0.5) * limits.READ_UNIT_BYTES) for f in (limits.EVENTUAL_READ_FACTOR, 1))
        size = next((size for size in sizes if size <= limits.MAX_ITEM_BYTES), limits.MAX_ITEM_BYTES)
        return size, f"  # {units:.3g} RCU consumed per read"
    return ITEM_BYTES, f"  # {ASSUMED}"


def _tasks(table: SourceTable, spec: Mapping[str, Any], demand: Demand) -> Iterator[str]:
    if demand.measured is not None and demand.by_metrics:
        item_bytes, _comment = _item_bytes(table, demand)
        yield from _measured_tasks(spec, demand.measured, item_bytes)
        return
    writes, reads = demand.writes_per_s, demand.reads_per_s
    yield from _task("put", writes if writes is not None else WRITES_PER_S, _mark(writes))
    per_s = reads if reads is not None else READS_PER_S
    index_names = [index["name"] for index in spec["indexes"] if not index["local"]]
    per_query_s, mark = per_s / (len(index_names) + 1), SPLIT if index_names else _mark(reads)
    yield from _task("query" if spec.get("sort_key") else "get", per_query_s, mark)
    for name in index_names:
        yield from _task("query", per_query_s, mark, [f"index = {_quoted(name)}"])


def _puts_items(traffic: MeasuredTraffic) -> bool:
    return any(task.operation in PUTS for task in traffic.tasks)


def _measured_tasks(spec: Mapping[str, Any], traffic: MeasuredTraffic, item_bytes: int) -> Iterator[str]:
    items = _puts_items(traffic)
    # A task's update adds to a counter; those that wrote entries of an index changed its keys, as puts do.
    moves = not items and any(
        of.index and of.direction is Direction.WRITE and per_s for of, per_s in traffic.asked_per_s.items()
    )
    for task in traffic.tasks:
        per_s, more = max(task.per_s, LEAST_PER_S), list[str]()
        if task.index:
            more.append(f"index = {_quoted(task.index)}")
        times, note = 1.0, ""
        if task.operation in SINGLE[Direction.READ] and traffic.units_per_read:
            sorts = task.index is not None or bool(spec.get("sort_key"))
            read = read_of(task, per_s, traffic.units_per_read, item_bytes, sorts=sorts, items=items or moves)
            times, note = read[:2]
            more += read[2]
        mean = f"{task.mean_per_s:.3g}" if task.mean_per_s < 1_000 else f"{task.mean_per_s:,.0f}"
        name = TASKS[task.operation]
        if name == "update" and moves:
            name, note = "put", f"UpdateItem, whose changes of index keys a put has; mean: {mean}/s"
        yield from _task(name, per_s * times, note or f"mean: {mean}/s", more)


def _task(operation: str, per_s: float, comment: str, more: Sequence[str] = ()) -> Iterator[str]:
    if per_s <= 0:
        return
    yield ""
    yield "[[tasks]]"
    yield f"operation = {_quoted(operation)}"
    yield f"per_s = {_number(round(per_s, 3))}" + (f"  # {comment}" if comment else "")
    yield from more


def _mark(given: object) -> str:
    return ASSUMED if given is None else ""


def _number(value: float) -> str:
    return f"{int(value):_}" if float(value).is_integer() else f"{value:g}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)
