"""How each measure of a run is taken, from the files of the run directory.

    attempts/s   |  ________________       rates are means over the whole seconds of the load, see
                 | |  whole seconds |      `run_result`
                 |_|________________|_
    throttles/s  |    x xx  x   xx          first_throttle_s: from the first second with an attempt
                 |    |          |..........| ten seconds of load without a throttle: it has recovered
                 +--->|<-------->|          recovery_s: from the first throttle to the end of the last one

Every function here gives a number, or an `Absence`. That nothing throttled in a second without a row proves
no recovery.
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
from keyheat.words import READ, WRITE, Direction, has_capacity_model

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

Measured = float | Absence

QUIET_S: Final = 10  # seconds of load without a throttle that are a recovery; width of the knee's window
SAME: Final = 1e-9  # relative difference of two numbers that are the same


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMeasured:
    """What measures are taken from, or why it is not there."""

    manifest: Manifest
    scenario: Scenario | Absence
    traffic: Mapping[Direction, RunTraffic] | Absence
    accepted: "HdrHistogram | Absence"  # service times of accepted requests, microseconds

    @property
    def counts_wrongly(self) -> bool:
        """Whether the endpoint may count other units than DynamoDB."""
        return not has_capacity_model(self.manifest.endpoint)


def measures_of(folder: Path, manifest: Manifest) -> tuple[dict[str, float], dict[str, Absence]]:
    """Every measure in the catalogue, by name: those that the run has, and why it lacks the others."""
    run = RunMeasured(
        manifest=manifest,
        scenario=_scenario(manifest),
        traffic=_traffic(folder, manifest),
        accepted=_accepted(folder / runfiles.FILES[runfiles.LATENCY], manifest),
    )
    taken = {name: take(run) for name, take in TAKEN.items()}
    return (
        {name: round(value, 9) for name, value in taken.items() if not isinstance(value, str)},
        {name: value for name, value in taken.items() if isinstance(value, str)},
    )


def _counted(run: RunMeasured, side: Direction) -> RunTraffic | Absence:
    """One side of the load, where the units that its endpoint counts are DynamoDB's."""
    if isinstance(run.traffic, str):
        return run.traffic
    return "wrong_units" if run.counts_wrongly else run.traffic[side]


def exact_units(run: RunMeasured, side: Direction) -> Measured:
    """Units for each accepted operation, if each second of the run gives the same.

    Of a simulated run it is the mean over the run, for nothing in it is left to chance.
    """
    one = _counted(run, side)
    if isinstance(one, str):
        return one
    if not one.accepted:
        return "none_accepted"
    each = one.by_second
    return _exactly(each.units, each.accepted, simulated=run.manifest.simulated)


def mean_units(run: RunMeasured, side: Direction) -> Measured:
    """Units for each accepted operation, of the table and its indexes, over the whole run."""
    one = _counted(run, side)
    if isinstance(one, str):
        return one
    return one.units / one.accepted if one.accepted else "none_accepted"


def write_amplification(run: RunMeasured) -> Measured:
    """Write units of the table and its indexes over those of the table; 1 without indexes."""
    one = _counted(run, WRITE)
    if isinstance(one, str):
        return one
    each = one.by_second
    if not each.own_units.any():
        return "none_accepted"
    return _exactly(each.units, each.own_units, simulated=run.manifest.simulated)


def _exactly(of: Numbers, per: Numbers, *, simulated: bool) -> Measured:
    """One amount over another, if it is the same in every second that has any."""
    mean = float(of.sum() / per.sum())
    if simulated or np.allclose(of, per * mean, rtol=SAME, atol=SAME):
        return mean
    return "varies"


def shards_needed(run: RunMeasured) -> Measured:
    """The smallest number of shards of every hot key with which the simulator hardly throttles (0.1 %).

    By the scenario alone, on a table that has saved up nothing. A load that stays the same is simulated for a
    minute; one that changes, whole, if that is at most ten minutes.
    """
    if isinstance(run.scenario, str):
        return run.scenario
    found = shards_enough(run.scenario)
    if found is None:
        return "no_number"
    return found if isinstance(found, str) else float(found)


def accepted_units_per_s(run: RunMeasured, side: Direction) -> Measured:
    """Units per second over the whole seconds of the load: of writes the table's own, of reads with indexes.

    A write is accepted once, however many indexes it is copied to: with one more, no more was accepted.
    """
    one = _counted(run, side)
    if isinstance(one, str):
        return one
    if not one.attempts:
        return "not_sent"
    if one.units_per_s is None or one.own_units_per_s is None:
        return "too_short"
    return one.own_units_per_s if side is WRITE else one.units_per_s


def knee_units_per_s(run: RunMeasured) -> Measured:
    """The most units per second in any ten whole seconds on end before the first throttle.

    Of the direction that throttled most, of writes the table's own. Without throttles it was not reached.
    """
    if isinstance(run.traffic, str):
        return run.traffic
    traffic, throttled = run.traffic, throttled_seconds(run.traffic)
    if not len(throttled):
        return "no_throttles"
    worst: Direction = max(traffic, key=lambda side: traffic[side].throttled)
    if run.counts_wrongly:
        return "wrong_units"
    each = traffic[worst].by_second
    units = each.own_units if worst is WRITE else each.units
    before = units[: throttled[0]][each.whole[: throttled[0]]]
    if len(before) < QUIET_S:
        return "throttled_at_once"
    return float(np.convolve(before, np.ones(QUIET_S), mode="valid").max() / QUIET_S)


def throttle_share(run: RunMeasured) -> Measured:
    """Throttled attempts over all attempts, of both directions, over the whole run."""
    if isinstance(run.traffic, str):
        return run.traffic
    attempts = sum(one.attempts for one in run.traffic.values())
    return sum(one.throttled for one in run.traffic.values()) / attempts if attempts else "not_sent"


def capacity_used(run: RunMeasured) -> Measured:
    """The largest part that the table, or an index, consumed of what it has at most in a direction.

    That is what is provisioned, or the maximum of its auto scaling. Over 1 it runs on burst capacity: a load
    that goes on will be throttled. 0 if nothing is provisioned.
    """
    if isinstance(run.traffic, str):
        return run.traffic
    scenario = run.scenario if isinstance(run.scenario, Scenario) else None
    if scenario is not None and scenario.timeline:
        return "varies"
    if run.counts_wrongly:
        return "wrong_units"
    if all(one.units_per_s is None for one in run.traffic.values()):
        return "too_short"
    most = most_provisioned(run.manifest, scenario)
    used = (
        run.traffic[side].units_per_s_of.get(resource, 0.0) / has for (resource, side), has in most.items()
    )
    return max(used, default=0.0)


def percentile_ms(run: RunMeasured, percentile: float) -> Measured:
    """A percentile of the service time of all accepted requests together, milliseconds."""
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
    """Seconds from the first throttle to the end of the last one before ten seconds of load without any."""
    if isinstance(run.traffic, str):
        return run.traffic
    throttled = throttled_seconds(run.traffic)
    if not len(throttled):
        return "no_throttles"
    attempts = sum(one.by_second.attempts for one in run.traffic.values())
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
    "capacity_used": capacity_used,
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
        traffic = traffic_of(manifest, read_seconds(folder, manifest.rows_ahead_s))
    except FileProblem:
        return "no_file"
    return traffic if any(one.attempts for one in traffic.values()) else "not_sent"


def _accepted(path: Path, manifest: Manifest) -> "HdrHistogram | Absence":
    if manifest.simulated:
        return "not_simulated"
    from keyheat.runs.latencies import accepted_latencies  # hdrh and pyarrow: a simulation needs neither

    try:
        return accepted_latencies(path) or "none_accepted"
    except FileProblem:
        return "no_file"
