"""A snapshot: every table with its items, as lines of JSON; and an endpoint that becomes what one says.

    {"format": "keyheat.snapshot/1", "tables": 2}
    {"region": "us-east-1", "create": {"TableName": ...}, "time_to_live": null, "items": 1}
    {"pk": {"S": "a"}}
    {"region": "us-east-1", "create": ...}

A line for each table, and after it one for each of its items.
Of capacity it has what is stated, and not what was spent or split: a table that is read back is as new.
"""

from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final

import orjson

from keyheat.bounds import unmarked
from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.itemstore import json_of
from keyheat.endpoint.regions import Regions
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.service import Context, Service, Streams
from keyheat.endpoint.state.descriptions import creation_of
from keyheat.endpoint.state.items import SeededItems
from keyheat.endpoint.tables.catalog import Catalog, Table
from keyheat.endpoint.tables.create import create_table
from keyheat.endpoint.tables.describe import describe

FORMAT: Final = "keyheat.snapshot/1"
ACCEPTED: Final = f"accepted is what GET /_keyheat/snapshot gives, which begins with its format, {FORMAT}"


class NoSnapshot(ValueError):
    """What was given is no snapshot, or a damaged one; nothing was changed."""


def snapshot(regions: Regions) -> bytes:
    tables = [table for service in regions for table in service.catalog]
    lines = [orjson.dumps({"format": FORMAT, "tables": len(tables)})]
    for table in tables:
        lines += _lines(table, regions.home.clock())
    return b"\n".join(lines) + b"\n"


def _lines(table: Table, now_s: float) -> Iterator[bytes]:
    created = creation_of(describe(table, now_s))
    created["Tags"] = [{"Key": key, "Value": value} for key, value in table.tags.items()]
    about = {"time_to_live": table.time_to_live, "items": len(table.items)}
    yield orjson.dumps({"region": table.region, "create": created, **about})
    for key in table.items.items.between(b"", None):
        yield json_of(table.items.items[key])


def restore(regions: Regions, content: bytes) -> None:
    """Become what a snapshot says, and nothing else. Raises `NoSnapshot`; then all is as it was."""
    before = {service.region: (service.catalog, service.streams) for service in regions}
    for service in regions:
        service.catalog = Catalog(service.clock, service.region)
        service.streams = Streams(max_bytes=service.streams.max_bytes)
    try:
        _restore(regions, unmarked(content))
    except (ServiceError, ValueError, LookupError, TypeError, AttributeError) as error:
        for service in regions:
            if service.region in before:
                service.catalog, service.streams = before[service.region]
            else:
                regions.forget(service)
        raise NoSnapshot(f"no whole snapshot: {error!s}; {ACCEPTED}") from error


Lines = Iterator[tuple[int, bytes]]
"""The lines of a snapshot with their numbers."""


def _restore(regions: Regions, content: bytes) -> None:
    lines = enumerate(BytesIO(content), 1)
    _, head = _object(lines)
    if head.get("format") != FORMAT:
        raise ValueError("its first line does not say its format")
    tables = head.get("tables")
    if type(tables) is not int or tables < 0:
        raise ValueError(f"it has a number of tables, not {tables!r} @ line 1")
    for _ in range(tables):
        _restore_table(regions, lines)
    if (more := next((number for number, line in lines if line.strip()), None)) is not None:
        raise ValueError(f"there is more than it says @ line {more:,}")


def _object(lines: Lines) -> tuple[int, dict[str, Any]]:
    number, line = next(lines, (0, b""))
    try:
        content = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{error} @ line {number:,}" if line else "it ends too early") from None
    if not isinstance(content, dict):
        raise ValueError(f"no object @ line {number:,}")
    return number, content


def _restore_table(regions: Regions, lines: Lines) -> None:
    number, about = _object(lines)
    if missing := {"region", "create", "time_to_live", "items"} - about.keys():
        raise ValueError(f"{', '.join(sorted(missing))}: missing @ line {number:,}")
    if not isinstance(about["time_to_live"], str | None):
        raise ValueError(f"time_to_live is the name of an attribute, or null @ line {number:,}")
    service = regions.named(about["region"])
    table = created(service, about["create"])
    table.time_to_live = about["time_to_live"]
    items = SeededItems(table, service.clock())
    items.put(line for _, line in zip(range(about["items"]), lines, strict=False))
    if items.wrong:
        raise ValueError("; ".join(items.problems()))
    if (there := items.count - items.replaced) != about["items"]:
        raise ValueError(f"{table.name} should have {about['items']:,} items, and {there:,} are there")


def created(service: Service, request: dict[str, Any]) -> Table:
    """A table that a CreateTable request makes, as the operation would. Raises `ServiceError`."""
    check_shape("CreateTable", request)
    create_table(Context(service, service.clock()), request)
    return service.catalog.find(request["TableName"])
