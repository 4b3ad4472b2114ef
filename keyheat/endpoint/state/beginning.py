"""What an endpoint begins with: the files that somebody names, read whole before anybody is answered."""

import gzip
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.regions import Regions
from keyheat.endpoint.state.descriptions import creation_of, described_tables
from keyheat.endpoint.state.items import SeededItems
from keyheat.endpoint.state.snapshot import NoSnapshot, created, restore
from keyheat.endpoint.tables.catalog import region_in

GZIP: Final = b"\x1f\x8b"


class CannotBegin(ValueError):
    """Everything that is wrong with the files, a line each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """The files of `--snapshot`, `--table` and `--seed-items` (each with the table it names, if it does)."""

    snapshot: Path | None = None
    tables: tuple[Path, ...] = ()
    items: tuple[tuple[str | None, Path], ...] = ()

    def make(self, regions: Regions) -> None:
        """Fill an endpoint that is empty. Raises `CannotBegin`."""
        wrong = [*self._read_snapshot(regions), *self._create_tables(regions)]
        if not wrong:
            wrong = [problem for table, path in self.items for problem in _seed(regions, table, path)]
        if wrong:
            raise CannotBegin("\n".join(wrong))

    def _read_snapshot(self, regions: Regions) -> Iterator[str]:
        if self.snapshot is None:
            return
        try:
            restore(regions, _content(self.snapshot))
        except (OSError, NoSnapshot) as error:
            yield f"{self.snapshot}: {error}"

    def _create_tables(self, regions: Regions) -> Iterator[str]:
        for path in self.tables:
            try:
                tables = described_tables(orjson.loads(_content(path)))
            except (OSError, ValueError) as error:
                yield from (f"{path}: {line}" for line in str(error).splitlines())
                continue
            for table in tables:
                try:
                    _create(regions, table)
                except (ServiceError, KeyError, TypeError, AttributeError) as error:
                    said = error if isinstance(error, ServiceError) else f"not as described: {error!r}"
                    yield f"{path}: {said} @ {table['TableName']}"


def _create(regions: Regions, table: Mapping[str, Any]) -> None:
    """Create a described table in the Region that its ARN names, else in the endpoint's own."""
    arn = table.get("TableArn")
    region = region_in(arn) if isinstance(arn, str) else None
    service = regions.home if region is None else regions.called(region).service
    created(service, creation_of(table))
    if service is not regions.home:
        print(f"{table['TableName']}: in {region}, as its TableArn says", file=sys.stderr)


def _content(path: Path) -> bytes:
    """What is in a file, unpacked where it is packed. Raises `OSError`."""
    with path.open("rb") as file:
        packed = file.peek(len(GZIP)).startswith(GZIP)
        content: bytes = gzip.GzipFile(fileobj=file).read() if packed else file.read()
        return content


def _seed(regions: Regions, name: str | None, path: Path) -> Iterator[str]:
    """Put the items of a file into a table; gives what is wrong, and says how many there are."""
    tables = regions.tables()
    if name is None and len(tables) == 1:
        (name,) = tables
    elif name is not None:
        with suppress(ServiceError):  # nobody is in that Region: it is not among the tables
            name = regions.table_named(*regions.find(name))
    if name not in tables:
        there = ", ".join(sorted(tables)) or "none; --table FILE brings one"
        yield f"{path}: which table? --seed-items TABLE={path}; tables are: {there}"
        return
    items = SeededItems(tables[name][1], regions.home.now_s())
    try:
        items.put(_content(path).splitlines())
    except OSError as error:
        yield f"{path}: {error.strerror or error}"
    yield from (f"{path}: {problem}" for problem in items.problems())
    print(f"{name}: {items.count:,} items of {path}", file=sys.stderr)
