"""A snapshot: every table with its items, as lines of JSON; and an endpoint that becomes what one says.

    {"format": "keyheat.snapshot/1", "tables": 2}
    {"create": {"TableName": ...}, "time_to_live": null, "tags": {}, "items": 1}      for each table ...
    {"pk": {"S": "a"}}                                                                ... and its items
    {"create": ...}

Of capacity it has what is stated, and not what was spent or split: a table that is read back is as new.
"""

from collections.abc import Iterator
from typing import Any, Final

import orjson

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.itemstore import json_of
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.service import Service, Streams
from keyheat.endpoint.state.descriptions import creation_of
from keyheat.endpoint.state.items import SeededItems
from keyheat.endpoint.tables.catalog import Catalog, Table
from keyheat.endpoint.tables.create import create_table
from keyheat.endpoint.tables.describe import describe

FORMAT: Final = "keyheat.snapshot/1"
ACCEPTED: Final = f"accepted is what GET /_keyheat/snapshot gives, which begins with its format, {FORMAT}"


class NoSnapshot(ValueError):
    """What was given is no snapshot, or a damaged one; nothing was changed."""


def snapshot(service: Service) -> bytes:
    """All tables of a service and their items."""
    tables = list(service.catalog)
    lines = [orjson.dumps({"format": FORMAT, "tables": len(tables)})]
    for table in tables:
        lines += _lines(table, service.now_s())
    return b"\n".join(lines) + b"\n"


def _lines(table: Table, now_s: float) -> Iterator[bytes]:
    created = creation_of(describe(table, now_s))
    about = {"time_to_live": table.time_to_live, "tags": table.tags, "items": len(table.items)}
    yield orjson.dumps({"create": created, **about})
    for key in table.items.items.between(b"", None):
        yield json_of(table.items.items[key])


def restore(service: Service, content: bytes) -> None:
    """Become what a snapshot says, and nothing else. Raises `NoSnapshot`; then all is as it was."""
    before = service.catalog, service.streams
    service.catalog, service.streams = Catalog(service.clock), Streams(max_bytes=service.streams.max_bytes)
    try:
        _restored(service, content)
    except (ServiceError, KeyError, TypeError, ValueError, AttributeError) as error:
        service.catalog, service.streams = before
        said = str(error) if isinstance(error, (NoSnapshot, ServiceError)) else repr(error)
        raise NoSnapshot(f"no whole snapshot: {said}; {ACCEPTED}") from error


def _restored(service: Service, content: bytes) -> None:
    lines = iter(content.splitlines())
    head = orjson.loads(next(lines, b"null"))
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise NoSnapshot("its first line does not say its format")
    for _ in range(head["tables"]):
        _table(service, lines)
    if next(lines, None) is not None:
        raise NoSnapshot("there is more than it says")


def _table(service: Service, lines: Iterator[bytes]) -> None:
    about = orjson.loads(next(lines, b"null"))
    if not isinstance(about, dict):
        raise NoSnapshot("it ends before its last table")
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
