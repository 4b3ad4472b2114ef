"""The result of one run: accepted, throttled, and its cost. Every view takes these numbers from here.

    attempts/s   |  ________________      A load begins and ends within a second: rates are means over the
                 | |  whole seconds |     whole seconds of the load. A second without a row is one in which
                 |_|________________|_    the client got no answer: nothing was accepted, and time has passed.

A simulated load begins on a whole second, so that its burst is in the mean. Nothing here judges: see
`keyheat.analysis.loaded_step` and the diagnosis.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil, floor
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from keyheat.runs.manifest import Manifest
from keyheat.scenario.scenario import Scenario
from keyheat.words import TABLE, WRITES_FIRST, Direction, label_of

if TYPE_CHECKING:
    import pandas as pd


Numbers = NDArray[np.float64]

LEAST_WHOLE_S: Final = 3
STILL_S = 2.0  # seconds before the run's end; a later throttle means that throttling had not ended


def most_provisioned(manifest: Manifest, scenario: Scenario | None) -> dict[tuple[str, Direction], float]:
    """Return the capacity of each side of a table and its indexes, units/s: provisioned, or auto-scaled."""
    table, scaled = manifest.table, _scaling_maxima(manifest, scenario)
    owners = (
        (None, table.provisioned),
        *((index_facts.name, index_facts.provisioned) for index_facts in table.indexes),
    )
    return {
        (label_of(index), side): max(units, scaled.get((index, side), 0.0)) * manifest.scale
        for index, pair in owners
        if pair is not None
        for side in WRITES_FIRST
        if (units := pair.of(side))
    }


def _scaling_maxima(
    manifest: Manifest, scenario: Scenario | None
) -> dict[tuple[str | None, Direction], float]:
    """Return the maxima of auto scaling: an existing table's, else the scenario's, which is simulated."""
    if scenario is None or manifest.auto_scaling is not None:
        policies_ = manifest.auto_scaling.scaled if manifest.auto_scaling else ()
        return {(policy_.index, policy_.side): policy_.max for policy_ in policies_}
    table = scenario.table
    policies = (
        (None, table.auto_scaling),
        *((policy_.name, policy_.auto_scaling) for policy_ in table.indexes),
    )
    return {
        (index, Direction(side)): policy.max
        for index, scaling in policies
        if scaling is not None
        for side, policy in scaling.sides().items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTraffic:
    """One direction of a run: attempts on the table, units of the table and its indexes.

    `by_second` covers the first to the last second with an attempt in either direction. Rates are None if the
    load lasted less than three whole seconds.
    """

    attempts: int
    accepted: int
    throttled: int
    units: float
    units_per_s: float | None
    own_units_per_s: float | None  # of the table
    attempts_per_s: float | None
    throttled_per_s: float | None
    by_second: "RunSide"
    units_per_s_of: Mapping[str, float] = field(default_factory=dict)  # by resource, as in labels

    @property
    def throttled_share(self) -> float | None:
        """Share of throttled attempts; None without attempts."""
        return self.throttled / self.attempts if self.attempts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSide:
    """One direction second by second."""

    attempts: Numbers
    accepted: Numbers
    throttled: Numbers  # attempts, throttled by any limit
    own_units: Numbers  # of the table
    units: Numbers  # of the table and its indexes
    whole: NDArray[np.bool_]  # seconds with load from beginning to end


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """One run in numbers. None is unknown, never zero."""

    write: RunTraffic
    read: RunTraffic
    counted: Mapping[str, float]

    @property
    def attempts(self) -> int:
        return self.write.attempts + self.read.attempts

    @property
    def throttled(self) -> int:
        return self.write.throttled + self.read.throttled

    @property
    def throttled_share(self) -> float | None:
        """Share of throttled attempts, of both directions; None without attempts."""
        return self.throttled / self.attempts if self.attempts else None

    @property
    def units_per_read(self) -> float | None:
        """Read units per checked, or simulated, read of a whole collection."""
        counted = self.counted
        for units, reads in (("reads.units", "reads.checked"), ("simulated.read_units", "simulated.reads")):
            if counted.get(reads) and units in counted:
                return counted[units] / counted[reads]
        return None


def measure(manifest: Manifest, seconds: "pd.DataFrame") -> RunResult:
    """Compute the numbers of a run from its manifest and its frame of seconds."""
    traffic = traffic_of(manifest, seconds)
    return RunResult(write=traffic[Direction.WRITE], read=traffic[Direction.READ], counted=manifest.counted)


def traffic_of(manifest: Manifest, seconds: "pd.DataFrame") -> dict[Direction, RunTraffic]:
    """Compute both directions of a run from its frame of seconds."""
    attempted = seconds.loc[seconds["attempts"] > 0, "second"]
    epoch_s = attempted.astype("int64")
    span = _seconds(epoch_s.min(), epoch_s.max() + 1) if len(epoch_s) else _seconds(0, 0)
    whole = _seconds(*whole_seconds(manifest, epoch_s.max() if len(epoch_s) else None))
    return {side: _traffic(seconds[seconds["direction"] == side], span, whole) for side in WRITES_FIRST}


def whole_seconds(manifest: Manifest, last: int | None) -> tuple[int, int]:
    """Return the first whole second of the load, and the one after the last.

    Epoch seconds by the clock of the frames; `last` is the last second with an attempt.
    """
    first = ceil(round(manifest.started_at.timestamp(), 3))
    if manifest.ended_at is not None:
        return first, floor(round(manifest.ended_at.timestamp(), 3))
    return first, first if last is None else last  # it was killed, within the last second that is known


def _seconds(first: int, after: int) -> "pd.DatetimeIndex":
    """Return the seconds of a range in the form of a frame's `second`."""
    import pandas as pd

    return pd.DatetimeIndex(np.arange(first, after).astype("datetime64[s]"), tz="UTC")


def _traffic(rows: "pd.DataFrame", span: "pd.DatetimeIndex", whole: "pd.DatetimeIndex") -> RunTraffic:
    of_table = rows[rows["resource"] == TABLE]
    counts = of_table.groupby("second")[["attempts", "accepted", "throttled", "consumed_units"]].sum()
    units = rows.groupby("second")["consumed_units"].sum()

    def at(moments: "pd.DatetimeIndex", column: "pd.Series[float]") -> Numbers:
        return np.asarray(column.reindex(moments, fill_value=0), np.float64)

    def rate(column: "pd.Series[float]") -> float | None:
        return float(at(whole, column).mean()) if len(whole) >= LEAST_WHOLE_S else None

    return RunTraffic(
        attempts=int(of_table["attempts"].sum()),
        accepted=int(of_table["accepted"].sum()),
        throttled=int(of_table["throttled"].sum()),
        units=float(rows["consumed_units"].sum()),
        units_per_s=rate(units),
        own_units_per_s=rate(counts["consumed_units"]),
        attempts_per_s=rate(counts["attempts"]),
        throttled_per_s=rate(counts["throttled"]),
        by_second=RunSide(
            attempts=at(span, counts["attempts"]),
            accepted=at(span, counts["accepted"]),
            throttled=at(span, counts["throttled"]),
            own_units=at(span, counts["consumed_units"]),
            units=at(span, units),
            whole=span.isin(whole),
        ),
        units_per_s_of={
            str(resource): rate(of_resource.groupby("second")["consumed_units"].sum()) or 0.0
            for resource, of_resource in rows.groupby("resource")
        },
    )


def throttled_seconds(traffic: Mapping[Direction, RunTraffic]) -> NDArray[np.int64]:
    """Return the seconds with a throttle, counted from the first second of the load."""
    return np.flatnonzero(sum(side.by_second.throttled for side in traffic.values()))
