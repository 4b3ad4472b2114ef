"""The scenario of a table that somebody described, as a file to go on from: what nobody told is marked."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from keyheat.intake.description import table_of
from keyheat.intake.measured import DAY_S, MINUTE_S, TASKS, MeasuredTraffic
from keyheat.intake.scaling import within
from keyheat.intake.tables import SourceTable
from keyheat.model.limits import WRITE_UNIT_BYTES
from keyheat.numbers import percent, span
from keyheat.scenario.scenario import ASSUMED, FORMAT
from keyheat.scenario.spec.tables import ScalingSpec
from keyheat.words import key_name

ITEM_BYTES: Final = 1_000
WRITES_PER_S, READS_PER_S = 100.0, 100.0
NAME_LENGTH: Final = 60
VALUES: Final = 1_000
HOMES: Final = ("us-east-1", "us-east-2", "eu-west-1", "us-west-2", "eu-central-1", "ap-northeast-1")
"""Where a global table is taken to be loaded if nobody says it: the first that is no replica."""
LEAST_PER_S: Final = 0.001
TARGET: Final = ScalingSpec.model_fields["target"].default
SPLIT: Final = f"{ASSUMED}: so many of the reads; they are split evenly between the table and its indexes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What is asked of the table; None where nobody told."""

    writes_per_s: float | None = None
    reads_per_s: float | None = None
    item_bytes: int | None = None
    keys: int | None = None
    measured: MeasuredTraffic | None = None  # by CloudWatch, of a live table

    @property
    def by_metrics(self) -> bool:
        """Whether the rates are those that were measured: nobody said others."""
        return self.measured is not None and self.writes_per_s is None and self.reads_per_s is None


def scenario_text(table: SourceTable, demand: Demand, source: str, schema: str | None) -> str:
    """A scenario file of the table; `schema` is where everybody who has the file finds
    its JSON Schema, `source` what the table is from.
    """
    return "\n".join(_lines(table, demand, source, schema)) + "\n"


def with_locustfile(text: str, path: str, tasks: Sequence[Mapping[str, Any]]) -> str:
    """A scenario file whose tasks are those of a Locust file, `path` as seen from it; the rate stays."""
    head = text.partition("\n[[tasks]]")[0].rstrip("\n")
    total = sum(task["per_s"] for task in tasks)
    said = f"loadtest = {_quoted(path if path.startswith('.') else f'./{path}')}"
    head = re.sub(r"(?m)^(question = .*)$", lambda found: f"{found[1]}\n{said}", head, count=1)
    return f"{head}\nrequests_per_s = {_number(round(total, 3))}  # of all tasks together\n"


def _lines(table: SourceTable, demand: Demand, source: str, schema: str | None) -> Iterator[str]:
    spec = table_of(table.description)
    if schema:
        yield f"#:schema {schema}"
    yield f"# The table {table.name}, from {source}."
    yield f"# Lines that say {ASSUMED} hold what that could not tell: put your own numbers there."
    yield from (f"# Note: {remark}" for remark in table.remarks)
    yield from (f"# Not taken: {note}" for note in table.notes)
    yield from _measured(demand.measured if demand.by_metrics else None)
    yield f'format = "{FORMAT}"'
    yield f"name = {_quoted(_name_of(table.name))}"
    yield f"question = {_quoted(f'Does {table.name} hold its load?')}"
    yield ""
    yield "[table]"
    yield f"name = {_quoted(_own_name(table.name))}  # of a table of its own, wherever the scenario is run"
    yield from _owner(spec, table.scaling, None)
    if spec["stream"]:
        yield f"stream = {_quoted(spec['stream'])}"
    yield from _regions(spec, table)
    yield from _scaled(table.scaling, None, "table")
    for index in spec["indexes"]:
        yield from _index(index, table, spec.get("provisioned"))
    yield from _keys(demand)
    yield from _attributes(spec)
    yield from _load(table, demand)
    yield from _tasks(spec, demand)


def _measured(traffic: MeasuredTraffic | None) -> Iterator[str]:
    """Where the rates come from."""
    if traffic is None:
        return
    seen = span(traffic.days * DAY_S)
    peak, mean = f"{traffic.peak_per_s:,.4g}", f"{traffic.mean_per_s:,.4g}"
    within = "the hour that throttled most" if traffic.throttled and traffic.metrics_asked else seen
    busiest = "throttled " if traffic.throttled else ""
    busiest += "minute" if traffic.period_s == MINUTE_S else span(traffic.period_s)
    yield f"# By CloudWatch, the busiest {busiest} of {within} was {traffic.peak_at:%FT%RZ}:"
    throttled = ", throttled ones among them" if traffic.throttled else ""
    yield f"# {peak} requests/s, as below{throttled}, where the mean of {seen} was {mean}."
    yield from (f"# Not taken: {note}" for note in traffic.notes)


def _owner(spec: Mapping[str, Any], scaling: Mapping[Any, Any], index: str | None) -> Iterator[str]:
    """Keys and capacity, which a table and its indexes say alike."""
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
        mark = f"  # {ASSUMED}: {unsaid} as the table's" if unsaid else ""
        yield f"provisioned = {_pair(_within(spec['provisioned'], scaling, index))}{mark}"
    yield from (f"{field} = {_pair(spec[field])}" for field in ("max_on_demand", "warm") if spec.get(field))


def _regions(spec: Mapping[str, Any], table: SourceTable) -> Iterator[str]:
    """All Regions of a global table; the one that is described comes first."""
    others = [str(one["RegionName"]) for one in table.description.get("Replicas") or ()]
    if "regions" in spec:
        yield f"regions = [{', '.join(map(_quoted, spec['regions']))}]  # each write is copied to all of them"
    elif others:
        home = next(one for one in HOMES if one not in others)
        listed = ", ".join(map(_quoted, (home, *others)))
        yield f"regions = [{listed}]  # {ASSUMED}: that it is loaded in {home}; the rest are its replicas"


def _within(pair: Mapping[str, Any], scaling: Mapping[Any, Any], index: str | None) -> dict[str, Any]:
    """What is provisioned, within the bounds of its scaling."""
    found = dict(pair)
    for side in found:
        bounds = scaling.get((index, side))
        if bounds and found[side] is not None:
            found[side] = within(found[side], bounds)
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
                f"{key} = {_number(bounds[key])}"
                for key in ("min", "max", "target", "scale_out_cooldown_s", "scale_in_cooldown_s")
                if key in bounds
            )
            if not bounds.get("scale_in", True):
                yield "scale_in = false"
            if "target" not in bounds:
                yield f"target = {TARGET}  # {ASSUMED}"


def _index(index: Mapping[str, Any], table: SourceTable, capacity: Mapping[str, Any] | None) -> Iterator[str]:
    """An index; of what is provisioned for it and not said, it has what the table has, `capacity`."""
    if capacity and not index["local"]:
        own = {side: units for side, units in (index.get("provisioned") or {}).items() if units}
        unsaid = [side for side in capacity if side not in own]
        index = {**index, "provisioned": {**capacity, **own}, "unsaid": unsaid}
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
    if hot := demand.measured.hot_keys if demand.measured else ():
        yield from (
            f"# {key_name(key.key, key.shown)}: {percent(key.share)}, of what was asked for" for key in hot
        )
        yield f"kind = {_quoted('hot_key' if len(hot) == 1 else 'hot_set')}"
        yield f"share = {round(min(1.0, sum(key.share for key in hot)), 4):g}  # by Contributor Insights"
        if len(hot) > 1:
            yield f"hot_keys = {len(hot)}  # {ASSUMED}: they share it evenly"
        yield f"keys = {demand.keys or VALUES:_}{_mark(demand.keys)}"
        return
    if demand.measured and demand.measured.hot_share:
        yield 'kind = "hot_key"'
        yield (
            f"share = {demand.measured.hot_share:.3g}  # {ASSUMED}: no key is named; with this share, one "
            "key throttles as much"
        )
        yield f"keys = {demand.keys or VALUES:_}{_mark(demand.keys)}"
        return
    yield f'kind = "zipf"        # {ASSUMED}: a few partition keys take much; or "uniform", "hot_key" ...'
    yield f"keys = {demand.keys or VALUES:_}{_mark(demand.keys)}"
    yield f"exponent = 0.8       # {ASSUMED}"


def _attributes(spec: Mapping[str, Any]) -> Iterator[str]:
    own = {spec["partition_key"], spec.get("sort_key")}
    keyed = (one for one in spec["indexes"] if not one["local"])
    heads = dict.fromkeys(
        name for one in keyed for name in (one["partition_key"], *one.get("more_partition_keys", ()))
    )
    for name in (one for one in heads if one not in own):
        yield ""
        yield f"[attributes.{_key(name)}]"
        yield f"count = {VALUES:_}  # {ASSUMED}: so many, evenly; or values = {{ open = 50, closed = 1 }}"


def _load(table: SourceTable, demand: Demand) -> Iterator[str]:
    size, comment = _item_bytes(table, demand)
    yield ""
    yield "[load]"
    yield "users = 50"
    throttled = demand.by_metrics and demand.measured is not None and demand.measured.throttled
    yield "duration_s = 600  # saved burst is spent by then" if throttled else "duration_s = 60"
    yield f"item_bytes = {size:_}{comment}"


def _item_bytes(table: SourceTable, demand: Demand) -> tuple[int, str]:
    """The size of an item, and where it comes from."""
    if demand.item_bytes:
        return demand.item_bytes, ""
    units = demand.measured.units_per_write if demand.measured else None
    if units:
        return max(1, round((units - 0.5) * WRITE_UNIT_BYTES)), f"  # {units:.3g} WCU per write were consumed"
    if table.item_bytes:
        return table.item_bytes, "  # the mean of the table, by DescribeTable"
    return ITEM_BYTES, f"  # {ASSUMED}"


def _tasks(spec: Mapping[str, Any], demand: Demand) -> Iterator[str]:
    if demand.measured is not None and demand.by_metrics:
        yield from _measured_tasks(demand.measured)
        return
    writes, reads = demand.writes_per_s, demand.reads_per_s
    yield from _task("put", writes if writes is not None else WRITES_PER_S, _marked(writes))
    per_s = reads if reads is not None else READS_PER_S
    asked = [one["name"] for one in spec["indexes"] if not one["local"]]
    each, mark = per_s / (len(asked) + 1), SPLIT if asked else _marked(reads)
    yield from _task("query" if spec.get("sort_key") else "get", each, mark)
    for name in asked:
        yield from _task("query", each, mark, [f"index = {_quoted(name)}"])


def _measured_tasks(traffic: MeasuredTraffic) -> Iterator[str]:
    for task in traffic.tasks:
        more = [f"index = {_quoted(task.index)}"] if task.index else []
        rate = max(task.per_s, task.mean_per_s, LEAST_PER_S)  # it may have been busier at another time
        mean = f"{task.mean_per_s:.3g}" if task.mean_per_s < 1_000 else f"{task.mean_per_s:,.0f}"
        yield from _task(TASKS[task.operation], rate, f"{mean}/s in the mean", more)


def _task(operation: str, per_s: float, comment: str, more: Sequence[str] = ()) -> Iterator[str]:
    if per_s <= 0:
        return
    yield ""
    yield "[[tasks]]"
    yield f"operation = {_quoted(operation)}"
    yield f"per_s = {_number(round(per_s, 3))}" + (f"  # {comment}" if comment else "")
    yield from more


def _marked(told: object) -> str:
    return ASSUMED if told is None else ""


def _mark(told: object) -> str:
    return f"  # {ASSUMED}" if told is None else ""


def _number(value: float) -> str:
    return f"{int(value):_}" if float(value).is_integer() else f"{value:g}"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _name_of(table: str) -> str:
    """A scenario's name: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", table.lower()).strip("-")[:NAME_LENGTH].strip("-") or "table"


def _own_name(table: str) -> str:
    """The name of the table that a run creates, which is never the one that was described."""
    return f"keyheat-{table}"[:255]
