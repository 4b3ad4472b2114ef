"""Writes docs/scenario.md: every field of a scenario, by the schema that a file is checked with.

make schema
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from keyheat.scenario.scenario import json_schema

PAGE: Final = Path(__file__).with_suffix(".md")
HEAD: Final = """# Look up a field of a scenario

For anyone who writes a scenario. [init.md](init.md) writes one of your table, and explains keys and operations. A file is checked whole before
anything starts, and every mistake is listed with its line. `keyheat schema` prints the JSON Schema for editors: start a file with `#:schema PATH`.

A field without a default is required. Rates are per second; capacity is in units per second of an unscaled table.
"""
INLINE: Final = ("CapacityPair",)
"""Parts that are written on one line, within their field."""
MEANT: Final[Mapping[tuple[str, str], str]] = {
    ("Scenario", "format"): "version of this file",
    ("Scenario", "keys"): "[which keys](#keys) requests touch, and how often",
    ("Scenario", "load"): "[rate, sizes and duration](#load)",
    ("Scenario", "thresholds"): "[limits that fail a run](#thresholds)",
    ("Scenario", "local"): "[the local endpoint](#local)",
    ("Scenario", "name"): "lower-case letters, digits and hyphens",
    ("Scenario", "question"): "the question that the report answers",
    ("Scenario", "seed"): "seed of all random numbers",
    ("Scenario", "table"): "[below](#table)",
    ("Scenario", "companions"): "further tables of the load test, with the fields of `[table]`",
    ("AutoScalingSpec", "read"): "target tracking of read capacity",
    ("AutoScalingSpec", "write"): "target tracking of write capacity",
    ("IndexSpec", "name"): "name of the index",
    ("IndexSpec", "partition_key"): "partition key attribute",
    ("IndexSpec", "partition_key_type"): "S: string, N: number, B: binary",
    ("IndexSpec", "sort_key"): "sort key attribute",
    ("IndexSpec", "projection"): "which attributes of an item it holds",
    ("IndexSpec", "include"): "with INCLUDE: the attributes besides its keys",
    ("IndexSpec", "max_on_demand"): "maximum throughput; on-demand mode only",
    ("IndexSpec", "warm"): "requested warm throughput; on-demand mode only",
    ("KeysSpec", "kind"): "the [key pattern](init.md#key-patterns)",
    ("KeysSpec", "first_day"): "date key: the day on which the run begins",
    ("LoadSpec", "users"): "Locust users",
    ("LoadSpec", "duration_s"): "seconds of load",
    ("ShapeSpec", "kind"): "how the [rate changes](run.md#closed-loop-or-open-loop) over time",
    ("ShardingSpec", "max_shards"): "most shards of one key",
    ("SizeSpec", "kind"): "distribution of [item sizes](init.md#item-sizes)",
    ("SizeSpec", "low"): "uniform: the smallest",
    ("SizeSpec", "high"): "uniform: the largest",
    ("SizeSpec", "median"): "lognormal: half of the items are smaller",
    ("SizeSpec", "sigma"): "lognormal: spread of the sizes' logarithm",
    ("SizeSpec", "sizes"): "choice: the sizes",
    ("SizeSpec", "weights"): "choice: the weight of each size",
    ("StepSpec", "per_s"): "rate of the step",
    ("StepSpec", "for_s"): "length of the step",
    ("TableSpec", "name"): "name of the table; a run creates and deletes it",
    ("TableSpec", "billing_mode"): "provisioned or on demand",
    ("TableSpec", "partition_key"): "partition key attribute",
    ("TableSpec", "sort_key_type"): "S: string, N: number, B: binary",
    ("TableSpec", "indexes"): "secondary indexes",
    ("ThresholdsSpec", "throttle_share_max"): "throttled share of all attempts",
    ("ThresholdsSpec", "error_share_max"): "share of attempts with other failures",
    ("ThresholdsSpec", "p99_ms_max"): "p99 of the service time of accepted requests, milliseconds",
}
"""Meanings of fields whose name says nearly everything."""
VERBS: Final[Mapping[str, str]] = {
    "keys.shards": "load tests that spread keys, and `[[tasks]]`. For others `simulate` and `whatif` divide the hot keys on the way, and `plan` and `run` refuse it",
    "timeline": "`run` changes the table; `simulate`, `plan` and `whatif NAME shards` play it; `whatif NAME capacity` and `load` leave it out",
    "table.auto_scaling": "`simulate` and `whatif NAME shards`; `plan` leaves it out and says so; `run` refuses it",
    "table.regions": "`plan` prices the copies, `simulate` plays the first Region; a run in AWS loads an existing global table (`--table`)",
    "dynamic_sharding": "`run`; `plan`, `simulate` and `whatif` refuse it",
    "budget": "`run`, `whatif`, `fix` and `regress` on an account",
    "abort_on": "real loads only",
    "thresholds": "`analyze`, after every run: a broken one is exit code 1",
    "expects": "reports say whether it came so; suites require it",
    "local.scale": "the local endpoint and the simulator",
    "cache": "load tests that read through a cache; `run` refuses it for others",
    "tasks": "the load test `operations`, which is the default with them; others refuse them",
}
"""What each verb does with fields that do not mean the same to all of them."""


def page() -> str:
    """The whole page."""
    schema = json_schema()
    return "\n".join([HEAD, *_sections(schema), "", *_by_verb()]) + "\n"


def _by_verb() -> Iterator[str]:
    yield "## Fields by verb"
    yield ""
    yield "Every verb uses every field, except for these:"
    yield ""
    yield "| field | used by |"
    yield "|---|---|"
    yield from (f"| `{field}` | {who} |" for field, who in VERBS.items())


def _sections(schema: Mapping[str, Any]) -> Iterator[str]:
    """A section for each table of the file, at the first place that has it; the others are named with it."""
    yield from _table(schema, "Scenario", schema["properties"], "## At the top")
    places: dict[str, list[tuple[str, str]]] = {}
    for path, head, definition in _parts(schema, "", schema["properties"]):
        places.setdefault(definition, []).append((path, head))
    for definition, heads in places.items():
        spec = schema["$defs"][definition]
        written = ", ".join(f"`{head}`" for _path, head in heads)
        about = f"{written}: {_small(spec.get('description', '').splitlines()[0])}"
        yield ""
        yield from _table(schema, definition, spec["properties"], f"## {heads[0][0]}\n\n{about}")


def _small(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _parts(
    schema: Mapping[str, Any], path: str, properties: Mapping[str, Any]
) -> Iterator[tuple[str, str, str]]:
    """Tables of the file, each under what it is called, as it is written, and as what part."""
    for field, spec in properties.items():
        part, kind = _part(spec)
        if part is None or part in INLINE or field == "companions":
            continue
        within = f"{path}.{field}" if path else field
        named = f"{within}.NAME" if kind == "named" else within
        yield named, f"[[{named}]]" if kind == "many" else f"[{named}]", part
        yield from _parts(schema, named, schema["$defs"][part]["properties"])


def _part(spec: Mapping[str, Any]) -> tuple[str | None, str]:
    """The part that a field holds, if it holds one: one of it, many, or some by their names."""
    for choice in (spec, *spec.get("anyOf", ()), *spec.get("oneOf", ())):
        if "$ref" in choice:
            return choice["$ref"].rpartition("/")[2], "one"
        for kind, inner in (("many", choice.get("items")), ("named", choice.get("additionalProperties"))):
            if isinstance(inner, Mapping) and "$ref" in inner:
                return inner["$ref"].rpartition("/")[2], kind
    return None, "one"


def _table(
    schema: Mapping[str, Any], part: str, properties: Mapping[str, Any], heading: str
) -> Iterator[str]:
    yield heading
    yield ""
    yield "| field | type | default | meaning |"
    yield "|---|---|---|---|"
    required = (schema if part == "Scenario" else schema["$defs"][part]).get("required", ())
    for field, spec in properties.items():
        default = "" if field in required else _default(spec.get("default"))
        yield f"| `{field}` | {_kind(spec)} | {default} | {meaning(part, field, spec)} |"


def meaning(part: str, field: str, spec: Mapping[str, Any]) -> str:
    """What a field means. Raises `KeyError`: its `Field` or `MEANT` has to say it."""
    words = spec.get("description") or MEANT[part, field]
    return " ".join(str(words).split()).replace("|", "\\|")


def _default(value: object) -> str:
    if value is None or isinstance(value, dict | list):
        return "none" if not value else "as below"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _kind(spec: Mapping[str, Any]) -> str:
    """What a value is, in a few words."""
    if "enum" in spec:
        return ", ".join(f"`{one}`" for one in spec["enum"])
    if "const" in spec:
        return f"`{spec['const']}`"
    several = (*spec.get("anyOf", ()), *spec.get("oneOf", ()))
    choices = [one for one in several if one.get("type") != "null"]
    if choices:
        return " or ".join(dict.fromkeys(map(_kind, choices)))
    part, kind = _part(spec)
    if part in INLINE:
        return "`{ read, write }`"
    if part is not None:
        return {"one": "a table", "many": "tables", "named": "tables by name"}[kind]
    names = {"integer": "integer", "number": "number", "string": "text", "boolean": "boolean"}
    if spec.get("type") == "array":
        inner = spec.get("items") or {}
        return f"list of {_kind(inner)}" if inner else "list"
    return names.get(str(spec.get("type")), "table of values") + _range(spec)


def _range(spec: Mapping[str, Any]) -> str:
    least, most = spec.get("minimum", spec.get("exclusiveMinimum")), spec.get("maximum")
    if least is None:
        return ""
    if "exclusiveMinimum" in spec:
        return f" >{least:,}" + (f", ≤{most:,}" if most is not None else "")
    return f" ≥{least:,}" if most is None else f" {least:,}–{most:,}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
