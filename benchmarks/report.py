"""Collect, analyze and report of an hour with a million throttles, each stage as a whole process.

python -m benchmarks.report
"""

import sys
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks._child import spent_by
from benchmarks._table import Row, show
from tools.samples import make_run

HOUR_S = 3_600
THROTTLES = 1_000_000
COLLECT = (  # the client's part: the rows to counts per second
    "import sys; from pathlib import Path; from keyheat.runs.client import read_records;"
    "assert read_records(Path(sys.argv[1])).throttles"
)
ANALYZE = (
    "import sys; from pathlib import Path; from keyheat.analysis.diagnosis import analyze_run;"
    "from keyheat.runs.formats import write_diagnosis; run = Path(sys.argv[1]);"
    "write_diagnosis(run / 'diagnosis.json', analyze_run(run))"
)
FRAMES = (
    "import sys; import keyheat; run = keyheat.load_run(sys.argv[1]);"
    "assert run.throttles.groupby('key')['count'].sum().max() and len(run.seconds)"
)
REPORT = (
    "import sys; from datetime import UTC, datetime; from pathlib import Path;"
    "from keyheat.show.report import write_report;"
    "write_report(Path(sys.argv[1]), datetime.now(UTC))"
)


BY_HAND = (  # what a person types, of minutes alone: consumed, provisioned, throttle events
    "import os, sys; os.dup2(os.open(os.devnull, os.O_WRONLY), 1);"
    "sys.argv = ['keyheat', 'analyze', '--evidence', sys.argv[1]];"
    "from keyheat.cli.main import main; sys.exit(main())"
)
MINUTES = Path("tests") / "analysis" / "examples" / "minutes-below-provisioned.json"
TIMES = 5


def _one_by_one(path: Path) -> int:
    """Write a row for each throttled attempt, as a load does; a simulation counts those that are alike."""
    rows = pq.read_table(path)
    counts = rows["count"].to_numpy()
    each = rows.take(np.repeat(np.arange(len(counts)), counts))
    ones = pa.array(np.ones(len(each), np.int64))
    pq.write_table(
        each.set_column(each.schema.get_field_index("count"), each.schema.field("count"), ones), path
    )
    return len(each)


def main() -> int:
    """Measure and print; 0 where every bound is kept."""
    busy = ("load.requests_per_s=1_425", "load.item_bytes=1_000")
    with tempfile.TemporaryDirectory() as folder:
        run_dir = make_run("hotkey", Path(folder) / "run", seconds=HOUR_S, settings=busy)
        throttles = _one_by_one(run_dir / "throttles.parquet")
        collect_s, _, collect_mb = spent_by(COLLECT, str(run_dir))
        analyze_s, _, analyze_mb = spent_by(ANALYZE, str(run_dir))
        report_s, _, report_mb = spent_by(REPORT, str(run_dir))
        frames_s, _, frames_mb = spent_by(FRAMES, str(run_dir))
        most_mb = max(collect_mb, analyze_mb, report_mb, frames_mb)
        by_hand_s = median(spent_by(BY_HAND, str(MINUTES))[0] for _ in range(TIMES))
        size_mb = (run_dir / "report.html").stat().st_size / 1e6
    rows = [
        Row(what="throttled attempts in the run", measured=throttles, unit="rows", at_least=THROTTLES),
        Row(what="collect, analyze, report together", measured=collect_s + analyze_s + report_s, unit="s",
            at_most=10),
        Row(what="  of which the client's records", measured=collect_s, unit="s"),
        Row(what="  of which analyze", measured=analyze_s, unit="s"),
        Row(what="  of which report", measured=report_s, unit="s"),
        Row(what="the same as frames in a notebook", measured=frames_s, unit="s"),
        Row(what="analyze --evidence, minutes alone, median of 5", measured=by_hand_s, unit="s",
            at_most=1),
        Row(what="highest memory of any", measured=most_mb, unit="MB", at_most=1_000),
        Row(what="report.html", measured=size_mb, unit="MB", at_most=1.6),
    ]  # fmt: skip
    return 0 if show("An hour with a million throttles", rows) else 1


if __name__ == "__main__":
    sys.exit(main())
