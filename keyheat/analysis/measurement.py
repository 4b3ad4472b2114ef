"""Take each measure of a run from the files of the run directory.

    attempts/s   |  ________________       rates are means over the whole seconds of the load, see
                 | |  whole seconds |      `run_result`
                 |_|________________|_
    throttles/s  |    x xx  x   xx          first_throttle_s: from the first second with an attempt
                 |    |          |..........| ten seconds of load without a throttle: recovered
                 +--->|<-------->|          recovery_s: from the first throttle to the end of the last one

Every function returns a number, or an `Absence`. A second without a row is no proof of recovery.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from keyheat import runfiles
from keyheat.analysis.measures import Absence
from keyheat.analysis.run_result import (
    Numbers,
    RunTraffic,
    most_provisioned,
    throttled_seconds,
    traffic_of,
)
from keyheat.runfiles import US_PER_MS, FileProblem
from keyheat.runs.manifest import Manifest
from keyheat.runs.run import read_seconds
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.simulator.whatif import shards_enough
from keyheat.words import READ, TABLE, WRITE, Direction, has_capacity_model

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

Measured = float | Absence

QUIET_S: Final = 10  # seconds of load without a throttle for a recovery; width of the knee's window
SAME: Final = 1e-9  # greatest relative difference of two equal numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMeasured:
    """The sources of the measures, or why one is missing."""

    manifest: Manifest
    scenario: Scenario | Absence
    traffic: Mapping[Direction, RunTraffic] | Absence
    accepted: "HdrHistogram | Absence"  # service times of accepted requests, microseconds

    @property
    def counts_wrongly(self) -> bool:
        """Whether the endpoint's units may differ from DynamoDB's."""
        return not has_capacity_model(self.manifest.endpoint)


def measures_of(folder: Path, manifest: Manifest) -> tuple[dict[str, float], dict[str, Absence]]:
    """Return the run's measures by name, and why the others are missing."""
    run = RunMeasured(
        manifest=manifest,
        scenario=_scenario(manifest),
        traffic=_traffic(folder, manifest),
        accepted=_accepted(folder / runfiles.FILES[runfiles.LATENCY], manifest),
    )
    values = {name: measure(run) for name, measure in TAKEN.items()}
    return (
        {name: round(value, 9) for name, value in values.items() if not isinstance(value, str)},
        {name: value for name, value in values.items() if isinstance(value, str)},
    )


def _trusted_traffic(run: RunMeasured, side: Direction) -> RunTraffic | Absence:
    """Return one side of the load, if the endpoint counts units as DynamoDB does."""
    if isinstance(run.traffic, str):
        return run.traffic
    return "wrong_units" if run.counts_wrongly else run.traffic[side]


def exact_units(run: RunMeasured, side: Direction) -> Measured:
    """Units per accepted operation, if every second of the run agrees.

    For a simulated run, the mean over the run: nothing in it is random.
    """
    side_traffic = _trusted_traffic(run, side)
    if isinstance(side_traffic, str):
        return side_traffic
    if not side_traffic.accepted:
        return "none_accepted"
    seconds = side_traffic.by_second
    return _exactly(seconds.units, seconds.accepted, simulated=run.manifest.simulated)


def mean_units(run: RunMeasured, side: Direction) -> Measured:
    """Units per accepted operation, of the table and its indexes, over the whole run."""
    side_traffic = _trusted_traffic(run, side)
    if isinstance(side_traffic, str):
        return side_traffic
    return side_traffic.units / side_traffic.accepted if side_traffic.accepted else "none_accepted"


def write_amplification(run: RunMeasured) -> Measured:
    """Write units of the table and its indexes per write unit of the table; 1 without indexes."""
    side_traffic = _trusted_traffic(run, WRITE)
    if isinstance(side_traffic, str):
        return side_traffic
    seconds = side_traffic.by_second
    if not seconds.own_units.any():
        return "none_accepted"
    return _exactly(seconds.units, seconds.own_units, simulated=run.manifest.simulated)


def _exactly(of: Numbers, per: Numbers, *, simulated: bool) -> Measured:
    """Divide one amount by another, if the ratio is the same in every second."""
    mean = float(of.sum() / per.sum())
    if simulated or np.allclose(of, per * mean, rtol=SAME, atol=SAME):
        return mean
    return "varies"


def shards_needed(run: RunMeasured) -> Measured:
    """Smallest number of shards per hot key with at most 0.1 % simulated throttles.

    Simulated from the scenario, on a table without burst. A constant load is simulated for a minute, a
    changing one as a whole, if that is at most ten minutes.
    """
    if isinstance(run.scenario, str):
        return run.scenario
    shards = shards_enough(run.scenario)
    if shards is None:
        return "no_number"
    return shards if isinstance(shards, str) else float(shards)


def accepted_units_per_s(run: RunMeasured, side: Direction) -> Measured:
    """Units/s over the whole seconds of the load: for writes the table's, for reads with indexes.

    A write is accepted once, whatever the number of indexes that copy it.
    """
    side_traffic = _trusted_traffic(run, side)
    if isinstance(side_traffic, str):
        return side_traffic
    if not side_traffic.attempts:
        return "not_sent"
    if side_traffic.units_per_s is None or side_traffic.own_units_per_s is None:
        return "too_short"
    return side_traffic.own_units_per_s if side is WRITE else side_traffic.units_per_s


def knee_units_per_s(run: RunMeasured) -> Measured:
    """Highest units/s in any ten consecutive whole seconds before the first throttle.

    In the direction that throttled most, for writes the table's. Without throttles the knee was not reached.
    """
    if isinstance(run.traffic, str):
        return run.traffic
    traffic, throttled = run.traffic, throttled_seconds(run.traffic)
    if not len(throttled):
        return "no_throttles"
    worst: Direction = max(traffic, key=lambda side: traffic[side].throttled)
    if run.counts_wrongly:
        return "wrong_units"
    seconds = traffic[worst].by_second
    units = seconds.own_units if worst is WRITE else seconds.units
    before = units[: throttled[0]][seconds.whole[: throttled[0]]]
    if len(before) < QUIET_S:
        return "throttled_at_once"
    return float(np.convolve(before, np.ones(QUIET_S), mode="valid").max() / QUIET_S)


def throttle_share(run: RunMeasured) -> Measured:
    """Share of throttled attempts, of both directions, over the whole run."""
    if isinstance(run.traffic, str):
        return run.traffic
    attempts = sum(side_traffic.attempts for side_traffic in run.traffic.values())
    return (
        sum(side_traffic.throttled for side_traffic in run.traffic.values()) / attempts
        if attempts
        else "not_sent"
    )


def capacity_used(run: RunMeasured, side: Direction, *, index: bool) -> Measured:
    """Share of its capacity that the table, or its most used index, consumed in a direction.

    The capacity is the provisioned one, or the maximum of auto scaling. Above 1 the load runs on burst
    capacity and will be throttled if it continues.
    """
    if isinstance(run.traffic, str):
        return run.traffic
    scenario = run.scenario if isinstance(run.scenario, Scenario) else None
    if scenario is not None and scenario.timeline:
        return "varies"
    if run.counts_wrongly:
        return "wrong_units"
    if all(side_traffic.units_per_s is None for side_traffic in run.traffic.values()):
        return "too_short"
    most = most_provisioned(run.manifest, scenario)
    per_s = run.traffic[side].units_per_s_of
    used = (
        per_s.get(resource, 0.0) / has
        for (resource, direction), has in most.items()
        if direction == side and (resource != TABLE) == index
    )
    return max(used, default="not_provisioned")


def percentile_ms(run: RunMeasured, percentile: float) -> Measured:
    """Percentile of the service time of all accepted requests, milliseconds."""
    if isinstance(run.accepted, str):
        return cast(Absence, run.accepted)
    return float(run.accepted.get_value_at_percentile(percentile)) / US_PER_MS


def first_throttle_s(run: RunMeasured) -> Measured:
    """Seconds from the first second with an attempt to the first with a throttle."""
    if isinstance(run.traffic, str):
        return run.traffic
    throttled = throttled_seconds(run.traffic)
    return float(throttled[0]) if len(throttled) else "no_throttles"


def recovery_s(run: RunMeasured) -> Measured:
    """Seconds from the first throttle to the last one before ten throttle-free seconds of load."""
    if isinstance(run.traffic, str):
        return run.traffic
    throttled = throttled_seconds(run.traffic)
    if not len(throttled):
        return "no_throttles"
    attempts = sum(side_traffic.by_second.attempts for side_traffic in run.traffic.values())
    loaded = np.cumsum(attempts > 0)  # seconds with attempts so far
    nexts = np.append(throttled[1:], len(loaded))
    quiet = loaded[nexts - 1] - loaded[throttled]
    ended = throttled[quiet >= QUIET_S]
    return float(ended[0] + 1 - throttled[0]) if len(ended) else "not_recovered"


TAKEN: Final[dict[str, Callable[[RunMeasured], Measured]]] = {
    "units_per_operation.write": partial(exact_units, side=WRITE),
    "units_per_operation.read": partial(exact_units, side=READ),
    "write_amplification": write_amplification,
    "shards_needed": shards_needed,
    "mean_units_per_operation.write": partial(mean_units, side=WRITE),
    "mean_units_per_operation.read": partial(mean_units, side=READ),
    "accepted_units_per_s.write": partial(accepted_units_per_s, side=WRITE),
    "accepted_units_per_s.read": partial(accepted_units_per_s, side=READ),
    "knee_units_per_s": knee_units_per_s,
    "throttle_share": throttle_share,
    "capacity_used.write": partial(capacity_used, side=WRITE, index=False),
    "capacity_used.read": partial(capacity_used, side=READ, index=False),
    "index_capacity_used.write": partial(capacity_used, side=WRITE, index=True),
    "index_capacity_used.read": partial(capacity_used, side=READ, index=True),
    "p50_ms": partial(percentile_ms, percentile=50),
    "p99_ms": partial(percentile_ms, percentile=99),
    "first_throttle_s": first_throttle_s,
    "recovery_s": recovery_s,
}


def _scenario(manifest: Manifest) -> Scenario | Absence:
    if manifest.scenario is None:
        return "no_file"
    try:
        return scenario_from_dict(dict(manifest.scenario), "run.json")
    except ScenarioError:
        return "no_file"


def _traffic(folder: Path, manifest: Manifest) -> dict[Direction, RunTraffic] | Absence:
    try:
        traffic = traffic_of(manifest, read_seconds(folder))
    except FileProblem:
        return "no_file"
    return traffic if any(side_traffic.attempts for side_traffic in traffic.values()) else "not_sent"


def _accepted(path: Path, manifest: Manifest) -> "HdrHistogram | Absence":
    if manifest.simulated:
        return "not_simulated"
    from keyheat.runs.latencies import accepted_latencies  # hdrh and pyarrow: a simulation needs neither

    try:
        return accepted_latencies(path) or "none_accepted"
    except FileProblem:
        return "no_file"
