"""Many short runs on the local endpoint, one after the other: the noise of this machine, to be drawn from.

A folder for each run, NUMBER-KIND-CASE: two runs of a kind and then one that lost a tenth, again and again,
so that whatever the machine does meanwhile happens to both kinds.
"""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks._child import scenario_of
from keyheat.analysis.summary import RunSummary, read_summary
from keyheat.runfiles import FileProblem, write_atomically
from keyheat.scenario.scenario import scenario_from_dict
from keyheat.scenario.variants import write_scenario

SAME, LESS = "same", "less"
FIRST_SEED: Final = 1_000
EVEN: Final = {"kind": "uniform", "keys": 10_000}


def _scenario(name: str, table: Mapping[str, Any], keys: Mapping[str, Any], per_s: float) -> dict[str, Any]:
    load = {"users": 20, "requests_per_s": per_s, "duration_s": 6, "item_bytes": 1_000}
    return scenario_of(name, {"name": f"keyheat-{name}", **table}, keys, load)


def _hot(share: float) -> dict[str, Any]:
    keys = {"kind": "hot_key", "share": share, "keys": 1_000}
    return _scenario("hotkey", {"provisioned": {"read": 500, "write": 4_000}}, keys, 1_500)


def _limited(write: float) -> dict[str, Any]:
    most = {"read": 1_000, "write": write}
    return _scenario("limited", {"billing_mode": "PAY_PER_REQUEST", "max_on_demand": most}, EVEN, 1_300)


MADE: Final = {
    (SAME, "limited"): _limited(1_000),  # its own maximum is the limit, without a burst
    (SAME, "hotkey"): _hot(0.9),  # its hot key's partition is the limit
    (LESS, "limited"): _limited(900),
    (LESS, "hotkey"): _hot(0.993),
}
ROUND: Final = ((SAME, "limited"), (SAME, "hotkey")) * 2 + ((LESS, "limited"), (LESS, "hotkey"))

KEPT: Final = {"scenario", "started_at", "duration_s", "seed", "valid", "throttled", "measures", "absent"}
NOT_KEPT: Final = {
    "status": "finished", "setup": {"target": "local"},
    "constraint": "none", "grade": "none", "confidence": 1,
}  # fmt: skip

Pool = Mapping[tuple[str, str], Sequence[RunSummary]]
"""The valid runs by kind and case, in the order in which they were made."""


def collect(folder: Path, count: int) -> None:
    """Make so many runs; those that are there already stay."""
    for number, (kind, case) in islice(enumerate(cycle(ROUND), 1), count):
        run = folder / f"{number:04}-{kind}-{case}"
        if run.exists():
            continue
        raw = MADE[kind, case] | {"seed": FIRST_SEED + number}
        path = folder / f"{kind}-{case}.json"
        write_scenario(path, scenario_from_dict(raw, str(path)))
        command = (sys.executable, "-m", "keyheat", "run", str(path), "--no-collect", "--out", str(run))
        print(f"{number} of {count}: {run.name}", flush=True)
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def pool(path: Path) -> tuple[Pool, int]:
    """The valid runs of a folder, or of the file that `keep` wrote; and how many were not valid."""
    named = of_folder(path) if path.is_dir() else of_file(path)
    runs: dict[tuple[str, str], list[RunSummary]] = {kind: [] for kind in MADE}
    for name, run in named:
        _, kind, case = name.split("-")
        if run.valid:
            runs[kind, case].append(run)
    return runs, len(named) - sum(len(of_kind) for of_kind in runs.values())


def keep(folder: Path, path: Path) -> None:
    """The numbers of a folder's runs, a line each, without what names a machine or a run."""
    lines = [
        orjson.dumps([name, run.model_dump(mode="json", include=KEPT)]) for name, run in of_folder(folder)
    ]
    write_atomically(path, lambda file: file.write(b"\n".join(lines) + b"\n"))


def of_folder(folder: Path) -> list[tuple[str, RunSummary]]:
    """The runs of a folder by name, as far as they came to a summary."""
    found = []
    for run in sorted(path for path in folder.iterdir() if path.is_dir()):
        with suppress(FileProblem):
            found.append((run.name, read_summary(run)))
    return found


def of_file(path: Path) -> list[tuple[str, RunSummary]]:
    """The runs that `keep` wrote."""
    return [
        (name, RunSummary.model_validate({"run_id": name, **NOT_KEPT, **numbers}))
        for name, numbers in map(orjson.loads, path.read_bytes().splitlines())
    ]
