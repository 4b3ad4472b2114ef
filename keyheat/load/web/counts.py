"""Counts of a run as the live page lists them: rates, the hottest keys, tables beside the judged one."""

from typing import Any

from keyheat.load.record.record import Record
from keyheat.load.record.seconds import ACCEPTED, ATTEMPTS, ERRORS, THROTTLED
from keyheat.load.web.sentence import RECENT_S

TOP_KEYS = 10
UNITS = {"write": "WCU", "read": "RCU"}


def rates(record: Record, end: int) -> dict[str, float]:
    """Requests a second over the last few seconds."""
    recent = [record.seconds.in_second(second) for second in range(end - RECENT_S, end)]
    names = {"attempts": ATTEMPTS, "accepted": ACCEPTED, "throttled": THROTTLED, "errors": ERRORS}
    return {name: sum(counts[place] for counts in recent) / RECENT_S for name, place in names.items()}


def hot_keys(record: Record) -> dict[str, list[dict[str, Any]]]:
    """The hottest keys of the run so far, once by what they consumed and once by throttles."""
    found: dict[str, list[dict[str, Any]]] = {"by_units": [], "by_throttles": []}
    for direction, heat in record.heat.items():
        total = heat.sketch.total_units
        for name, top in (
            ("by_units", heat.sketch.top_consumed),
            ("by_throttles", heat.sketch.top_throttled),
        ):
            found[name] += [
                {
                    "key": key.name,
                    "direction": direction,
                    "unit": UNITS[direction],
                    "asked_units": key.units,
                    "consumed_units": key.consumed,
                    "share": min(1.0, key.units / total) if total else 0.0,
                    "throttles": key.throttles,
                }
                for key in top(TOP_KEYS)
            ]
    found["by_units"] = sorted(found["by_units"], key=lambda key: -key["consumed_units"])[:TOP_KEYS]
    found["by_throttles"] = sorted(found["by_throttles"], key=lambda key: -key["throttles"])[:TOP_KEYS]
    return found


def beside(record: Record, table: str) -> dict[str, Any]:
    """What became of requests to a table that is not judged."""
    names = ("accepted", "throttled", "error", "read_units", "write_units")
    return {"table": table, **{name: record.counted.get(f"tables.{table}.{name}", 0) for name in names}}
