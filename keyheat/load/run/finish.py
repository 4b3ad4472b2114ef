"""What follows a load: its files, cleaning up, then collect, analyze and report; whose word the exit code is.

Collecting and analyzing, with the report, are child processes, each of which reads the run's files, because
importing Locust replaces sockets for the whole process.

After a run on an existing table, what it wrote is deleted again on request.
It is a stage of its own, after the metrics are collected, so that no minute of the run shows its requests.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from keyheat.load.record.record import Record, heat_of
from keyheat.load.record.rows import consumed_in, write_log
from keyheat.load.record.sketch import KeyHeat, hottest
from keyheat.load.run.launch import RunProgress
from keyheat.load.run.plan import LoadPlan
from keyheat.load.transport.boto import CALLS
from keyheat.runfiles import DIAGNOSIS, FILES, REPORT
from keyheat.runs.folder import TOP_KEYS, RunFiles, hot_keys
from keyheat.runs.manifest import Keys, KeyUse
from keyheat.scenario.keys import digest_of
from keyheat.shipped import ROOT
from keyheat.words import BROKEN, DONE, HURRIED, INTERRUPTED, INVALID, WRITES_FIRST, Direction


@dataclass(slots=True)
class Stages:
    """Runs the stages one after the other; `cancel`, from another greenlet, ends the one that is running."""

    folder: Path
    progress: RunProgress
    _child: "subprocess.Popen[bytes] | None" = None
    _cancelled: bool = False

    def run(self, verb: str, *arguments: str) -> int:
        """Run one `keyheat` verb and give its exit code; what it prints is shown."""
        if self._cancelled:
            return INTERRUPTED
        paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._child = subprocess.Popen(
            [sys.executable, "-m", "keyheat", verb, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr if self.progress.as_json else None,  # stdout carries progress
            env={**os.environ, "PYTHONPATH": paths, **({HURRIED: "1"} if CALLS.hurried else {})},
            start_new_session=True,  # Ctrl-C is ours: `cancel` ends it, without a traceback from its imports
        )
        code = self._child.wait()
        self._child = None
        return INTERRUPTED if self._cancelled or code < 0 else code

    def cancel(self) -> None:
        """End the stage that is running, and start no further one."""
        self._cancelled = True
        if self._child is not None:
            self._child.terminate()

    def collect(self, endpoint_url: str, *, show_keys: bool, closes_s: float | None) -> int:
        """Collect the metrics of the run; returns the exit code.

        `endpoint_url` is the endpoint under load, whatever the run's file says. `closes_s`: how long its
        CloudWatch's minute goes on; None if that is not awaited.
        """
        if CALLS.is_silent(endpoint_url):
            self.progress.say(
                f"metrics are not collected, since {endpoint_url} does not answer. Collect them later: "
                f"keyheat collect --run {self.folder}"
            )
            return DONE
        remaining = {} if closes_s is None else {"left_s": closes_s}
        words = "keyheat: collecting what CloudWatch says of the run's minutes"
        self.progress.phase("collecting", words, **remaining)
        keys = ["--show-keys"] if show_keys else []
        return self.run("collect", "--endpoint-url", endpoint_url, *keys, "--run", str(self.folder))

    def analyze(self) -> int:
        report = self.folder / REPORT
        self.progress.phase("analyzing", "keyheat: analyzing, and writing the report")
        code = self.run("analyze", "--report", str(self.folder))
        if report.exists() and code != INTERRUPTED:
            self.progress.phase("done", f"keyheat: the report is {report}", report=str(report))
        if code == BROKEN and not (self.folder / FILES[DIAGNOSIS]).exists():
            return INVALID  # the analyzer itself broke, not a threshold
        return code

    def clean_up(self, plan: LoadPlan) -> None:
        """Have `keyheat clean` delete the items of the run; where it does not end, say how to go on."""
        table = plan.scenario.table.name
        if not plan.marked:
            self.progress.say(
                f"--clean-up: items on table {table} carry no mark, since it is one of our own: it is "
                "deleted or kept as a whole"
            )
            return
        self.progress.phase("cleaning", f"keyheat: deleting the items of this run from table {table}")
        where = () if plan.target is None else ("--endpoint-url", plan.target.url)
        if self.run("clean", "--yes", *where, str(self.folder)) != DONE:
            self.progress.say(
                f"items of this run are still on table {table}. To go on: keyheat clean {self.folder}"
            )


COUNTED_SHARE: Final = 0.9
"""Of an index's units, from which the keys that are known of it stand for all: updates name none."""


def run_files(record: Record, *, start_s: float, end_s: float) -> RunFiles:
    """The content of every file of a load that is over, but for its manifest."""
    return RunFiles(
        seconds=record.seconds.table(),
        throttles=record.throttles.table(),
        keys=keys_of(record),
        write_latencies=lambda file: write_log(file, record.latencies, start_s=start_s, end_s=end_s),
    )


def keys_of(record: Record) -> Keys:
    """The hottest keys of the run and of each window: the table's, and each index's where they are known."""
    indexes: dict[str, list[Keys]] = {}
    show = record.heat["write"].show_keys if record.meetings else False
    consumed = consumed_in(record.seconds.totals())
    of_indexes = [(at.index, at.direction, units) for at, units in consumed.items() if at.index is not None]
    for index, side, units in sorted(of_indexes):
        heat = record.heat.get(heat_of(side, index))
        if heat is not None and heat.sketch.consumed.total >= COUNTED_SHARE * units > 0:
            indexes.setdefault(index, []).append(_hot(side, heat))
    return Keys.joined(
        [_hot(direction, record.heat[direction]) for direction in WRITES_FIRST],
        indexes={index: Keys.joined(sides) for index, sides in indexes.items()},
        contended={
            how: tuple(  # the keys on which writers met most often, most first
                KeyUse(
                    key=digest_of(name) if show else name,
                    shown=name if show else None,
                    count=sketch.weight(name),
                )
                for name in sketch.top(TOP_KEYS)
            )
            for how, sketch in sorted(record.meetings.items())
        },
    )


def _hot(direction: Direction, heat: KeyHeat) -> Keys:
    return hot_keys(
        direction,
        total_units=heat.sketch.units.total,
        overall=heat.sketch.top(TOP_KEYS),
        by_throttles=heat.sketch.top(TOP_KEYS, by="throttles"),
        windows={start: hottest(keys, TOP_KEYS) for start, keys in heat.windows.items()},
        window_s=heat.window_s,
        digest=digest_of if heat.show_keys else str,
        show=heat.show_keys,
    )
