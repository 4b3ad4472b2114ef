"""The nights of a month: the suite of each, what is another than the night before, and what has to be found.

    day   1          9          15         22         30
          |..........|..........|..........|..........|
          baseline   capacity   a hot key  an index
                     lowered    appears    is added

The first two are taken back the day after; the index is meant, and the day after is the new baseline. Every
night has seeds of its own, and all of its load is some per cent more or less, as real traffic is: both follow
from the number of the month. Beside the table that is changed there is one whose hot key is throttled every
night, so that what is held on to is never calm.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import orjson

from benchmarks._child import scenario_of
from keyheat.regression.suite import Suite, load_suite

SEEDS: Final = 100  # of a night: more than a case has repetitions
Raw = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What somebody does on one day, and the sentence by which it has to be named that night."""

    what: str
    settings: Mapping[str, Any]  # other values in the scenario, by dotted path
    named: str
    stays: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A month, or a few nights, on one target."""

    target: str
    nights: int
    repetitions: int
    spread: float  # standard deviation of the load, from night to night
    scenarios: tuple[Raw, ...]  # the first is that of the table that is changed
    changes: Mapping[int, Change]  # by day
    gates: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One night. `change`: what was changed on its day; `accepted`: this is to be the new baseline."""

    day: int
    suite: Suite
    change: Change | None
    accepted: bool

    @property
    def expected(self) -> str:
        """The verdict that it should have."""
        return "regressed" if self.change else "baseline" if self.accepted else "good"


def nights_of(plan: Plan, folder: Path, number: int) -> Iterator[Night]:
    """The nights of one month; each suite is written into the folder when it is its turn."""
    rng = Random(f"month {number}")
    kept: Raw = {}
    path = folder / "month.toml"
    for day in range(1, plan.nights + 1):
        change, before = plan.changes.get(day), plan.changes.get(day - 1)
        load, seed = 1 + rng.gauss(0, plan.spread), (100 * number + day) * SEEDS
        for place, raw in enumerate(plan.scenarios):
            settings = {**kept, **(change.settings if change else {})} if place == 0 else {}
            per_s = round(raw["load"]["requests_per_s"] * load)
            made = _with(raw, {**settings, "seed": seed, "load.requests_per_s": per_s})
            (folder / f"{raw['name']}.json").write_bytes(orjson.dumps(made))
        path.write_text(_suite(plan))
        accepted = day == 1 or (before is not None and before.stays)
        yield Night(day=day, suite=load_suite(path), change=change, accepted=accepted)
        kept |= change.settings if change and change.stays else {}


def _suite(plan: Plan) -> str:
    lines = [
        'format = "keyheat.suite/1"',
        f'name = "month-{plan.target}"',
        'question = "Does every table still take its night?"',
        f'target = "{plan.target}"',
        f"repetitions = {plan.repetitions}",
        plan.gates,
    ]
    for raw in plan.scenarios:
        lines += ["[[cases]]", f'scenario = "./{raw["name"]}.json"', 'compare = "always"']
        lines += ['expects = "partition"'] if raw["name"] == SESSIONS["name"] else []
    return "\n".join(lines)


def _with(raw: Raw, settings: Mapping[str, Any]) -> Raw:
    """A copy with other values at dotted paths."""
    made: Raw = orjson.loads(orjson.dumps(raw))
    for path, value in settings.items():
        *way, last = path.split(".")
        place = made
        for step in way:
            place = place[step]
        place[last] = value
    return made


def _scenario(name: str, write: float, keys: Raw, load: Raw) -> Raw:
    table, hot = {"provisioned": {"read": 100, "write": write}}, {"kind": "hot_key", "keys": 1_000, **keys}
    return scenario_of(name, table, hot, load, attributes={"customer": {"count": 5_000}})


def changes_on(days: tuple[int, int, int], write: float, lowered: float, hot: float) -> dict[int, Change]:
    """The three changes: capacity, a hot key, an index."""
    index = {
        "name": "by-customer",
        "partition_key": "customer",
        "provisioned": {"read": 100, "write": write},
    }
    capacity = Change(
        what="capacity lowered",
        settings={"table.provisioned.write": lowered},
        named=f"Changed: table.provisioned.write {write:,} → {lowered:,} (orders).",
    )
    key = Change(
        what="a hot key",
        settings={"keys.share": hot},
        named=f"Changed: keys.share {COLD} → {hot} (orders).",
    )
    added = Change(
        what="an index added",
        settings={"table.indexes": [index]},
        named="Changed: table.indexes.by-customer none → ",
        stays=True,
    )
    return dict(zip(days, (capacity, key, added), strict=True))


COLD: Final = 0.001  # of requests go to each key
SIZES: Final = {"kind": "lognormal", "median": 900, "sigma": 0.8}
DRAWN: Final = {"item_bytes": SIZES, "arrivals": "poisson"}
ORDERS: Final = _scenario(
    "orders", 2_600, {"share": COLD}, {"requests_per_s": 1_000, "duration_s": 60, **DRAWN}
)
SESSIONS: Final = _scenario(
    "sessions", 4_000, {"share": 0.9}, {"requests_per_s": 1_200, "duration_s": 20, **DRAWN}
)
MONTH: Final = Plan(
    target="simulated",
    nights=30,
    repetitions=3,
    spread=0.03,
    scenarios=(ORDERS, SESSIONS),
    changes=changes_on((9, 15, 22), 2_600, 130, 0.7),
)
LOCAL: Final = Plan(
    target="local",
    nights=8,
    repetitions=3,
    spread=0.0,  # a machine that others share is noise enough, and its load has to be the same
    scenarios=(
        _scenario(
            "orders",
            2_600,
            {"share": COLD},
            {"users": 20, "requests_per_s": 400, "duration_s": 15, "item_bytes": 3_900},
        ),
    ),
    changes=changes_on((3, 5, 7), 2_600, 40, 0.9),
    gates="""
[[gates]]
measure = "labels"

[[gates]]
measure = "units_per_operation.write"

[[gates]]
measure = "write_amplification"

[[gates]]
measure = "accepted_units_per_s.write"

[[gates]]
measure = "throttle_share"
""",
)
"""The gates of configs/suites/nightly.toml but for service times, which no earlier baseline can decide."""
