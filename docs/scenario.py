"""Writes docs/scenario.md: every field of a scenario, by the schema that a file is checked with.

make schema
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from keyheat.scenario.scenario import json_schema

PAGE: Final = Path(__file__).with_suffix(".md")
HEAD: Final = """# Every field of a scenario

**When:** you write a scenario, and want to know what may stand in it. `keyheat init` writes one of [your table](your-table.md); [configs/scenarios](../configs/scenarios)
has one for each of our questions. A file is checked whole before anything starts, and every mistake is said with its line. For an editor,
`keyheat schema` prints the JSON Schema, wherever Keyheat is installed; a file whose first line is `#:schema PATH` is checked while it is written.

A field that has no default has to be there. Rates are per second; capacity is in units per second of an unscaled table.
"""
INLINE: Final = ("CapacityPair",)
"""Parts that are written on one line, within their field."""
MEANT: Final[Mapping[tuple[str, str], str]] = {
    ("Scenario", "format"): "which version of this file it is",
    ("Scenario", "keys"): "[which keys](#keys) are touched how often",
    ("Scenario", "load"): "[how much](#load) is sent, of which size, for how long",
    ("Scenario", "thresholds"): "[what breaks the build](#thresholds)",
    ("Scenario", "local"): "[the local endpoint](#local)",
    ("Scenario", "name"): "lower-case letters, digits and hyphens",
    ("Scenario", "question"): "what the scenario is to answer, for whoever reads its report",
    ("Scenario", "seed"): "of everything that chance decides",
    ("Scenario", "table"): "[below](#table)",
    ("Scenario", "companions"): "further tables that the load test uses, as `[table]` says one",
    ("AutoScalingSpec", "read"): "target tracking of read capacity",
    ("AutoScalingSpec", "write"): "target tracking of write capacity",
    ("IndexSpec", "name"): "the index's name",
    ("IndexSpec", "partition_key"): "the attribute that it is partitioned by",
    ("IndexSpec", "partition_key_type"): "S: a string, N: a number, B: binary",
    ("IndexSpec", "sort_key"): "the attribute that it is sorted by",
    ("IndexSpec", "projection"): "what of an item stands in it",
    ("IndexSpec", "include"): "with INCLUDE: the attributes beside its keys",
    ("IndexSpec", "max_on_demand"): "maximum throughput; on-demand mode only",
    ("IndexSpec", "warm"): "warm throughput that is asked for; on-demand mode only",
    ("KeysSpec", "kind"): "which keys are touched how often: [key-patterns.md](key-patterns.md)",
    ("KeysSpec", "first_day"): "of a date key: the day on which the run begins",
    ("LoadSpec", "users"): "Locust users",
    ("LoadSpec", "duration_s"): "seconds of load",
    ("ShapeSpec", "kind"): "how the rate goes over time: [generator.md](generator.md)",
    ("ShardingSpec", "max_shards"): "of one key, at most",
    ("SizeSpec", "kind"): "the distribution of item sizes: [key-patterns.md](key-patterns.md#item-sizes)",
    ("SizeSpec", "low"): "uniform: the smallest",
    ("SizeSpec", "high"): "uniform: the largest",
    ("SizeSpec", "median"): "lognormal: half of the items are smaller",
    ("SizeSpec", "sigma"): "lognormal: how far sizes spread, of their logarithm",
    ("SizeSpec", "sizes"): "choice: the sizes that there are",
    ("SizeSpec", "weights"): "choice: how often each is had",
    ("StepSpec", "per_s"): "the rate of the step",
    ("StepSpec", "for_s"): "how long it lasts",
    ("TableSpec", "name"): "the table's name; a run makes and deletes it",
    ("TableSpec", "billing_mode"): "provisioned or on demand",
    ("TableSpec", "partition_key"): "the attribute that it is partitioned by",
    ("TableSpec", "sort_key_type"): "S: a string, N: a number, B: binary",
    ("TableSpec", "indexes"): "its secondary indexes",
    ("ThresholdsSpec", "throttle_share_max"): "throttled attempts, of all",
    ("ThresholdsSpec", "error_share_max"): "attempts that failed otherwise, of all",
    (
        "ThresholdsSpec",
        "p99_ms_max",
    ): "p99 of the service time of accepted requests, milliseconds",
}
"""What fields mean whose name says nearly everything."""
VERBS: Final[Mapping[str, str]] = {
    "keys.shards": "load tests that spread keys, and `[[tasks]]`, send to so many. `simulate` and `whatif` divide the hot keys of the "
    "others on their way, and say so; `plan` and `run` refuse it there, for it would change nothing",
    "timeline": "`run` makes the changes on the table that it made; `simulate`, `plan` and `whatif NAME shards` play them; `whatif NAME capacity` and `load` leave them out",
    "table.auto_scaling": "played by `simulate` and `whatif NAME shards`; `plan` leaves it out and says so; `run` refuses it, and says how to register a policy in AWS",
    "table.regions": "`plan` counts what the copies cost, `simulate` plays the first Region; a run on the local endpoint has that one alone, "
    "and one in AWS loads a global table that is there (`--table`): it makes none",
    "load.replicated_per_write": "`plan`, `simulate` and `whatif`; `run` refuses it, for nothing of ours writes in other Regions",
    "dynamic_sharding": "`run` alone: what is sent depends on which keys throttle",
    "budget": "`run`, `whatif`, `fix` and `regress` in an account; nothing is paid for elsewhere",
    "abort_on": "real loads: a simulation has nothing to protect",
    "thresholds": "`analyze`, after every run: a broken one is exit code 1",
    "expects": "the report and the index of several runs say whether it came so; suites hold a run to it",
    "local.scale": "the local endpoint and the simulator: a table a tenth the size; AWS has its own",
    "cache": "load tests that read through one; `run` refuses it for the others, of which it changes nothing elsewhere",
    "tasks": "the load test `operations`, which is the default where they are there; any other refuses them",
}
"""What each verb makes of fields that do not mean the same to all of them."""


def page() -> str:
    """The whole page."""
    schema = json_schema()
    return "\n".join([HEAD, *_sections(schema), "", *_by_verb()]) + "\n"


def _by_verb() -> Iterator[str]:
    yield "## What each verb makes of it"
    yield ""
    yield "All verbs go by all fields, but for these:"
    yield ""
    yield "| field | who goes by it |"
    yield "|---|---|"
    yield from (f"| `{field}` | {who} |" for field, who in VERBS.items())


def _sections(schema: Mapping[str, Any]) -> Iterator[str]:
    yield from _table(schema, "Scenario", schema["properties"], "## At the top")
    for name, head, part in _parts(schema, "", schema["properties"]):
        definition = schema["$defs"][part]
        about = f"`{head}`: {_small(definition.get('description', '').splitlines()[0])}"
        yield ""
        yield from _table(schema, part, definition["properties"], f"## {name}\n\n{about}")


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
    for one in (spec, *spec.get("anyOf", ()), *spec.get("oneOf", ())):
        if "$ref" in one:
            return one["$ref"].rpartition("/")[2], "one"
        for kind, inner in (("many", one.get("items")), ("named", one.get("additionalProperties"))):
            if isinstance(inner, Mapping) and "$ref" in inner:
                return inner["$ref"].rpartition("/")[2], kind
    return None, "one"


def _table(
    schema: Mapping[str, Any], part: str, properties: Mapping[str, Any], heading: str
) -> Iterator[str]:
    yield heading
    yield ""
    yield "| field | what it is | default | meaning |"
    yield "|---|---|---|---|"
    required = (schema if part == "Scenario" else schema["$defs"][part]).get("required", ())
    for field, spec in properties.items():
        default = "" if field in required else _default(spec.get("default"))
        yield f"| `{field}` | {_kind(spec)} | {default} | {meaning(part, field, spec)} |"


def meaning(part: str, field: str, spec: Mapping[str, Any]) -> str:
    """What a field means."""
    said = spec.get("description") or MEANT.get((part, field)) or ""
    return " ".join(str(said).split()).replace("|", "\\|")


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
    names = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false"}
    if spec.get("type") == "array":
        inner = spec.get("items") or {}
        return f"list of {_kind(inner)}" if inner else "list"
    return names.get(str(spec.get("type")), "table of values") + _range(spec)


def _range(spec: Mapping[str, Any]) -> str:
    least, most = spec.get("minimum", spec.get("exclusiveMinimum")), spec.get("maximum")
    if least is None and most is None:
        return ""
    above = "above " if "exclusiveMinimum" in spec else "from "
    return f", {above}{least:,}" + (f" to {most:,}" if most is not None else "") if least is not None else ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
