"""A snapshot: every table with its items, as lines of JSON; and an endpoint that becomes what one says.

    {"format": "keyheat.snapshot/2", "tables": 2}
    {"region": "us-east-1", "create": {"TableName": ...}, "time_to_live": null, "tags": {}, "items": 1}
    {"pk": {"S": "a"}}
    {"region": "us-east-1", "create": ...}

A line for each table, and after it one for each of its items. The first version had no Regions: what it says
is of the endpoint's own.
Of capacity it has what is stated, and not what was spent or split: a table that is read back is as new.
"""

from collections.abc import Iterator
from typing import Any, Final

import orjson

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.itemstore import json_of
from keyheat.endpoint.regions import Regions
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.service import Service, Streams
from keyheat.endpoint.state.descriptions import creation_of
from keyheat.endpoint.state.items import SeededItems
from keyheat.endpoint.tables.catalog import Catalog, Table
from keyheat.endpoint.tables.create import create_table
from keyheat.endpoint.tables.describe import describe

FORMAT: Final = "keyheat.snapshot/2"
READ: Final = ("keyheat.snapshot/1", FORMAT)
ACCEPTED: Final = f"accepted is what GET /_keyheat/snapshot gives, which begins with its format, {FORMAT}"


class NoSnapshot(ValueError):
    """What was given is no snapshot, or a damaged one; nothing was changed."""


def snapshot(regions: Regions) -> bytes:
    """All tables of all Regions, and their items."""
    tables = [table for service in regions for table in service.catalog]
    lines = [orjson.dumps({"format": FORMAT, "tables": len(tables)})]
    for table in tables:
        lines += _lines(table, regions.home.now_s())
    return b"\n".join(lines) + b"\n"


def _lines(table: Table, now_s: float) -> Iterator[bytes]:
    created = creation_of(describe(table, now_s))
    about = {"time_to_live": table.time_to_live, "tags": table.tags, "items": len(table.items)}
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
        _restored(regions, content)
    except (ServiceError, KeyError, TypeError, ValueError, AttributeError) as error:
        for service in regions:
            if service.region in before:
                service.catalog, service.streams = before[service.region]
            else:
                regions.forget(service)
        said = str(error) if isinstance(error, (NoSnapshot, ServiceError)) else repr(error)
        raise NoSnapshot(f"no whole snapshot: {said}; {ACCEPTED}") from error


def _restored(regions: Regions, content: bytes) -> None:
    lines = iter(content.splitlines())
    head = orjson.loads(next(lines, b"null"))
    if not isinstance(head, dict) or head.get("format") not in READ:
        raise NoSnapshot("its first line does not say its format")
    for _ in range(head["tables"]):
        _table(regions, lines)
    if next(lines, None) is not None:
        raise NoSnapshot("there is more than it says")


def _table(regions: Regions, lines: Iterator[bytes]) -> None:
    about = orjson.loads(next(lines, b"null"))
    if not isinstance(about, dict):
        raise NoSnapshot("it ends before its last table")
    service = regions.called(about.get("region", regions.home.region)).service
    table = created(service, about["create"])
    table.time_to_live, table.tags = about["time_to_live"], dict(about["tags"])
    items = SeededItems(table, service.now_s())
    items.put(line for _, line in zip(range(about["items"]), lines, strict=False))
    if items.wrong:
        raise NoSnapshot("; ".join(items.problems()))
    if items.count != about["items"]:
        raise NoSnapshot(f"{table.name} should have {about['items']:,} items, and {items.count:,} are there")


def created(service: Service, request: dict[str, Any]) -> Table:
    """A table that a CreateTable request makes, as the operation would. Raises `ServiceError`."""
    check_shape("CreateTable", request)
    create_table(service, request)
    return service.catalog.find(request["TableName"])
