"""A snapshot: every table with its items, as lines of JSON; and an endpoint that becomes what one says.

    {"format": "keyheat.snapshot/1", "tables": 2}
    {"region": "us-east-1", "create": {"TableName": ...}, "time_to_live": null, "items": 1}
    {"pk": {"S": "a"}}
    {"region": "us-east-1", "create": ...}

A line for each table, and after it one for each of its items.
Of capacity it has what is stated, and not what was spent or split: a table that is read back is as new. Items
that are put back cost nothing, and no stream tells of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Final

import orjson

from keyheat.bounds import unmarked
from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.itemkeys import check_index_keys, checked_item_key
from keyheat.endpoint.items.capacity import check_size
from keyheat.endpoint.itemstore import json_of
from keyheat.endpoint.regions import Regions
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.service import Context, Service, Streams
from keyheat.endpoint.state.descriptions import creation_of
from keyheat.endpoint.tables.catalog import Catalog, Table
from keyheat.endpoint.tables.create import create_table
from keyheat.endpoint.tables.describe import describe
from keyheat.endpoint.values import check_item

FORMAT: Final = "keyheat.snapshot/1"
ACCEPTED: Final = f"accepted is what GET /_keyheat/snapshot gives, which begins with its format, {FORMAT}"
MOST_SAID: Final = 20
FORM: Final = 'a line is an item in DynamoDB JSON, {"pk": {"S": "a"}}, or the same as the value of "Item"'


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


@dataclass(slots=True)
class SeededItems:
    """The items of one file, put into a table line by line; what is wrong with lines is collected."""

    table: Table
    now_s: float
    count: int = 0
    replaced: int = 0
    wrong: list[str] = field(default_factory=list)
    _more: int = 0

    def put(self, lines: Iterable[tuple[int, bytes]]) -> None:
        """Put every line, with its number, that is an item of the table.

        `replaced` of them took the place of one with the same key.
        """
        for number, line in lines:
            if line.strip():
                self._put(line, number)

    def _put(self, line: bytes, number: int) -> None:
        try:
            self._store(_item_of(line))
        except (ServiceError, ValueError) as error:
            if len(self.wrong) < MOST_SAID:
                wrong_type = isinstance(error, ServiceError) and error.code == "SerializationException"
                self.wrong.append(f"{error}{'; ' + FORM if wrong_type else ''} @ line {number:,}")
            else:
                self._more += 1

    def _store(self, parsed_line: Any) -> None:
        item, table = check_item(parsed_line), self.table
        key = checked_item_key(table.schema.keys, item)
        if table.schema.indexes:
            check_index_keys(table.schema.indexes, item)
        before = table.items.get(key[0])
        change = table.items.plan(key, before, item)
        check_size(change)
        table.items.apply(change)
        table.model.grown(key[1], change.new_bytes - change.old_bytes, self.now_s)
        self.count += 1
        self.replaced += before is not None

    def problems(self) -> Iterator[str]:
        yield from self.wrong
        if self._more:
            yield f"and {self._more:,} lines more"


def _item_of(line: bytes) -> Any:
    try:
        parsed_line = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error}); {FORM}") from None
    if not isinstance(parsed_line, dict):
        raise ValueError(f"no item; {FORM}")
    # As an export to S3 has it: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
    wrapped = set(parsed_line) == {"Item"} and isinstance(parsed_line["Item"], dict)
    return parsed_line["Item"] if wrapped and not _is_value(parsed_line["Item"]) else parsed_line


def _is_value(content: dict[str, Any]) -> bool:
    """Whether this is an attribute's value, of a table whose only attribute is called Item."""
    return len(content) == 1 and not isinstance(next(iter(content.values())), dict)
