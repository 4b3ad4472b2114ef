"""A long run with faults: is any memory leaked, is any user stuck, is every request accounted for?

python -m benchmarks.soak [--minutes 20] [--per-s 3000] [--seed 1] [--json FILE]

An endpoint with rules of faults (which requests they strike is drawn from the seed), and an open loop, each a
process of its own. Keys are few, and are overwritten, so that what the endpoint stores is bounded; its limits
are so high that nothing throttles, since each throttled attempt is a row that the load keeps. Memory is
compared as medians of whole minutes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from typing import Any

import psutil

from benchmarks._table import Row, show
from keyheat import runfiles
from keyheat.endpoint.process import EndpointProcess
from keyheat.testing.local import LocalDynamoDB
from tests.faults.rules import FAULTS, differences, rules

ROOT = Path(__file__).parents[1]
WARM_UP_MINUTES = 3
FLAT_PERCENT = 10.0
SENT_SHARE = 0.95  # of what is asked for; with less, it was the machine that was tested
MINUTE_S = 60
USERS = 500
SCALE = 100.0
PEACE_S = 15.0  # at the end, so that whatever hangs has time to come back
SHARE, FEW = 0.01, 0.0001  # of all writes, for each fault; and for those that hold a user
SCENARIO = """
format = "keyheat.scenario/1"
name = "soak"
question = "Does a long run with faults leak, hang or lose anything?"
loadtest = "hotkey"
[table]
name = "soak-table"
provisioned = {{ read = 1_000, write = 10_000 }}
[keys]
kind = "uniform"
keys = 10_000
[load]
arrivals = "constant"
users = {users}
requests_per_s = {per_s}
duration_s = {duration_s}
item_bytes = 1_000
"""


@dataclass(slots=True)
class Watched:
    """One process, looked at once a second: resident memory in MB, and its CPU time at the end."""

    name: str
    process: psutil.Process
    rss_mb: list[float] = field(default_factory=list)
    cpu_s: float = 0.0
    began_s: float = field(default_factory=monotonic)

    def look(self) -> None:
        """Note what there is now."""
        try:
            self.rss_mb.append(self.process.memory_info().rss / 1e6)
            self.cpu_s = sum(self.process.cpu_times()[:2])
        except psutil.Error:
            return

    def minutes_mb(self, until_s: int) -> list[float]:
        """The median of each whole minute of the load."""
        whole = range(0, min(until_s, len(self.rss_mb)) // MINUTE_S * MINUTE_S, MINUTE_S)
        return [median(self.rss_mb[start : start + MINUTE_S]) for start in whole]


def rows_of(watched: Watched, until_s: int) -> list[Row]:
    """Its memory in the first minute after the warm-up beside that in the last whole one; its CPU."""
    minutes = watched.minutes_mb(until_s)
    share = watched.cpu_s / (monotonic() - watched.began_s) * 100
    cpu = Row(what=f"{watched.name}: CPU", measured=share, unit="% of a core")
    if len(minutes) < 2:
        return [Row(what=f"{watched.name}: memory", measured=max(watched.rss_mb), unit="MB at most"), cpu]
    first = min(WARM_UP_MINUTES, len(minutes) - 2)
    grown = (minutes[-1] / minutes[first] - 1) * 100
    note = f"minute {first + 1}: {minutes[first]:.1f} MB, minute {len(minutes)}: {minutes[-1]:.1f} MB"
    what = f"{watched.name}: memory grew by"
    return [Row(what=what, measured=grown, unit="%", at_most=FLAT_PERCENT, note=note), cpu]


def load_of(url: str, scenario: Path, folder: Path) -> "subprocess.Popen[bytes]":
    """The load, as somebody starts it."""
    command = ["locust", "-f", "loadtests/hotkey.py", "--headless", "--only-summary", "--no-report"]
    more = ["--host", url, "--scenario", str(scenario), "--out", str(folder)]
    return subprocess.Popen([sys.executable, "-m", *command, *more], cwd=ROOT, stdout=subprocess.DEVNULL)


def soak(minutes: float, per_s: float, seed: int) -> tuple[list[Row], dict[str, Any]]:
    """Run it; gives the verdict, and all that was seen."""
    duration_s = minutes * MINUTE_S
    with (
        tempfile.TemporaryDirectory() as name,
        EndpointProcess.start(scale=SCALE) as endpoint,
    ):
        folder = Path(name)
        path = folder / "soak.toml"
        path.write_text(SCENARIO.format(users=USERS, per_s=per_s, duration_s=duration_s))
        local, until = LocalDynamoDB(endpoint.url), {"to_s": duration_s - PEACE_S}
        faults = local.faults(*rules({"share": FEW, **until}, share=SHARE, **until), seed=seed)
        load = load_of(endpoint.url, path, folder / "run")
        watched = [
            Watched("load", psutil.Process(load.pid)),
            Watched("endpoint", psutil.Process(endpoint.pid)),
        ]
        watch(load, watched)
        run = runfiles.read_json(folder / "run" / "run.json", runfiles.RUN)
        sums, counted = differences(run["totals"], local, faults), faults.counts()
    rows = [
        Row(what="exit code of the load", measured=load.returncode, unit="", at_most=0),
        *[row for one in watched for row in rows_of(one, int(duration_s))],
        *rows_of_requests(run, sums),
    ]
    seen = {
        "options": {"minutes": minutes, "per_s": per_s, "seed": seed},
        "faults": counted,
        "totals": run["totals"],
        "counted": run["counted"],
        "generator": run["generator"],
        "differences": sums,
        "rss_mb_by_minute": {one.name: one.minutes_mb(int(duration_s)) for one in watched},
    }
    return rows, seen


def watch(load: "subprocess.Popen[bytes]", watched: Sequence[Watched]) -> None:
    """Look once a second until the load has ended."""
    next_s = monotonic()
    while load.poll() is None:
        for one in watched:
            one.look()
        next_s += 1.0
        sleep(max(0.0, next_s - monotonic()))


def rows_of_requests(run: dict[str, Any], sums: dict[str, int]) -> list[Row]:
    """What was sent, what failed of it, and whether all sums agree."""
    totals, health = run["totals"], run["generator"]
    stuck = sum("not come back" in check for check in health["checks"])
    unfinished = totals["errors_by_kind"].get("still_in_flight_at_stop", 0)
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(totals["errors_by_kind"].items()))
    wrong = {what: number for what, number in sums.items() if number}
    return [
        Row(what="users that got stuck", measured=stuck + unfinished, unit="", at_most=0),
        Row(what="sent", measured=health["achieved_per_s"], unit="requests/s",
            at_least=SENT_SHARE * health["asked_per_s"],
            note=f"of {health['asked_per_s']:,.0f} asked for; {totals['attempts']:,} in all"),
        Row(what="of which failed", measured=totals["errors"], unit="requests", note=kinds),
        Row(what="sums that do not agree, to the request", measured=len(wrong), unit=f"of {len(sums)}",
            at_most=0, note=str(wrong) if wrong else "client and endpoint counted the same"),
    ]  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    """Run and print the verdict; 0 where every bound is kept."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=20.0, help="(%(default)s)")
    parser.add_argument("--per-s", type=float, default=3_000.0, help="requests per second (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the faults (%(default)s)")
    parser.add_argument("--json", type=Path, help="where to write the verdict with all that was seen")
    options = parser.parse_args(arguments)
    rows, seen = soak(options.minutes, options.per_s, options.seed)
    if options.json is not None:
        verdict = [{**asdict(row), "kept": row.kept} for row in rows]
        options.json.write_text(json.dumps({"verdict": verdict, **seen}, indent=1) + "\n")
    title = f"{options.minutes:g} minutes at {options.per_s:,.0f}/s with {len(FAULTS)} kinds of faults"
    return 0 if show(title, rows) else 1


if __name__ == "__main__":
    sys.exit(main())
