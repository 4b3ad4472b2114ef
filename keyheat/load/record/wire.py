"""What a worker sends, checked before it is counted: one wrong number would be in every file of the run.

Any process that reaches the master's port can send it. A damaged or contradictory piece is rejected.
"""

from typing import Annotated, Any, Final

import msgpack  # type: ignore[import-untyped]
from pydantic import BaseModel, Field, ValidationError, create_model

from keyheat.load.record.generator import Health
from keyheat.load.record.record import Record
from keyheat.load.record.rows import ACCEPTED, ATTEMPTS, ERRORS, LAST_S, THROTTLED
from keyheat.words import DirectionName

MOST_BYTES: Final = 64 << 20
"""Of a second of one worker: a hundred times of what ten thousand throttled requests take."""
MOST_HISTOGRAM_BYTES: Final = 128 << 10
"""Packed; each of the some 20,000 buckets of an honest one takes a byte or two."""

Count = Annotated[float, Field(ge=0, le=1e15, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=0, le=10**15)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Second = Annotated[int, Field(ge=0, lt=LAST_S)]
Histogram = Annotated[bytes, Field(max_length=MOST_HISTOGRAM_BYTES)]
Weights = tuple[dict[str, Count], Count, Count]
Heat = Annotated[list[Count], Field(min_length=3, max_length=3)]
Row = tuple[Second, str | None, DirectionName, str | None, Count, Count, Count, Count, Count, Count]

_NOT_COUNTS: Final[dict[str, Any]] = {
    "began_s": Annotated[float, Field(ge=0)],  # infinite where no user has come
    "lag": Histogram,
    "late": Histogram,
    "problems": list[str],
    "missing": list[str],
}
_health_fields: dict[str, Any] = {name: (_NOT_COUNTS.get(name, Count), ...) for name in Health.__slots__}
_Health: Any = create_model("_Health", **_health_fields)


class _KeyHeat(BaseModel):
    sketch: tuple[Weights, Weights, Weights]
    windows: dict[Second, dict[str, Heat]]
    window_s: Annotated[int, Field(gt=0, lt=10**9)]


class _Record(BaseModel):
    seconds: list[Row]
    throttles: dict[str, Any]  # which checks itself
    latencies: dict[str, Histogram]
    heat: dict[str, _KeyHeat]
    errors_by_kind: dict[str, Whole]
    counted: dict[str, Finite]
    meetings: dict[str, Weights]
    health: _Health
    consumed: tuple[Count, Count]


class Piece(BaseModel):
    """A piece of a worker's record, and what the worker says of itself."""

    run_id: str | None
    last: bool
    used_up: bool  # its part of the budget
    users: Whole
    record: Annotated[bytes, Field(max_length=MOST_BYTES)]


_DAMAGE: Final = (ValueError, TypeError, LookupError, OverflowError, RecursionError, msgpack.UnpackException)


def read_piece(data: Any) -> Piece:
    try:
        return Piece.model_validate(data)
    except ValidationError as error:
        raise ValueError(_first(error)) from error


def read_record(packed: bytes) -> Record:
    """The record in a piece. Raises `ValueError` where it is damaged or contradicts itself."""
    try:
        wire = _Record.model_validate(msgpack.unpackb(packed, strict_map_key=False)).model_dump()
        record = Record.from_wire(wire)
    except ValidationError as error:
        raise ValueError(_first(error)) from error
    except _DAMAGE as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    _check_sums(record)
    return record


def _check_sums(record: Record) -> None:
    """Raise `ValueError` where the counts of a record contradict each other."""
    for counts in record.seconds.rows.values():
        if counts[ATTEMPTS] != counts[ACCEPTED] + counts[THROTTLED] + counts[ERRORS]:
            raise ValueError("its attempts are not those accepted, throttled and failed together")
    latencies = (*record.latencies.values(), record.health.lag, record.health.late)
    if any(latency.counts().min() < 0 for latency in latencies):
        raise ValueError("its histograms count less than nothing")
    total = record.seconds.total()
    if total[THROTTLED] != len(record.throttles):
        raise ValueError(f"it counts {total[THROTTLED]:,.0f} throttles and has {len(record.throttles):,}")
    if total[ERRORS] != record.errors_by_kind.total():
        raise ValueError("its errors are not those of all kinds together")


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the message'}: {first['msg']}"
