"""A piece of a worker's record on its way to the master, which takes pieces of its own version alone."""

from functools import cache
from typing import Any, Final, NamedTuple, Self

import msgpack  # type: ignore[import-untyped]

from keyheat.load.record.record import Record
from keyheat.runs.folder import versions

DAMAGE: Final = (ValueError, TypeError, LookupError, AttributeError, msgpack.UnpackException)
"""What a piece raises that is not whole: where it is unpacked, or where it is merged."""


@cache
def own_version() -> str:
    return versions("keyheat")["keyheat"]


class Piece(NamedTuple):
    """A piece of a worker's record, and what the worker says of itself."""

    run_id: str | None
    last: bool
    used_up: bool  # its part of the budget
    users: int
    record: Record

    def to_wire(self) -> dict[str, Any]:
        record = msgpack.packb(self.record.to_wire())
        return {"version": own_version(), **self._asdict(), "record": record}

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> Self:
        """Raises `ValueError` for a piece of another version, and one of `DAMAGE` for a damaged one."""
        if (version := wire["version"]) != own_version():
            raise ValueError(f"it runs Keyheat {version}, and its master {own_version()}")
        record = Record.from_wire(msgpack.unpackb(wire["record"], strict_map_key=False))
        return cls(**{name: wire[name] for name in cls._fields if name != "record"}, record=record)
