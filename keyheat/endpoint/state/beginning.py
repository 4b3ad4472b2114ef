"""What an endpoint begins with: the files that somebody names, read whole before anybody is answered."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.regions import Regions
from keyheat.endpoint.requests import check_shape
from keyheat.endpoint.state.descriptions import creation_of, read_tables, region_of
from keyheat.endpoint.state.files import MOST_TABLES_BYTES, content_of
from keyheat.endpoint.state.items import SeededItems
from keyheat.endpoint.state.snapshot import created, restore

MOST_SAID: Final = 20
"""Of what is wrong with one file of tables."""


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
            restore(regions, content_of(self.snapshot))
        except ValueError as error:
            yield f"{self.snapshot}: {error}"

    def _create_tables(self, regions: Regions) -> Iterator[str]:
        for path in self.tables:
            try:
                tables = read_tables(content_of(path, MOST_TABLES_BYTES))
            except ValueError as error:
                yield from (f"{path}: {line}" for line in str(error).splitlines())
                continue
            wrong = [said for table in tables if (said := _created(regions, table))]
            yield from (f"{path}: {said}" for said in wrong[:MOST_SAID])
            if len(wrong) > MOST_SAID:
                yield f"{path}: and {len(wrong) - MOST_SAID:,} tables more"


def _created(regions: Regions, table: Mapping[str, Any]) -> str | None:
    """Create a described table in the Region that its ARN names, else at home; gives what is wrong."""
    request, region = creation_of(table), region_of(table) or regions.home.region
    try:
        service = regions.called(region).service
        created(service, request)
    except ServiceError as error:
        return f"{error} @ {table['TableName']}{_member(request, error)}"
    if service is not regions.home:
        print(f"{table['TableName']}: in {region}, as its TableArn says", file=sys.stderr)
    return None


def _member(request: Mapping[str, Any], error: ServiceError) -> str:
    """The member that is of another type than it should be, which DynamoDB does not say; else nothing."""
    if error.code == "SerializationException":
        for name, value in request.items():
            try:
                check_shape("CreateTable", {name: value})
            except ServiceError as alone:
                if alone.code == error.code:
                    return f".{name}"
    return ""


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
        asked = f"no table {name}" if name is not None else f"which table? --seed-items TABLE={path}"
        yield f"{path}: {asked}; tables are: {there}"
        return
    items = SeededItems(tables[name][1], regions.home.now_s())
    try:
        items.put(enumerate(BytesIO(content_of(path)), 1))
    except ValueError as error:
        yield f"{path}: {error}"
        return
    yield from (f"{path}: {problem}" for problem in items.problems())
    if not items.wrong:
        again = f", {items.replaced:,} of them in the place of another with its key" if items.replaced else ""
        print(f"{name}: {items.count:,} items of {path}{again}", file=sys.stderr)
