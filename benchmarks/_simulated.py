"""Runs of a suite on the simulator whose arrivals, sizes and keys are drawn: noise without a machine."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from benchmarks._child import scenario_of
from keyheat.analysis.measurement import TAKEN, RunMeasured
from keyheat.analysis.measures import MEASURES
from keyheat.analysis.run_result import traffic_of
from keyheat.analysis.summary import RunSummary, Setup
from keyheat.runfiles import SIMULATED
from keyheat.runs.frames import of_rows
from keyheat.runs.manifest import Manifest
from keyheat.runs.table_facts import TableFacts
from keyheat.scenario.scenario import scenario_from_dict
from keyheat.simulator.folder import seconds_table
from keyheat.simulator.simulate import simulate

SIZES: Final = {"kind": "lognormal", "median": 900, "sigma": 0.8}
Raws = Mapping[str, Mapping[str, Any]]
AT: Final = datetime(2026, 12, 1, tzinfo=UTC)


def _scenario(
    name: str, write: float, keys: Mapping[str, Any], per_s: float, seconds: float
) -> dict[str, Any]:
    load = {"requests_per_s": per_s, "duration_s": seconds, "item_bytes": SIZES, "arrivals": "poisson"}
    return scenario_of(name, {"provisioned": {"read": 100, "write": write}}, keys, load)


def _hot(share: float) -> dict[str, Any]:
    return {"kind": "hot_key", "share": share, "keys": 1_000}


HOTTER: Final = 0.96  # of the same demand a tenth less is accepted
EVEN: Final = {"kind": "uniform", "keys": 10_000}
SAME: Final[Raws] = {
    "hotkey": _scenario("hotkey", 4_000, _hot(0.9), 1_500, 30),  # held back by its hot key's partition
    "spent": _scenario("spent", 40, EVEN, 800, 60),  # spends its burst, then its capacity
    "tiny": _scenario("tiny", 20, EVEN, 900, 30),  # so small that capacity comes in chunks
}
LESS: Final[Raws] = {
    "hotkey": _scenario("hotkey", 4_000, _hot(HOTTER), 1_500, 30),
    "spent": _scenario("spent", 36, EVEN, 800, 60),
    "tiny": _scenario("tiny", 18, EVEN, 900, 30),
}
TAKEN_HERE: Final = {name: take for name, take in TAKEN.items() if MEASURES[name].kind == "statistical"}


def summary(raw: Mapping[str, Any], seed: int) -> RunSummary:
    """The statistical measures of one simulated run, taken as those of any run are."""
    simulation = simulate(scenario_from_dict(dict(raw), raw["name"]), seed=seed)
    started_at, ended_at = (
        datetime.fromtimestamp(at, UTC) for at in (simulation.started_s, simulation.ended_s)
    )
    table = TableFacts(name=raw["name"])
    manifest = Manifest(target=SIMULATED, started_at=started_at, ended_at=ended_at, table=table)
    run = RunMeasured(
        manifest=manifest,
        scenario="not_simulated",
        traffic=traffic_of(manifest, of_rows("seconds", seconds_table(simulation))),
        accepted="not_simulated",
    )
    taken = {name: take(run) for name, take in TAKEN_HERE.items()}
    return RunSummary(
        run_id=f"{raw['name']}-{seed}",
        scenario=raw["name"],
        started_at=AT,
        duration_s=raw["load"]["duration_s"],
        seed=seed,
        status="finished",
        setup=Setup(target=SIMULATED),
        valid=True,
        constraint="none",  # not looked at here
        grade="none",
        confidence=1.0,
        measures={name: value for name, value in taken.items() if not isinstance(value, str)},
        absent={name: value for name, value in taken.items() if isinstance(value, str)},
    )
