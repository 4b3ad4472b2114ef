"""JSON changed at random places, as damage, other programs and tired people change it."""

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1, 59, 60, 61, 300, 86_400, 2**31, 2**63, 2**64, -(2**63), 1e15, 1e16, 1e300, 5e-324,
    -0.0, "", "table", "(an index)", "Sum", "Average", "Minimum", "PROVISIONED", "PAY_PER_REQUEST", "by_day",
    "TableWriteKeyRangeThroughputExceeded", "IndexWriteProvisionedThroughputExceeded", "\x00", "é" * 300,
    "2026-11-20T12:00:00Z", "2026-11-20T12:01:00.5Z", "2026-11-20T12:01:00", "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00", "2011-12-31T00:00:00Z", "20261120T120000Z", "1e309", [], {}, [[]], [None],
    [["2026-11-20T12:00:00Z", 1]], {"read": 0, "write": 0}, {"read": None}, {"write": 1e300},
)  # fmt: skip

Place = tuple[Any, Any]  # a list or an object, and a position or a name in it


def mutated(text: bytes, rng: Random, times: int = 3, odd: Sequence[Any] = ODD) -> bytes | None:
    """The JSON with a few changes, to `odd` values among others; None where it is none."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    for _ in range(rng.randint(1, times)):
        places = list(_places(content))
        if not places:
            return json.dumps(rng.choice(odd)).encode()
        _change(*rng.choice(places), rng, odd)
    return json.dumps(content).encode()


def _places(content: Any) -> Iterator[Place]:
    if not isinstance(content, dict | list):
        return
    for name, part in list(content.items() if isinstance(content, dict) else enumerate(content)):
        yield content, name
        yield from _places(part)


def _change(holder: Any, name: Any, rng: Random, odd: Sequence[Any]) -> None:
    """One change: another value, a value left out, one twice, two in each other's place, or a number's."""
    how = rng.randrange(5)
    if how == 0 and isinstance(holder, dict):
        del holder[name]
    elif how == 1 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), json.loads(json.dumps(holder[name])))
    elif how == 2 and isinstance(holder, list):
        other = rng.randrange(len(holder))
        holder[name], holder[other] = holder[other], holder[name]
    elif how == 3 and isinstance(holder[name], int | float):
        holder[name] = holder[name] * rng.choice((-1, 0, 0.5, 2, 1_000, 1e12)) + rng.choice((-60, 0, 1, 60))
    else:
        holder[name] = json.loads(json.dumps(rng.choice(odd)))
