"""The index of many runs: how long it takes to make, how large it is, and how soon a browser has it.

python -m benchmarks.runs_index
"""

import os
import shutil
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter
from typing import Any, Final

import orjson

from benchmarks._table import Row, show
from keyheat.pages.runs.found import RunSearch
from keyheat.pages.runs.index import NAME, Runs, write_runs
from keyheat.pages.runs.rows import rows_of
from keyheat.runfiles import DIAGNOSIS, FILES, RUN, SUMMARY

RUNS: Final = 2_000
SCENARIOS: Final = 14
TIMES: Final = 5
FIRST: Final = datetime(2026, 1, 1, tzinfo=UTC)
CHROMIUM: Final = os.environ.get("KEYHEAT_CHROMIUM") or shutil.which("chromium")
ARGUMENTS: Final = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
USABLE: Final = "() => performance.getEntriesByName('usable')[0].startTime"
PAINTED: Final = "() => performance.getEntriesByType('paint')[0].startTime"


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        times = {}
        for many in (RUNS // 4, RUNS):
            place = Path(folder) / str(many)
            make_up(place, many)
            times[many] = _made(place)
        read_s, again_s, write_s = times[RUNS]
        page = Path(folder) / str(RUNS) / NAME
        rows += [
            Row(what="runs in the index", measured=RUNS, unit="runs"),
            Row(what="read from their directories", measured=read_s, unit="s", at_most=5),
            Row(what="looked at again by a server", measured=again_s, unit="s", at_most=0.5),
            Row(what="trends, change points and page", measured=write_s, unit="s", at_most=5),
            Row(
                what="all of it, against a quarter of the runs",
                measured=(read_s + write_s) / sum(times[RUNS // 4][::2]),
                unit="times",
                at_most=6,
            ),
            Row(what="the page", measured=page.stat().st_size / 1e6, unit="MB", at_most=1),
            *(_opened(page) if CHROMIUM else ()),
        ]
    return 0 if show("An index of 2,000 runs", rows) else 1


def _made(folder: Path) -> tuple[float, float, float]:
    """Seconds to read, to look again, and to write."""
    search = RunSearch()
    begin = perf_counter()
    found, problems = search.look([folder], 0.0)
    read = perf_counter()
    search.look([folder], 0.0)
    again = perf_counter()
    runs = Runs(rows=rows_of(found), problems=tuple(problems), folders=(folder,))
    write_runs(folder / NAME, runs, FIRST)
    return read - begin, again - read, perf_counter() - again


def _opened(page: Path) -> list[Row]:
    """Medians of several openings, each in a browser that has seen nothing."""
    from playwright.sync_api import sync_playwright

    usable, painted = [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for _ in range(TIMES):
            tab = browser.new_context().new_page()
            tab.goto(page.as_uri())
            tab.wait_for_function("() => performance.getEntriesByType('paint').length > 0")
            usable.append(float(tab.evaluate(USABLE)))
            painted.append(float(tab.evaluate(PAINTED)))
            tab.context.close()
        browser.close()
    said = f"median of {TIMES}, headless Chromium"
    return [
        Row(what=f"opened: table usable ({said})", measured=median(usable) / 1e3, unit="s", at_most=1),
        Row(what=f"opened: first paint ({said})", measured=median(painted) / 1e3, unit="s", at_most=1),
    ]


def make_up(folder: Path, many: int) -> None:
    """Run directories with a manifest, a diagnosis that nobody reads, and a summary."""
    rng = Random(1)
    for number in range(many):
        run = folder / f"{number % 12:02d}" / f"run-{number}"
        run.mkdir(parents=True)
        summary = _summary(number, rng)
        started = summary["started_at"]
        manifest = {
            "started_at": started,
            "ended_at": started,
            "table": {"name": f"table-{number % SCENARIOS}"},
        }
        (run / FILES[RUN]).write_bytes(orjson.dumps({"format": RUN, **manifest}))
        (run / FILES[DIAGNOSIS]).write_bytes(b"{}")
        (run / FILES[SUMMARY]).write_bytes(orjson.dumps({"format": SUMMARY, **summary}))


def _summary(number: int, rng: Random) -> dict[str, Any]:
    name = f"scenario-{number % SCENARIOS}"
    share = max(0.0, rng.gauss(0.3, 0.02))
    level = 0.9 if number > RUNS * 0.98 and not number % SCENARIOS else 1.0  # one became worse
    return {
        "run_id": f"{number:012x}",
        "scenario": name,
        "question": f"Does {name} throttle under this load?",
        "started_at": (FIRST + timedelta(hours=number)).isoformat(),
        "duration_s": 300.0,
        "status": "finished",
        "setup": {"target": "local", "machine": "a" * 16, "machine_says": "2 cores, 8 GiB", "scenario": name},
        "valid": True,
        "constraint": "partition",
        "resource": "table",
        "direction": "write",
        "grade": "reason",
        "confidence": 0.98,
        "labels": ["table write partition"],
        "attempts": 400_000,
        "throttled": round(400_000 * share),
        "measures": {
            "units_per_operation.write": 1.0,
            "accepted_units_per_s.write": rng.gauss(1_000, 20) * level,
            "throttle_share": share,
            "p50_ms": rng.gauss(3, 0.3),
            "p99_ms": rng.gauss(9, 1),
            "first_throttle_s": rng.uniform(1, 200),
        },
    }


if __name__ == "__main__":
    sys.exit(main())
