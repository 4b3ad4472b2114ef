"""Take each measure of a run from the files of the run directory.

    attempts/s   |  ________________       rates are means over the whole seconds of the load, see
                 | |  whole seconds |      `run_result`
                 |_|________________|_
    throttles/s  |    x xx  x   xx          first_throttle_s: from the first second with an attempt
                 |    |          |..........| ten seconds of load without a throttle: recovered
                 +--->|<-------->|          recovery_s: from the first throttle to the end of the last one

Each function returns a number, or raises `NotMeasured` with an `Absence`. A second without a row is no proof
of recovery.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from keyheat import runfiles
from keyheat.analysis.measures import Absence
from keyheat.analysis.run_result import RunTraffic, most_admitted, throttled_seconds, traffic_of
from keyheat.runfiles import US_PER_MS, FileProblem
from keyheat.runs.manifest import Manifest
from keyheat.runs.run import read_seconds
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.simulator.whatif import shards_enough
from keyheat.words import TABLE, WRITE, WRITES_FIRST, Direction, has_capacity_model

if TYPE_CHECKING:
    import pandas as pd
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


class NotMeasured(Exception):
    """A run that has no such number; the reason is its argument."""


def _sides(run: RunMeasured) -> Mapping[Direction, RunTraffic]:
    if isinstance(run.traffic, str):
        raise NotMeasured(run.traffic)
    return run.traffic


def _trusted_traffic(run: RunMeasured, side: Direction, *, accepted: bool = False) -> RunTraffic:
    """Return one side of the load, if the endpoint counts units as DynamoDB does."""
    traffic = _sides(run)[side]
    if not has_capacity_model(run.manifest.endpoint):
        raise NotMeasured("wrong_units")
    if accepted and not traffic.accepted:
        raise NotMeasured("none_accepted")
    return traffic


def exact_units(run: RunMeasured, side: Direction) -> float:
    """Units per accepted operation, if every second of the run agrees.

    For a simulated run, the mean over the run: nothing in it is random.
    """
    seconds = _trusted_traffic(run, side, accepted=True).by_second
    return _exactly(seconds["units"], seconds["accepted"], simulated=run.manifest.simulated)


def mean_units(run: RunMeasured, side: Direction) -> float:
    """Units per accepted operation, of the table and its indexes, over the whole run."""
    traffic = _trusted_traffic(run, side, accepted=True)
    return traffic.units / traffic.accepted


def write_amplification(run: RunMeasured) -> float:
    """Write units of the table and its indexes per write unit of the table; 1 without indexes."""
    seconds = _trusted_traffic(run, WRITE).by_second
    if not seconds["own_units"].any():
        raise NotMeasured("none_accepted")
    return _exactly(seconds["units"], seconds["own_units"], simulated=run.manifest.simulated)


def _exactly(of: "pd.Series[float]", per: "pd.Series[float]", *, simulated: bool) -> float:
    """Divide one amount by another, if the ratio is the same in every second."""
    mean = float(of.sum() / per.sum())
    if simulated or np.allclose(of, per * mean, rtol=SAME, atol=SAME):
        return mean
    raise NotMeasured("varies")


def shards_needed(run: RunMeasured) -> float:
    """Smallest number of shards per hot key with at most 0.1 % simulated throttles.

    Simulated from the scenario, on a table without burst. A constant load is simulated for a minute, a
    changing one as a whole, if that is at most ten minutes.
    """
    shards = run.scenario if isinstance(run.scenario, str) else shards_enough(run.scenario)
    if shards is None or isinstance(shards, str):
        raise NotMeasured(shards or "no_number")
    return float(shards)


def accepted_units_per_s(run: RunMeasured, side: Direction) -> float:
    """Units/s over the whole seconds of the load: for writes the table's, for reads with indexes.

    A write is accepted once, whatever the number of indexes that copy it.
    """
    traffic = _trusted_traffic(run, side)
    if not traffic.attempts:
        raise NotMeasured("not_sent")
    per_s = traffic.per_s("own_units" if side is WRITE else "units")
    if per_s is None:
        raise NotMeasured("too_short")
    return per_s


def knee_units_per_s(run: RunMeasured) -> float:
    """Highest units/s in any ten consecutive whole seconds before the first throttle.

    In the direction that throttled most, for writes the table's. Without throttles the knee was not reached.
    """
    traffic, first = _sides(run), first_throttle_s(run)
    worst = max(traffic, key=lambda side: traffic[side].throttled)
    before = _trusted_traffic(run, worst).by_second[:first]
    units = before.loc[before["whole"], "own_units" if worst is WRITE else "units"]
    if len(units) < QUIET_S:
        raise NotMeasured("throttled_at_once")
    return float(units.rolling(QUIET_S).mean().max())


def throttle_share(run: RunMeasured) -> float:
    """Share of throttled attempts, of both directions, over the whole run."""
    sides = _sides(run).values()
    attempts = sum(traffic.attempts for traffic in sides)
    if not attempts:
        raise NotMeasured("not_sent")
    return sum(traffic.throttled for traffic in sides) / attempts


def capacity_used(run: RunMeasured, side: Direction, *, index: bool) -> float:
    """Share of its capacity that the table, or its most used index, consumed in its busiest minute.

    The capacity is the provisioned one, the maximum of auto scaling, or the on-demand maximum. Above 1 that
    minute runs on burst capacity, and would be throttled if it went on.
    """
    sides, scenario = _sides(run), run.scenario if isinstance(run.scenario, Scenario) else None
    if scenario is not None and scenario.timeline:
        raise NotMeasured("varies")
    per_s = _trusted_traffic(run, side).busiest_units_per_s_of
    if all(traffic.units_per_s is None for traffic in sides.values()):
        raise NotMeasured("too_short")
    used = [
        per_s.get(resource, 0.0) / has
        for (resource, direction), has in most_admitted(run.manifest, scenario).items()
        if direction == side and (resource != TABLE) == index
    ]
    if not used:
        raise NotMeasured("no_maximum")
    return max(used)


def percentile_ms(run: RunMeasured, percentile: float) -> float:
    """Percentile of the service time of all accepted requests, milliseconds."""
    if isinstance(run.accepted, str):
        raise NotMeasured(run.accepted)
    return float(run.accepted.get_value_at_percentile(percentile)) / US_PER_MS


def first_throttle_s(run: RunMeasured) -> int:
    """Seconds from the first second with an attempt to the first with a throttle."""
    throttled = throttled_seconds(_sides(run))
    if not len(throttled):
        raise NotMeasured("no_throttles")
    return int(throttled[0])


def recovery_s(run: RunMeasured) -> float:
    """Seconds from the first throttle to the last one before ten throttle-free seconds of load."""
    first, throttled = first_throttle_s(run), throttled_seconds(_sides(run))
    attempts = sum(traffic.by_second["attempts"].to_numpy() for traffic in _sides(run).values())
    loaded = np.cumsum(attempts > 0)  # seconds with attempts so far
    nexts = np.append(throttled[1:], len(loaded))
    ended = throttled[loaded[nexts - 1] - loaded[throttled] >= QUIET_S]
    if not len(ended):
        raise NotMeasured("not_recovered")
    return float(ended[0] + 1 - first)


def _taken(measure: Callable[..., float], **of: Any) -> Callable[[RunMeasured], Measured]:
    def take(run: RunMeasured) -> Measured:
        try:
            return float(measure(run, **of))
        except NotMeasured as absence:
            return cast(Absence, absence.args[0])

    return take


TAKEN: Final[dict[str, Callable[[RunMeasured], Measured]]] = {
    **{f"units_per_operation.{side}": _taken(exact_units, side=side) for side in WRITES_FIRST},
    "write_amplification": _taken(write_amplification),
    "shards_needed": _taken(shards_needed),
    **{f"mean_units_per_operation.{side}": _taken(mean_units, side=side) for side in WRITES_FIRST},
    **{f"accepted_units_per_s.{side}": _taken(accepted_units_per_s, side=side) for side in WRITES_FIRST},
    "knee_units_per_s": _taken(knee_units_per_s),
    "throttle_share": _taken(throttle_share),
    **{f"capacity_used.{side}": _taken(capacity_used, side=side, index=False) for side in WRITES_FIRST},
    **{f"index_capacity_used.{side}": _taken(capacity_used, side=side, index=True) for side in WRITES_FIRST},
    "p50_ms": _taken(percentile_ms, percentile=50),
    "p99_ms": _taken(percentile_ms, percentile=99),
    "first_throttle_s": _taken(first_throttle_s),
    "recovery_s": _taken(recovery_s),
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
    return traffic if any(side.attempts for side in traffic.values()) else "not_sent"


def _accepted(path: Path, manifest: Manifest) -> "HdrHistogram | Absence":
    if manifest.simulated:
        return "not_simulated"
    from keyheat.runs.latencies import accepted_latencies  # hdrh and pyarrow: a simulation needs neither

    try:
        return accepted_latencies(path) or "none_accepted"
    except FileProblem:
        return "no_file"
