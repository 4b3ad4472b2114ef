"""Tables and items as files: what an endpoint starts with, and snapshots, which it writes and reads.

A snapshot is lines of JSON, one for each table, and after it one for each of its items:

    {"format": "keyheat.snapshot/1", "tables": 2}
    {"region": "us-east-1", "create": {"TableName": ...}, "time_to_live": null, "items": 1}
    {"pk": {"S": "a"}}
    {"region": "us-east-1", "create": ...}

Of capacity it has what is stated, and not what was spent or split: a table that is read back is as new. Items
that are put back cost nothing, and appear in no stream.
"""

import gzip
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import orjson

from keyheat.endpoint.descriptions import creation_of, described_tables, region_of
from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.itemkeys import check_index_keys, checked_item_key
from keyheat.endpoint.items.capacity import check_size
from keyheat.endpoint.itemstore import json_of
from keyheat.endpoint.options import Contents
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.service import Context, Regions, Service
from keyheat.endpoint.tables.catalog import Catalog, Table
from keyheat.endpoint.tables.create import create_table
from keyheat.endpoint.tables.describe import describe
from keyheat.endpoint.values import check_item
from keyheat.inputs import parsed_json, read_file, unmarked

FORMAT: Final = "keyheat.snapshot/1"
ACCEPTED: Final = f"accepted is what GET /_keyheat/snapshot gives, which begins with its format, {FORMAT}"
FORM: Final = 'a line is an item in DynamoDB JSON, {"pk": {"S": "a"}}, or the same as the value of "Item"'
GZIP: Final = b"\x1f\x8b"
MOST_BYTES: Final = 2 << 30
"""Of items or a snapshot, unpacked."""
MOST_TABLES_BYTES: Final = 64 << 20
MOST_SHOWN: Final = 20
"""Mistakes of one file; what comes after them is not looked at."""


class ContentsError(ValueError):
    """Everything that is wrong with the files, a line each; of a snapshot the first mistake."""


def fill(regions: Regions, contents: Contents) -> None:
    """Fill an endpoint from files, which are read whole. Raises `ContentsError`."""
    wrong: list[str] = []
    if contents.snapshot is not None:
        wrong += _problems(contents.snapshot, lambda content: restore(regions, content))
    for path in contents.table:
        wrong += _problems(path, lambda content: _create_tables(regions, content), MOST_TABLES_BYTES)
    for table, path in () if wrong else contents.seed_items:
        wrong += _problems(path, partial(_seed, regions, table, path))
    if wrong:
        raise ContentsError("\n".join(wrong))


def _problems(path: Path, read: Callable[[bytes], None], most_bytes: int = MOST_BYTES) -> list[str]:
    """Read a file; return what is wrong with it."""
    try:
        read(content_of(path, most_bytes))
    except ValueError as error:
        return [f"{path}: {line}" for line in str(error).splitlines()]
    return []


def content_of(path: Path, most_bytes: int) -> bytes:
    """Read a file, unpacked where it is packed. Raises `ValueError`: why it cannot be read."""
    try:
        content = read_file(path, most_bytes)
        if content.startswith(GZIP):
            content = gzip.GzipFile(fileobj=BytesIO(content)).read(most_bytes + 1)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ValueError(f"packed by gzip, and damaged or cut off ({error})") from None
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from None
    if len(content) > most_bytes:
        raise ValueError(f"it unpacks to more than {most_bytes:,} bytes, the most that is read")
    return unmarked(content)


def _create_tables(regions: Regions, content: bytes) -> None:
    """Create each described table in the Region that its ARN names, else at home. Raises `ValueError`."""
    wrong = []
    for table in described_tables(parsed_json(content)):
        region = region_of(table) or regions.home.region
        try:
            created(regions.named(region), creation_of(table))
        except ServiceError as error:
            wrong.append(f"{error} @ {table['TableName']}{error.path and '.'}{error.path}")
            continue
        if region != regions.home.region:
            print(f"{table['TableName']}: in {region}, as its TableArn says", file=sys.stderr)
    if wrong:
        raise ValueError("\n".join(wrong[:MOST_SHOWN]))


def _seed(regions: Regions, name: str | None, path: Path, content: bytes) -> None:
    """Put the items of a file into a table, and print how many there are. Raises `ValueError`."""
    tables = regions.tables()
    if name is None and len(tables) == 1:
        (name,) = tables
    elif name is not None:
        with suppress(ServiceError):  # a Region without tables
            name = regions.table_named(*regions.find(name))
    if name not in tables:
        there = ", ".join(sorted(tables)) or "none; --table FILE brings one"
        which = f"no table {name}" if name is not None else f"which table? --seed-items TABLE={path}"
        raise ValueError(f"{which}; tables are: {there}")
    count, replaced = put_items(tables[name][1], enumerate(BytesIO(content), 1), regions.home.clock())
    again = f", {replaced:,} of them in the place of another with its key" if replaced else ""
    print(f"{name}: {count:,} items of {path}{again}", file=sys.stderr)


def snapshot(regions: Regions) -> bytes:
    tables = [table for service in regions for table in service.catalog]
    lines = [orjson.dumps({"format": FORMAT, "tables": len(tables)})]
    for table in tables:
        lines += _lines(table, regions.home.clock())
    return b"\n".join(lines) + b"\n"


def _lines(table: Table, now_s: float) -> Iterator[bytes]:
    creation = creation_of(describe(table, now_s))
    creation["Tags"] = [{"Key": key, "Value": value} for key, value in table.tags.items()]
    about = {"time_to_live": table.time_to_live, "items": len(table.items)}
    yield orjson.dumps({"region": table.region, "create": creation, **about})
    for key in table.items.items.between(b"", None):
        yield json_of(table.items.items[key])


def restore(regions: Regions, content: bytes) -> None:
    """Become what a snapshot says, and nothing else. Raises `ContentsError`; then all is as it was."""
    before = {service.region: service.catalog for service in regions}
    for service in regions:
        service.catalog = Catalog(service.clock, service.region)
    try:
        _restore(regions, unmarked(content))
    except (ServiceError, ValueError, LookupError, TypeError, AttributeError) as error:
        for service in regions:
            if service.region in before:
                service.catalog = before[service.region]
            else:
                regions.forget(service)
        message = str(error).replace("\n", "; ")
        raise ContentsError(f"no whole snapshot: {message}; {ACCEPTED}") from error


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
    lines_of_table = (line for _, line in zip(range(about["items"]), lines, strict=False))
    count, replaced = put_items(table, lines_of_table, service.clock())
    if (there := count - replaced) != about["items"]:
        raise ValueError(f"{table.name} should have {about['items']:,} items, and {there:,} are there")


def created(service: Service, request: dict[str, Any]) -> Table:
    """A table that a CreateTable request makes, as the operation would. Raises `ServiceError`."""
    check_shape("CreateTable", request)
    create_table(Context(service, service.clock()), request)
    return service.catalog.find(request["TableName"])


def put_items(table: Table, lines: Iterable[tuple[int, bytes]], now_s: float) -> tuple[int, int]:
    """Put every line, with its number, into a table: how many, and how many replaced one with the same key.

    Raises `ValueError` with what is wrong with lines.
    """
    wrong: list[str] = []
    count = replaced = 0
    for number, line in lines:
        if line.strip():
            try:
                replaced += _put(table, _item_of(line), now_s)
                count += 1
            except (ServiceError, ValueError) as error:
                wrong_type = isinstance(error, ServiceError) and error.code == "SerializationException"
                wrong.append(f"{error}{'; ' + FORM if wrong_type else ''} @ line {number:,}")
                if len(wrong) == MOST_SHOWN:
                    break
    if wrong:
        raise ValueError("\n".join(wrong))
    return count, replaced


def _put(table: Table, parsed_line: Any, now_s: float) -> bool:
    """Put an item for nothing; whether it replaced one with its key. Raises `ServiceError`."""
    item = check_item(parsed_line)
    key = checked_item_key(table.schema.keys, item)
    check_index_keys(table.schema.indexes, item)
    before = table.items.get(key[0])
    change = table.items.plan(key, before, item)
    check_size(change)
    table.items.apply(change)
    table.model.grown(key[1], change.new_bytes - change.old_bytes, now_s)
    return before is not None


def _item_of(line: bytes) -> Any:
    try:
        parsed_line = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error}); {FORM}") from None
    if not isinstance(parsed_line, dict):
        raise ValueError(f"no item; {FORM}")
    # As an export to S3 has it: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
    wrapped = set(parsed_line) == {"Item"} and isinstance(parsed_line["Item"], dict)
    if not wrapped or _is_value(parsed_line["Item"]):
        return parsed_line
    return parsed_line["Item"]


def _is_value(content: dict[str, Any]) -> bool:
    """Whether this is an attribute's value, of a table whose only attribute is called Item."""
    return len(content) == 1 and not isinstance(next(iter(content.values())), dict)
