"""Fill an endpoint from files, which are read whole before it answers requests."""

import gzip
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from keyheat.bounds import unmarked
from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.options import Contents
from keyheat.endpoint.regions import Regions
from keyheat.endpoint.state.descriptions import creation_of, read_tables, region_of
from keyheat.endpoint.state.snapshot import SeededItems, created, restore
from keyheat.inputs import open_file, read_file

GZIP: Final = b"\x1f\x8b"
MOST_BYTES: Final = 2 << 30
"""Of items or a snapshot, unpacked."""
MOST_TABLES_BYTES: Final = 64 << 20
MOST_SHOWN: Final = 20
"""Of what is wrong with one file of tables."""


class CannotBegin(ValueError):
    """Everything that is wrong with the files, a line each."""


def fill(regions: Regions, contents: Contents) -> None:
    wrong = [] if contents.snapshot is None else list(_restore(regions, contents.snapshot))
    wrong += [problem for path in contents.table for problem in _create_tables(regions, path)]
    if not wrong:
        wrong = [problem for table, path in contents.seed_items for problem in _seed(regions, table, path)]
    if wrong:
        raise CannotBegin("\n".join(wrong))


def content_of(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Read a file, unpacked where it is packed. Raises `ValueError`: why it cannot be read."""
    try:
        with open_file(path) as file:
            if not file.peek(len(GZIP)).startswith(GZIP):
                return unmarked(read_file(path, most_bytes))  # which looks at the size first
            content = gzip.GzipFile(fileobj=file).read(most_bytes + 1)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ValueError(f"packed by gzip, and damaged or cut off ({error})") from None
    except OSError as error:
        raise ValueError(error.strerror or str(error)) from None
    if len(content) > most_bytes:
        raise ValueError(f"it unpacks to more than {most_bytes:,} bytes, the most that is read")
    return unmarked(content)


def _restore(regions: Regions, path: Path) -> Iterator[str]:
    try:
        restore(regions, content_of(path))
    except ValueError as error:
        yield f"{path}: {error}"


def _create_tables(regions: Regions, path: Path) -> Iterator[str]:
    try:
        tables = read_tables(content_of(path, MOST_TABLES_BYTES))
    except ValueError as error:
        yield from (f"{path}: {line}" for line in str(error).splitlines())
        return
    wrong = [problem for table in tables if (problem := _create(regions, table))]
    yield from (f"{path}: {problem}" for problem in wrong[:MOST_SHOWN])
    if len(wrong) > MOST_SHOWN:
        yield f"{path}: and {len(wrong) - MOST_SHOWN:,} tables more"


def _create(regions: Regions, table: Mapping[str, Any]) -> str | None:
    """Create a described table in the Region that its ARN names, else at home; gives what is wrong."""
    region = region_of(table) or regions.home.region
    try:
        service = regions.named(region)
        created(service, creation_of(table))
    except ServiceError as error:
        return f"{error} @ {table['TableName']}{error.path and '.'}{error.path}"
    if service is not regions.home:
        print(f"{table['TableName']}: in {region}, as its TableArn says", file=sys.stderr)
    return None


def _seed(regions: Regions, name: str | None, path: Path) -> Iterator[str]:
    """Put the items of a file into a table; yields what is wrong, and prints how many there are."""
    tables = regions.tables()
    if name is None and len(tables) == 1:
        (name,) = tables
    elif name is not None:
        with suppress(ServiceError):  # a Region without tables
            name = regions.table_named(*regions.find(name))
    if name not in tables:
        there = ", ".join(sorted(tables)) or "none; --table FILE brings one"
        which = f"no table {name}" if name is not None else f"which table? --seed-items TABLE={path}"
        yield f"{path}: {which}; tables are: {there}"
        return
    items = SeededItems(tables[name][1], regions.home.clock())
    try:
        items.put(enumerate(BytesIO(content_of(path)), 1))
    except ValueError as error:
        yield f"{path}: {error}"
        return
    yield from (f"{path}: {problem}" for problem in items.problems())
    if not items.wrong:
        again = f", {items.replaced:,} of them in the place of another with its key" if items.replaced else ""
        print(f"{name}: {items.count:,} items of {path}{again}", file=sys.stderr)
