"""What an endpoint begins with: the files that somebody names, read whole before anybody is answered."""

import gzip
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from keyheat.endpoint.errors import ServiceError
from keyheat.endpoint.service import Service
from keyheat.endpoint.state.descriptions import creation_of, described_tables
from keyheat.endpoint.state.items import SeededItems
from keyheat.endpoint.state.snapshot import NoSnapshot, created, restore

GZIP: Final = b"\x1f\x8b"


class CannotBegin(ValueError):
    """Everything that is wrong with the files, a line each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """The files of `--snapshot`, `--table` and `--seed-items` (each with the table it names, if it does)."""

    snapshot: Path | None = None
    tables: tuple[Path, ...] = ()
    items: tuple[tuple[str | None, Path], ...] = ()

    def make(self, service: Service) -> None:
        """Fill a service that is empty. Raises `CannotBegin`."""
        wrong = [*self._read_snapshot(service), *self._create_tables(service)]
        if not wrong:
            wrong = [problem for table, path in self.items for problem in _seed(service, table, path)]
        if wrong:
            raise CannotBegin("\n".join(wrong))

    def _read_snapshot(self, service: Service) -> Iterator[str]:
        if self.snapshot is None:
            return
        try:
            restore(service, _content(self.snapshot))
        except (OSError, NoSnapshot) as error:
            yield f"{self.snapshot}: {error}"

    def _create_tables(self, service: Service) -> Iterator[str]:
        for path in self.tables:
            try:
                tables = described_tables(orjson.loads(_content(path)))
            except (OSError, ValueError) as error:
                yield from (f"{path}: {line}" for line in str(error).splitlines())
                continue
            for table in tables:
                try:
                    created(service, creation_of(table))
                except (ServiceError, KeyError, TypeError, AttributeError) as error:
                    said = error if isinstance(error, ServiceError) else f"not as described: {error!r}"
                    yield f"{path}: {said} @ {table['TableName']}"


def _content(path: Path) -> bytes:
    """What is in a file, unpacked where it is packed. Raises `OSError`."""
    with path.open("rb") as file:
        packed = file.peek(len(GZIP)).startswith(GZIP)
        content: bytes = gzip.GzipFile(fileobj=file).read() if packed else file.read()
        return content


def _seed(service: Service, name: str | None, path: Path) -> Iterator[str]:
    """Put the items of a file into a table; gives what is wrong, and says how many there are."""
    names = service.catalog.names()
    if name is None and len(names) == 1:
        (name,) = names
    if name not in names:
        there = ", ".join(names) or "none; --table FILE brings one"
        yield f"{path}: which table? --seed-items TABLE={path}; tables are: {there}"
        return
    items = SeededItems(service.catalog.find(name), service.now_s())
    try:
        items.put(_content(path).splitlines())
    except OSError as error:
        yield f"{path}: {error.strerror or error}"
    yield from (f"{path}: {problem}" for problem in items.problems())
    print(f"{name}: {items.count:,} items of {path}", file=sys.stderr)
