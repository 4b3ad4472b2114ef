"""The measures that compare two runs: each with its unit and its better direction.

Exact measures have no noise: the same scenario and code give the same number. Statistical ones differ from
run to run, and are compared over several repetitions. `measurement` says how each is taken.

A run without a measure states the reason, one of `ABSENCES`. Some reasons are more than "unknown": a table
that never throttled beats every number of seconds before the first throttle.
"""

from dataclasses import dataclass
from typing import Final, Literal

Better = Literal["higher", "lower", "same"]
Kind = Literal["exact", "statistical"]
Absence = Literal[
    "no_throttles",
    "not_recovered",
    "throttled_at_once",
    "no_number",
    "not_sent",
    "none_accepted",
    "varies",
    "too_short",
    "too_long",
    "not_simulated",
    "wrong_units",
    "no_maximum",
    "no_file",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One number about a run; ratios are meaningful only above `floor`."""

    name: str
    title: str  # in a table for people
    unit: str
    kind: Kind
    better: Better
    says: str
    floor: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """Why a run has no such number; `than_any`: how it compares with any number, and `short` in its place."""

    says: str
    short: str = ""
    than_any: Literal["better", "worse"] | None = None  # None: not comparable


ABSENCES: Final[dict[Absence, Lacking]] = {
    "no_throttles": Lacking(says="nothing was throttled", short="no throttles", than_any="better"),
    "not_recovered": Lacking(
        says="it still throttled when the load ended", short="throttling to the end", than_any="worse"
    ),
    "throttled_at_once": Lacking(
        says="it throttled before ten seconds were over", short="throttled at once", than_any="worse"
    ),
    "no_number": Lacking(says="no number of shards is enough", short="no number is enough", than_any="worse"),
    "not_sent": Lacking(says="nothing of this direction was sent"),
    "none_accepted": Lacking(says="nothing of this direction was accepted"),
    "varies": Lacking(says="it differs from second to second, so it is not exact"),
    "too_short": Lacking(says="the load lasted less than three whole seconds"),
    "too_long": Lacking(says="the load or its capacity changes over more than ten minutes"),
    "not_simulated": Lacking(says="the simulator cannot tell it"),
    "wrong_units": Lacking(says="the endpoint may not count units as DynamoDB does"),
    "no_maximum": Lacking(says="no capacity or maximum to outgrow", short="no maximum", than_any="better"),
    "no_file": Lacking(says="the run's file about it is missing or damaged"),
}

USUAL_SHARE: Final = 0.7  # of the capacity: what auto scaling aims at by default
CAPACITY_USED: Final = {
    "capacity_used.write": "writes of the table",
    "capacity_used.read": "reads of the table",
    "index_capacity_used.write": "writes of the most used index",
    "index_capacity_used.read": "reads of the most used index",
}
"""Shares of capacity that a run consumed, each by itself: a limit that is exceeded must not hide another."""

MEASURES: Final = {
    measure.name: measure
    for measure in (
        Measure(
            name="units_per_operation.write", title="Units of one write",
            unit="units", kind="exact", better="lower",
            says="write units that an accepted operation consumes, indexes included",
        ),
        Measure(
            name="units_per_operation.read", title="Units of one read",
            unit="units", kind="exact", better="lower",
            says="read units that an accepted operation consumes",
        ),
        Measure(
            name="write_amplification", title="Write amplification",
            unit="x", kind="exact", better="lower",
            says="write units of the table and its indexes for each write unit of the table",
        ),
        Measure(
            name="shards_needed", title="Shards needed",
            unit="shards", kind="exact", better="lower",
            says="shards that the simulator needs for this demand without throttles",
        ),
        Measure(
            name="mean_units_per_operation.write", title="Units of a write, mean",
            unit="units", kind="statistical", better="lower",
            floor=0.01, says="mean of these units, where operations differ",
        ),
        Measure(
            name="mean_units_per_operation.read", title="Units of a read, mean",
            unit="units", kind="statistical", better="lower",
            floor=0.01, says="mean of these units, where operations differ",
        ),
        Measure(
            name="accepted_units_per_s.write", title="Accepted writes",
            unit="units/s", kind="statistical", better="higher", floor=1.0,
            says="write units per second that the table accepted while it was loaded, without its indexes",
        ),
        Measure(
            name="accepted_units_per_s.read", title="Accepted reads",
            unit="units/s", kind="statistical", better="higher", floor=1.0,
            says="read units per second that the table accepted while it was loaded",
        ),
        Measure(
            name="knee_units_per_s", title="Most before throttles",
            unit="units/s", kind="statistical", better="higher", floor=1.0,
            says="the most units per second that were accepted in any ten seconds before throttles began",
        ),
        Measure(
            name="throttle_share", title="Throttled attempts",
            unit="share", kind="statistical", better="lower", floor=0.002,
            says="share of attempts that were throttled",
        ),
        *(
            Measure(
                name=name, title=f"Capacity used, {whose}",
                unit="share", kind="statistical", better="lower", floor=USUAL_SHARE,
                says=f"what {whose} consume in the busiest minute, of their maximum, provisioned, of auto "
                "scaling or on demand: over 100 % it runs on burst capacity, "
                f"below {USUAL_SHARE:.0%} no change counts",
            )
            for name, whose in CAPACITY_USED.items()
        ),
        Measure(
            name="p50_ms", title="Service time, p50",
            unit="ms", kind="statistical", better="lower", floor=0.1,
            says="p50 of the service time of accepted requests",
        ),
        Measure(
            name="p99_ms", title="Service time, p99",
            unit="ms", kind="statistical", better="lower", floor=0.5,
            says="p99 of the service time of accepted requests",
        ),
        Measure(
            name="first_throttle_s", title="First throttle after",
            unit="s", kind="statistical", better="higher", floor=1.0,
            says="seconds of load before the first throttle",
        ),
        Measure(
            name="recovery_s", title="Recovered after",
            unit="s", kind="statistical", better="lower", floor=1.0,
            says="seconds from the first throttle until there was none for ten seconds",
        ),
    )
}  # fmt: skip
