"""What keeps a run from a table: quotas, whose it is, and how it differs from the scenario's.

How a table that is there differs from the one that a scenario describes: it would answer another question.
CreateTable takes a table in nearly the words in which DescribeTable gives it, so both are read alike. What an
endpoint does not say of its table is not a difference.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.tables.catalog import define
from keyheat.load.tables.control import creation
from keyheat.load.tables.description import all_active
from keyheat.load.tables.ownership import (
    TableError,
    TableRefused,
    Unread,
    live_in,
    refusal,
    refusals,
    standing,
    tags_read,
    unusable,
)
from keyheat.load.transport.target import Target
from keyheat.model.resources import CAPACITIES
from keyheat.plan.quotas import over_quota, quotas_of
from keyheat.runs.table_facts import mode_of
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import TableSpec
from keyheat.words import Direction

Part = Mapping[str, Any]
MODES = {"PROVISIONED": "provisioned mode", "PAY_PER_REQUEST": "on-demand mode"}
INDEXES = {"GlobalSecondaryIndexes": "global", "LocalSecondaryIndexes": "local"}
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
    for name, called, unset in (
        ("provisioned", "provisioned {}s", "none"),
        ("max_on_demand", "maximum of {}s on demand", "unlimited"),
    ):
        member, *sides = CAPACITIES[name]
        for side, direction in zip(sides, Direction, strict=True):
            now, then = (part.get(member, {}).get(side) for part in (there, wanted))
            if now != then and not (now in UNSTATED and then in UNSTATED):
                what = f"{whose} {called.format(direction)}"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What a person said of tables that are there: which may be loaded, and which is loaded as it is.

    On this machine (`local`) no table is somebody's, so that none is refused there, but for one that another
    run is loading: that one is refused everywhere, unless it is said to be shared.
    """

    local: bool
    foreign: Collection[str] = ()
    protected: Collection[str] = ()
    existing: str | None = None
    share: bool = False


def check_tables(
    found: Iterable[tuple[TableSpec, Mapping[str, Any] | None]],
    client: Any,
    allowed: Allowed,
    now: datetime,
) -> None:
    """Hold tables, each with DescribeTable's answer or None, against what is allowed and described.

    Raises `TableRefused` or `TableError` with everything that is in the way.
    """
    refused, wrong = list[str](), list[str]()
    for spec, description in found:
        wrong += obstacles(spec, description, allowed)
        if description is not None:
            refused += _refusals(spec.name, description, client, allowed, now)
    if refused:
        raise TableRefused(*refused, *wrong)
    if wrong:
        raise TableError(*wrong)


def _refusals(
    name: str, description: Mapping[str, Any], client: Any, allowed: Allowed, now: datetime
) -> list[str]:
    """Why a table that is there must not be loaded: for whose it is, and for who is loading it."""
    if allowed.local:
        lines, tags = list[str](), tags_read(client, description)
    else:
        table = standing(client, description)
        lines, tags = refusals(table, allowed.foreign, allowed.protected), table.tags
    if isinstance(tags, Unread) or allowed.share:
        return lines
    return [*lines, *(refusal(name, hold) for hold in live_in(tags, now))]


def obstacles(spec: TableSpec, description: Mapping[str, Any] | None, allowed: Allowed) -> list[str]:
    """Why the table cannot be made, or cannot be loaded as the scenario says, whoever owns it."""
    why = _obstacle(spec, description, as_it_is=spec.name == allowed.existing)
    return [f"table {spec.name} {why}"] if why else []


def _obstacle(spec: TableSpec, description: Mapping[str, Any] | None, *, as_it_is: bool) -> str | None:
    if description is None:
        return f"is not there, and --table {spec.name} loads only one that is" if as_it_is else mistake(spec)
    if (why := unusable(description)) is not None:
        return f"cannot be loaded: {why}"
    if as_it_is or not all_active(description):
        return None  # what is being changed is compared when it has changed
    found = "; ".join(differences(spec, description))
    return found and (
        f"is there, but not as the scenario describes it: {found}. "
        f"Load it as it is with --table {spec.name}, or delete it, and the run makes it anew"
    )


def mistake(spec: TableSpec) -> str | None:
    """Why DynamoDB would not make the table, by the rules that the local endpoint knows, too."""
    request = creation(spec)
    try:
        check_shape("CreateTable", request)
        define(request)
    except ServiceError as error:
        return f"cannot be made as the scenario describes it: {error.message}"
    return None


def check_quotas(scenario: Scenario, target: Target, connect: Callable[[Target], Any]) -> None:
    """See whether the account's quotas permit it. Raises `TableError` with everything that they do not.

    Who may not ask for the quotas is told by CreateTable, which holds the request against them anyway.
    """
    client = connect(target)
    try:
        answer = client.describe_limits()
    except (ClientError, BotoCoreError):
        return
    finally:
        client.close()
    if beyond := over_quota(scenario, quotas_of(answer)):
        raise TableError(*beyond)
