"""The traffic of one run: attempted, accepted, throttled. Every view takes these numbers from here.

    attempts/s   |  ________________      A load begins and ends within a second: rates are means over the
                 | |  whole seconds |     whole seconds of the load. A second without a row is one in which
                 |_|________________|_    the client got no answer: nothing was accepted, and time has passed.

A simulated load begins on a whole second, so that its burst is in the mean. Nothing here judges: see
`keyheat.analysis.loaded_step` and the diagnosis.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from keyheat.model import limits
from keyheat.runs.manifest import Manifest
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.search import halves_of
from keyheat.words import TABLE, WRITES_FIRST, Capacity, Direction, label_of

if TYPE_CHECKING:
    import pandas as pd


LEAST_WHOLE_S: Final = 3
OF: Final = "units of "
STILL_S = 2.0  # seconds before the run's end; a later throttle means that throttling had not ended


Sides = dict[tuple[str, Direction], float]
"""Units/s by side of a table and its indexes, as labels call them."""


def most_provisioned(manifest: Manifest, scenario: Scenario | None) -> Sides:
    """Return the capacity of each side of a table and its indexes, units/s: provisioned, or auto-scaled."""
    scaled = _scaling_maxima(manifest, scenario)
    provisioned = _stated(manifest, "provisioned")
    return {side: max(units, scaled.get(side, 0.0) * manifest.scale) for side, units in provisioned.items()}


def most_admitted(manifest: Manifest, scenario: Scenario | None) -> Sides:
    """Return what each side of a table and its indexes admits for long: capacity or an on-demand maximum."""
    return _stated(manifest, "max_on_demand") | most_provisioned(manifest, scenario)


def _stated(manifest: Manifest, kind: str) -> Sides:
    """The rates that are stated of each side, at the run's scale."""
    owners = {TABLE: manifest.table} | {label_of(index.name): index for index in manifest.table.indexes}
    pairs: dict[str, Capacity | None] = {name: getattr(owner, kind) for name, owner in owners.items()}
    return {
        (name, side): units * manifest.scale
        for name, pair in pairs.items()
        if pair is not None
        for side in WRITES_FIRST
        if (units := pair.of(side))
    }


def _scaling_maxima(manifest: Manifest, scenario: Scenario | None) -> Sides:
    """Return the maxima of auto scaling: an existing table's, else the scenario's, which is simulated."""
    if scenario is None or manifest.auto_scaling is not None:
        ranges = manifest.auto_scaling.scaled if manifest.auto_scaling else ()
        return {(label_of(each.index), each.side): each.max for each in ranges}
    table = scenario.table
    policies = {TABLE: table.auto_scaling} | {
        label_of(index.name): index.auto_scaling for index in table.indexes
    }
    return {
        (name, Direction(side)): policy.max
        for name, scaling in policies.items()
        if scaling is not None
        for side, policy in scaling.sides().items()
    }


def busiest_per_s(units: NDArray[np.float64]) -> float:
    """Mean of the busiest minute of a load; `units`: of each of its seconds, at least one."""
    width = min(len(units), limits.MINUTE_S)
    sums = np.cumsum(np.concatenate(([0.0], units)))
    return float((sums[width:] - sums[:-width]).max() / width)


@dataclass(frozen=True, slots=True, eq=False)
class RunTraffic:
    """One direction of a run: attempts on the table, units of the table and its indexes.

    Rates are None if the load lasted less than three whole seconds.
    """

    seconds: "pd.DataFrame"
    """By second: attempts, accepted, throttled and own_units of the table; units of the table and its
    indexes, of each also by itself, as `units of NAME`; whole: seconds with load from beginning to end."""
    loaded: slice  # from the first to the last second with an attempt in either direction

    @property
    def by_second(self) -> "pd.DataFrame":
        """The seconds of the load."""
        return self.seconds.loc[self.loaded]

    @property
    def attempts(self) -> int:
        return int(self.seconds["attempts"].sum())

    @property
    def accepted(self) -> int:
        return int(self.seconds["accepted"].sum())

    @property
    def throttled(self) -> int:
        return int(self.seconds["throttled"].sum())

    @property
    def units(self) -> float:
        return float(self.seconds["units"].sum())

    def per_s(self, column: str) -> float | None:
        """Mean of a column over the whole seconds."""
        whole = self.seconds.loc[self.seconds["whole"], column]
        return float(whole.mean()) if len(whole) >= LEAST_WHOLE_S else None

    @property
    def units_per_s(self) -> float | None:
        return self.per_s("units")

    @property
    def going_on_per_s(self) -> float:
        """Units per second in the busier half: of an incident, without the calm beside it."""
        halves = halves_of(self.loaded.start, self.loaded.stop + 1)
        units = [self.seconds.loc[start_s : end_s - 1, "units"] for start_s, end_s in halves]
        return max((float(half.mean()) for half in units if len(half)), default=0.0)

    @property
    def attempts_per_s(self) -> float | None:
        return self.per_s("attempts")

    @property
    def units_per_s_of(self) -> dict[str, float]:
        """Units per second by resource, as in labels."""
        return {name.removeprefix(OF): self.per_s(name) or 0.0 for name in self._of_resources()}

    @property
    def busiest_units_per_s_of(self) -> dict[str, float]:
        """Units per second of the busiest minute, or of a shorter load, by resource."""
        whole = self.seconds.loc[self.seconds["whole"]]
        if len(whole) < LEAST_WHOLE_S:
            return {}
        return {name.removeprefix(OF): busiest_per_s(whole[name].to_numpy()) for name in self._of_resources()}

    def _of_resources(self) -> list[str]:
        return [name for name in map(str, self.seconds) if name.startswith(OF)]


def traffic_of(manifest: Manifest, seconds: "pd.DataFrame") -> dict[Direction, RunTraffic]:
    """Compute both directions of a run, writes first, from its frame of seconds."""
    import pandas as pd

    epoch_s = seconds["second"].astype("int64")
    loaded = epoch_s[seconds["attempts"] > 0]
    first, last = (int(loaded.min()), int(loaded.max())) if len(loaded) else (0, -1)
    whole = range(*whole_seconds(manifest, last if len(loaded) else None))
    moments = [*epoch_s, *whole[:1], *whole[-1:]] or [int(manifest.started_at.timestamp())]
    index = pd.RangeIndex(min(moments), max(moments) + 1)
    return {
        side: RunTraffic(_traffic(seconds[seconds["direction"] == side], index, whole), slice(first, last))
        for side in WRITES_FIRST
    }


def whole_seconds(manifest: Manifest, last: int | None) -> tuple[int, int]:
    """Return the first whole second of the load, and the one after the last.

    Epoch seconds by the clock of the frames; `last` is the last second with an attempt.
    """
    first = ceil(round(manifest.started_at.timestamp(), 3))
    if manifest.ended_at is not None:
        return first, floor(round(manifest.ended_at.timestamp(), 3))
    return first, first if last is None else last  # it was killed, within the last second that is known


def _traffic(rows: "pd.DataFrame", index: "pd.RangeIndex", whole: range) -> "pd.DataFrame":
    second = rows["second"].astype("int64")
    of_table = rows["resource"] == TABLE
    amounts = rows[["attempts", "accepted", "throttled", "consumed_units"]].astype("float64")
    table = amounts[of_table].groupby(second[of_table]).sum().rename(columns={"consumed_units": "own_units"})
    units = amounts["consumed_units"].groupby([second, rows["resource"]]).sum().unstack()
    frame = table.reindex(index, fill_value=0.0).fillna(0.0)
    by_resource = units.reindex(index).fillna(0.0).add_prefix(OF)
    return frame.assign(units=by_resource.sum(axis=1), whole=index.isin(whole)).join(by_resource)


def throttled_seconds(traffic: Mapping[Direction, RunTraffic]) -> NDArray[np.int64]:
    """Return the seconds with a throttle, counted from the first second of the load."""
    return np.flatnonzero(sum(side.by_second["throttled"].to_numpy() for side in traffic.values()))
