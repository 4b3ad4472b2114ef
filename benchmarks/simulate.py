"""An hour of load on a virtual clock: seconds of processor and memory, by hours and by partitions.

python -m benchmarks.simulate
"""

import json
import resource
import sys
from time import perf_counter, process_time
from typing import Any

from benchmarks._child import measured_by, scenario_of
from benchmarks._table import Row, show
from keyheat.scenario.scenario import scenario_from_dict
from keyheat.simulator.folder import seconds_table
from keyheat.simulator.simulate import simulate

HOUR_S = 3_600
WRITES_PER_S, KEYS, PARTITIONS = 50_000, 1_000_000, 100
UNITS_PER_PARTITION = 1_000
MOST_S, MOST_MB = 20, 1_000
COUNT = 7  # column of the client's throttle rows
LINEAR = 1.15  # how much more than twice as much may twice the work cost
EVEN: dict[str, Any] = {"kind": "uniform", "keys": KEYS}
ZIPF: dict[str, Any] = {"kind": "zipf", "exponent": 1.0, "keys": KEYS}
MIXED: dict[str, Any] = {"kind": "lognormal", "median": 900, "sigma": 0.8}


def child() -> None:
    """Simulate one scenario, and print what it took and what it did."""
    raw = json.loads(sys.argv[2])
    began_s, began_cpu_s = perf_counter(), process_time()
    simulation = simulate(scenario_from_dict(raw, raw["name"]))
    took_s, took_cpu_s = perf_counter() - began_s, process_time() - began_cpu_s
    (throttled,) = (
        sum(row["throttled"] for row in seconds_table(simulation).to_pylist() if row["index"] is None),
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1_024)
    done = {
        "wall_s": took_s,
        "cpu_s": took_cpu_s,
        "peak_mb": peak / 1e6,
        "partitions": simulation.model.partition_count(),
        "throttled": throttled,
    }
    print(json.dumps(done))


def measure(
    keys: dict[str, Any], *, partitions: int = PARTITIONS, hours: float = 1, item_bytes: Any = 1_000
) -> dict[str, float]:
    """What one scenario takes, in a process of its own on one core: numpy is told not to use more."""
    table = {"sort_key": None, "provisioned": {"read": 1, "write": partitions * UNITS_PER_PARTITION - 1}}
    load = {
        "requests_per_s": WRITES_PER_S,
        "duration_s": hours * HOUR_S,
        "item_bytes": item_bytes,
        "arrivals": "poisson",
    }
    return measured_by("simulate", "child", json.dumps(scenario_of("hour", table, keys, load)))


def rows() -> list[Row]:
    """One hour in three loads, then twice the hours and two and four times the partitions."""
    found: list[Row] = []
    hour = {}
    for what, keys, item_bytes in (
        ("even keys", EVEN, 1_000), ("zipf, throttled", ZIPF, 1_000), ("zipf, many sizes", ZIPF, MIXED),
    ):  # fmt: skip
        took = hour[what] = measure(keys, item_bytes=item_bytes)
        note = f"{took['throttled']:,.0f} throttled; {took['partitions']:.0f} partitions in the end"
        found += [
            Row(what=f"1 h, {what}", measured=took["cpu_s"], unit="s of one core", at_most=MOST_S,
                note=f"{took['wall_s']:.1f} s by the clock; {note}"),
            Row(what=f"1 h, {what}: memory", measured=took["peak_mb"], unit="MB", at_most=MOST_MB),
        ]  # fmt: skip
    base_s = hour["zipf, throttled"]["cpu_s"]
    twice = measure(ZIPF, hours=2)
    found.append(
        Row(what="2 h over 1 h", measured=twice["cpu_s"] / base_s, unit="times", at_most=2 * LINEAR,
            note=f"{twice['cpu_s']:.1f} s, {twice['peak_mb']:.0f} MB")
    )  # fmt: skip
    for factor in (2, 4):
        more = measure(ZIPF, partitions=factor * PARTITIONS)
        found.append(
            Row(what=f"{factor * PARTITIONS} partitions over {PARTITIONS}", measured=more["cpu_s"] / base_s,
                unit="times", at_most=factor * LINEAR, note=f"{more['cpu_s']:.1f} s")
        )  # fmt: skip
    return found


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    title = f"Simulator: {WRITES_PER_S:,} writes/s over {KEYS:,} keys and {PARTITIONS} partitions"
    return 0 if show(title, rows()) else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child()
    else:
        sys.exit(main())
