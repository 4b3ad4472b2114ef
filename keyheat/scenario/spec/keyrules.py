"""What the fields of a scenario's `[keys]` have to agree on."""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

NEEDED: dict[str, tuple[str, ...]] = {
    "uniform": (),
    "hot_key": ("share",),
    "hot_set": ("share", "hot_keys"),
    "zipf": ("exponent",),
    "date": ("day_s",),
    "sequential": (),
    "replay": ("trace",),
}
ALLOWED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(NEEDED, ("prefix",)),
    "date": ("prefix", "first_day", "rounded_to"),
    "replay": ("speed",),
}
FIELDS = ("share", "hot_keys", "exponent", "day_s", "rounded_to", "first_day", "trace", "speed", "prefix")
DEFAULTS = {"keys": 1_000}  # a scenario that comes back from a run's file states its defaults
UNCOUNTED = ("date", "sequential", "replay")  # kinds whose number of keys follows from something else


def broken_keys(keys: Mapping[str, Any]) -> Iterator[str]:
    """Every disagreement between fields of `[keys]`, as `message @ $.path`."""
    kind = keys.get("kind")
    if not isinstance(kind, str) or kind not in NEEDED:
        return
    for field in NEEDED[kind]:
        if keys.get(field) is None:
            yield f"kind = {kind!r} needs it @ $.keys.{field}"
    for field in FIELDS:
        if keys.get(field) is not None and field not in (*NEEDED[kind], *ALLOWED[kind]):
            yield f"no meaning with kind = {kind!r} @ $.keys.{field}"
    if kind in UNCOUNTED and keys.get("keys", DEFAULTS["keys"]) != DEFAULTS["keys"]:
        yield f"no meaning with kind = {kind!r} @ $.keys.keys"
    if kind == "date" and isinstance(keys.get("first_day"), str):
        yield from _first_day(keys["first_day"])


def broken_replay(raw: Mapping[str, Any]) -> Iterator[str]:
    """A trace's times need its rows, and leave nothing to say of how much is sent."""
    keys, load = raw.get("keys"), raw.get("load", {})
    if not isinstance(keys, Mapping) or not isinstance(load, Mapping):
        return
    replay = Path(str(raw.get("loadtest"))).stem == "replay"  # ours, or a copy of it
    replays, timed = keys.get("kind") == "replay", load.get("arrivals") == "trace"
    if replay and not replays:
        yield "loadtest = 'replay' needs kind = 'replay', and a trace @ $.keys.kind"
    if replay and not timed:
        yield "loadtest = 'replay' needs arrivals = 'trace': rows are sent at their times @ $.load.arrivals"
    elif timed and not replay:
        yield "only loadtest = 'replay' sends at the times of a trace @ $.load.arrivals"
    if timed:
        for field in ("requests_per_s", "write_units_per_s", "read_units_per_s", "shape"):
            if load.get(field) is not None:
                yield f"no meaning with arrivals = 'trace', which says when @ $.load.{field}"
    elif keys.get("speed") is not None and replays:
        yield "no meaning without arrivals = 'trace' @ $.keys.speed"


def _first_day(text: str) -> Iterator[str]:
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return
    try:
        date.fromisoformat(text)
    except ValueError as error:
        yield f"not a date, {error}, got {text!r} @ $.keys.first_day"
