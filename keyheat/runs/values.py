"""The kinds of values in evidence and in run files: times, quantities, counts, and points of a series."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer

from keyheat.checked import Rows


@lru_cache(maxsize=1 << 16)  # series of one window name the same minutes again and again
def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _in_utc(value: Any) -> Any:
    if isinstance(value, str):
        value = _moment(value)
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError("a time needs its zone, such as 2026-11-20T12:00:00Z")
        try:
            return value.astimezone(UTC)
        except OverflowError:
            raise ValueError("a time in UTC has a year from 1 to 9999") from None
    raise ValueError("a time is text such as 2026-11-20T12:00:00Z")


Time = Annotated[
    datetime, BeforeValidator(_in_utc), PlainSerializer(lambda t: t.isoformat().replace("+00:00", "Z"))
]
Quantity = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]
Points = Annotated[tuple[tuple[Time, Quantity], ...], Rows]
