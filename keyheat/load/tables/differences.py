"""How a table that is there differs from the one that a scenario describes: it would answer another question.

CreateTable takes a table in nearly the words in which DescribeTable gives it, so both are read alike. What an
endpoint does not say of its table is not a difference.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from keyheat.load.tables.creation import creation
from keyheat.runs.table_facts import mode_of
from keyheat.scenario.spec.tables import TableSpec

Part = Mapping[str, Any]
MODES = {"PROVISIONED": "provisioned mode", "PAY_PER_REQUEST": "on-demand mode"}
INDEXES = {"GlobalSecondaryIndexes": "global", "LocalSecondaryIndexes": "local"}
SIDES = ("Read", "Write")
UNSTATED = (None, 0, -1)  # a capacity that is not there, as the API says it in one place or the other


def differences(spec: TableSpec, description: Part) -> list[str]:
    """What is otherwise than the scenario says, one clause each; nothing where it is as described."""
    wanted = creation(spec)
    found = list(_of_part("its", wanted, description))
    if mode_of(description) != spec.billing_mode:
        found.append(f"it is in {MODES[mode_of(description)]}, not in {MODES[spec.billing_mode]}")
    else:
        found += _capacities("its", wanted, description)
    found += _types(wanted, description)
    for member, kind in INDEXES.items():
        found += _indexes(kind, _named(wanted, member), _named(description, member))
    return found + list(_stream(wanted, description))


def _of_part(whose: str, wanted: Part, there: Part) -> Iterator[str]:
    """Key and projection of a table or an index."""
    keys = [_key(part["KeySchema"]) for part in (there, wanted)]
    if keys[0] != keys[1]:
        yield f"{whose} key is {keys[0]}, not {keys[1]}"
    projections = [_projection(part.get("Projection", {})) for part in (there, wanted)]
    if projections[0] != projections[1]:
        yield f"{whose} projection is {projections[0]}, not {projections[1]}"


def _key(schema: list[Part]) -> str:
    names = {element["KeyType"]: element["AttributeName"] for element in schema}
    return " and ".join(names[kind] for kind in ("HASH", "RANGE") if kind in names)


def _projection(projection: Part) -> str:
    included = sorted(projection.get("NonKeyAttributes") or ())
    return " ".join((projection.get("ProjectionType") or "ALL", *included))


def _capacities(whose: str, wanted: Part, there: Part) -> Iterator[str]:
    """What is provisioned, the maximum on demand, and warm throughput that has not been reached yet."""
    for member, words, called, unset in (
        ("ProvisionedThroughput", "{}CapacityUnits", "provisioned {}s", "none"),
        ("OnDemandThroughput", "Max{}RequestUnits", "maximum of {}s on demand", "unlimited"),
    ):
        for side in SIDES:
            now, then = (part.get(member, {}).get(words.format(side)) for part in (there, wanted))
            if now != then and not (now in UNSTATED and then in UNSTATED):
                what = f"{whose} {called.format(side.lower())}"
                yield f"{what}: {_units(now, unset)}, not {_units(then, unset)}"
    warm = there.get("WarmThroughput", {})
    for name, least in wanted.get("WarmThroughput", {}).items():
        if warm.get(name, least) < least:
            yield f"{whose} warm throughput, {name}: {warm[name]:,}, below {least:,}"


def _units(units: int | None, unset: str) -> str:
    return unset if units is None or units in UNSTATED else f"{units:,}"


def _types(wanted: Part, there: Part) -> Iterator[str]:
    types = {one["AttributeName"]: one["AttributeType"] for one in there.get("AttributeDefinitions", ())}
    for one in wanted["AttributeDefinitions"]:
        name, kind = one["AttributeName"], one["AttributeType"]
        if types.get(name, kind) != kind:
            yield f"its key attribute {name} is of type {types[name]}, not {kind}"


def _named(table: Part, member: str) -> dict[str, Part]:
    return {index["IndexName"]: index for index in table.get(member) or ()}


def _indexes(kind: str, wanted: Mapping[str, Part], there: Mapping[str, Part]) -> Iterator[str]:
    for name in wanted.keys() - there.keys():
        yield f"it has no {kind} index {name}"
    for name in there.keys() - wanted.keys():
        yield f"it has a {kind} index {name}, and the scenario has none"
    for name in wanted.keys() & there.keys():
        yield from _of_part(f"index {name}'s", wanted[name], there[name])
        yield from _capacities(f"index {name}'s", wanted[name], there[name])


def _stream(wanted: Part, there: Part) -> Iterator[str]:
    now, then = (
        spec.get("StreamViewType")
        if (spec := part.get("StreamSpecification", {})).get("StreamEnabled")
        else None
        for part in (there, wanted)
    )
    if now != then:
        yield f"its stream is {now or 'off'}, not {then or 'off'}"
