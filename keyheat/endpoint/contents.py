"""Tables and items as files: what an endpoint starts with, and snapshots, which it writes and reads.

A snapshot is lines of JSON, one for each table, and after it one for each of its items:

    {"format": "keyheat.snapshot/1", "tables": 2}
    {"region": "us-east-1", "create": {"TableName": ...}, "time_to_live": null, "items": 1}
    {"pk": {"S": "a"}}
    {"region": "us-east-1", "create": ...}

Of capacity it has what is stated, and not what was spent or split: a table that is read back is as new. Items
that are put back cost nothing, and appear in no stream. A table is described as other tools print it:

    aws dynamodb describe-table                 {"Table": {...}}
    aws dynamodb create-table                   {"TableDescription": {...}}
    aws dynamodb create-table --cli-input-json  {"TableName": ..., "KeySchema": ...}
    several of either                           [...], {"Tables": [...]}
"""

import gzip
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import orjson

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.itemkeys import check_index_keys, checked_item_key
from keyheat.endpoint.items.capacity import check_size
from keyheat.endpoint.itemstore import json_of
from keyheat.endpoint.options import Contents
from keyheat.endpoint.requests import Shape, check_shape, shape_of
from keyheat.endpoint.service import Context, Regions, Service
from keyheat.endpoint.tables.catalog import Catalog, Table, region_in
from keyheat.endpoint.tables.create import create_table
from keyheat.endpoint.tables.describe import describe
from keyheat.endpoint.values import check_item
from keyheat.inputs import parsed_json, read_file, unmarked
from keyheat.validation import suggest, table_in

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
        wrong += _problems(contents.snapshot, partial(restore, regions))
    for path in contents.table:
        wrong += _problems(path, partial(_create_tables, regions), MOST_TABLES_BYTES)
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
        region = region_in(str(table.get("TableArn", ""))) or regions.home.region
        region = regions.home.region if region == OF_DYNAMODB_LOCAL else region
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
        creation = creation_of(describe(table, regions.home.clock()))
        creation["Tags"] = [{"Key": key, "Value": value} for key, value in table.tags.items()]
        about = {"time_to_live": table.time_to_live, "items": len(table.items)}
        lines.append(orjson.dumps({"region": table.region, "create": creation, **about}))
        lines += [json_of(table.items.items[key]) for key in table.items.items.between(b"", None)]
    return b"\n".join(lines) + b"\n"


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
    """Put lines, with their numbers, for nothing: how many, and how many replaced one with the same key.

    Raises `ValueError` with what is wrong with lines.
    """
    wrong: list[str] = []
    count = replaced = 0
    for number, line in lines:
        if line.strip():
            try:
                item = check_item(_item_of(line))
                key = checked_item_key(table.schema.keys, item)
                check_index_keys(table.schema.indexes, item)
                change = table.items.plan(key, table.items.get(key[0]), item)
                check_size(change)
            except (ServiceError, ValueError) as error:
                wrong_type = isinstance(error, ServiceError) and error.code == "SerializationException"
                wrong.append(f"{error}{'; ' + FORM if wrong_type else ''} @ line {number:,}")
                if len(wrong) == MOST_SHOWN:
                    break
                continue
            table.items.apply(change)
            table.model.grown(key[1], change.new_bytes - change.old_bytes, now_s)
            replaced += change.old is not None
            count += 1
    if wrong:
        raise ValueError("\n".join(wrong))
    return count, replaced


def _item_of(line: bytes) -> Any:
    try:
        parsed_line = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error}); {FORM}") from None
    if not isinstance(parsed_line, dict):
        raise ValueError(f"no item; {FORM}")
    # As an export to S3 has it: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
    inner = parsed_line["Item"] if set(parsed_line) == {"Item"} else None
    if not isinstance(inner, dict) or [type(value) is dict for value in inner.values()] == [False]:
        return parsed_line  # also of a table whose only attribute is called Item
    return inner


Body = dict[str, Any]
KEPT: Final = (
    "TableName", "AttributeDefinitions", "KeySchema", "BillingMode", "StreamSpecification", "Tags",
    "DeletionProtectionEnabled", "TableClass", "ProvisionedThroughput", "OnDemandThroughput",
    "WarmThroughput", "GlobalSecondaryIndexes", "LocalSecondaryIndexes",
)  # fmt: skip
CREATION: Final = "CreateTableInput"
OF_DYNAMODB_LOCAL: Final = "ddblocal"
"""In its ARNs, whatever Region a client is set to."""
FORMS: Final = (
    "what describe-table or create-table prints, or what create-table takes as --cli-input-json, or a list "
    "of such"
)


def described_tables(content: object) -> list[Body]:
    """The tables that a file describes. Raises `ValueError` where it has none."""
    if isinstance(content, Mapping) and isinstance(content.get("Tables"), list):
        content = content["Tables"]
    tables: list[Any] = [table_in(entry) for entry in (content if isinstance(content, list) else [content])]
    wrong = [
        f"{text} @ $[{number}]{path_in}"
        for number, entry in enumerate(tables)
        for text, path_in in _wrong(entry)
    ]
    if wrong or not tables:
        raise ValueError("\n".join(wrong) or f"no table; accepted is {FORMS} @ $")
    return [dict(entry) for entry in tables]


def _wrong(table: Any) -> Iterator[tuple[str, str]]:
    """What is wrong with what should be a table, and where in it."""
    if not (isinstance(table, Mapping) and isinstance(table.get("TableName"), str)):
        yield f"no table, for it has no TableName; accepted is {FORMS}", ""
        return
    if "TableArn" in table and not region_in(str(table["TableArn"])):
        yield f"no ARN of a table: {table['TableArn']!r}", ".TableArn"
    if not _is_described(table):
        yield from unknown_members(shape_of(CREATION), table, "")


def _is_described(table: Mapping[str, Any]) -> bool:
    """Whether it has what only a description has; that may also be of a later day, and have more."""
    described, creation = (shape_of(name).members for name in ("TableDescription", CREATION))
    return not (described.keys() - creation.keys()).isdisjoint(table)


def unknown_members(shape: Shape, value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Members that the API does not know, and where: a request drops them, and so does every SDK."""
    if shape.type_name == "structure" and isinstance(value, Mapping):
        for name, entry in value.items():
            if name in shape.members:
                yield from unknown_members(shape.members[name], entry, f"{path}.{name}")
            else:
                yield f"unknown field, {suggest(name, shape.members)}", f"{path}.{name}"
    elif shape.type_name == "list" and isinstance(value, list):
        for number, entry in enumerate(value):
            yield from unknown_members(shape.member, entry, f"{path}[{number}]")


def creation_of(table: Mapping[str, Any]) -> Body:
    """The CreateTable request that makes a table like the one described; one that is such stays as it is.

    What is of another type than it should be stays so, for `check_shape` to say.
    """
    if not _is_described(table):
        return dict(table)
    shape, summary = shape_of(CREATION), table.get("BillingModeSummary")
    mode = table.get("BillingMode") or _member(summary, "BillingMode") or "PROVISIONED"
    body = {
        name: _pruned(shape.members[name], table[name]) for name in KEPT if table.get(name) not in (None, [])
    }
    body["BillingMode"] = mode
    if (table_class := table.get("TableClassSummary")) is not None:
        body["TableClass"] = _member(table_class, "TableClass")
    # A description has zeros for the capacity of the other mode.
    other = "OnDemandThroughput" if mode == "PROVISIONED" else "ProvisionedThroughput"
    indexes = body.get("GlobalSecondaryIndexes")
    for owner in (body, *(indexes if isinstance(indexes, list) else ())):
        if isinstance(owner, dict):
            owner.pop(other, None)
    return body


def _member(owner: Any, name: str) -> Any:
    return owner.get(name) if isinstance(owner, Mapping) else owner


def _pruned(shape: Shape, value: Any) -> Any:
    """A value without the members that its shape does not have."""
    if shape.type_name == "structure" and isinstance(value, Mapping):
        members = shape.members
        return {
            name: _pruned(members[name], entry)
            for name, entry in value.items()
            if name in members and entry is not None
        }
    if shape.type_name == "list" and isinstance(value, list):
        return [_pruned(shape.member, entry) for entry in value]
    return value
