"""What a page says in its text about the files that its commands have written."""

import csv
import json
from collections.abc import Callable

from keyheat import runfiles
from keyheat.runs import parquet
from keyheat.runs.parquet import FRAMES
from keyheat.scenario.scenario import load_scenario
from tests.docs.page import PAGES, code_of
from tests.docs.reader import Reader


def check_csv(reader: Reader, page: str) -> None:
    """Every file is named, and its columns are those of the frame."""
    files = list((reader.folder / "reports" / "out" / "hotkey-csv").glob("*.csv"))
    assert files
    assert [path.name for path in files if f"`{path.name}`" not in page] == []
    columns = {column.name for column in FRAMES["seconds"]}
    with (reader.folder / "reports" / "out" / "hotkey-csv" / "seconds.csv").open(newline="") as file:
        assert set(next(csv.reader(file))) == columns


def check_fix(reader: Reader, _page: str) -> None:
    """The files of a proof are there, and the fixed scenario is one."""
    place = reader.folder / "reports" / "out" / "hot-fix"
    assert {path.name for path in place.iterdir()} == {
        "before-1", "after-1", "before-1.json", "after-1.json", "fixed.json", "fix.json", "fix.html",
    }  # fmt: skip
    fixed = load_scenario(place / "fixed.json")
    assert (fixed.name, fixed.keys.shards, fixed.loadtest) == ("hotkey", 4, "sharded")
    assert "before-1/report.html" in (place / "fix.html").read_text(encoding="utf-8")


def check_notebook(reader: Reader, page: str) -> None:
    """A question takes at most ten lines, and the numbers are those that the page says."""
    assert max(text.count("\n") for text in code_of("files.md", "python")) <= 10
    names = reader.names
    assert sum(names["figure"].data[0].y) == names["mine"]["refused_units"].sum() > 10_000
    assert f"`share` is {names['share']:.2f} in" in page
    assert round(names["used"].max(), 2) == 0.25


def check_pytest(reader: Reader, _page: str) -> None:
    """One test fails, its report is there, and nothing of what is behind the check is shown."""
    assert " 1 failed, " in reader.printed
    assert "keyheat/testing/checks.py" not in reader.printed
    (report,) = reader.folder.glob("reports/*/report.html")
    assert f"report: {report.relative_to(reader.folder)}" in reader.printed


def check_simulate(reader: Reader, page: str) -> None:
    """The number of throttles in the text is the one of the first command."""
    (first, *_) = sorted((reader.folder / "reports" / "out").glob("hotkey-*/run.json"))
    throttled = json.loads(first.read_bytes())["totals"]["throttled"]
    assert f"{throttled:,} throttles" in page
    check_timeline(reader, page)
    check_fix(reader, page)


def check_timeline(reader: Reader, page: str) -> None:
    """The story is the one that the simulator tells."""
    (run,) = (reader.folder / "reports" / "out").glob("auto-scaling-late-*")
    (event,) = runfiles.read_json(run / "run.json", runfiles.RUN)["timeline"]
    request = f"auto scaling asks for {event['to']:,} WCU/s: {event['because']} |"
    assert f"| {event['at_s']:,.0f} | {request}" in page
    assert f"| {event['in_force_s']:,.0f} | {event['to']:,} WCU/s are in force" in page
    rows = parquet.read_table(run / "seconds.parquet", runfiles.SECONDS).to_pylist()
    seconds = [row["second"] for row in rows if row["throttled"]]
    assert (seconds[-1] - seconds[0]).total_seconds() + 1 == 159, "2 min 39 s"
    for name, value in event.items():
        assert f'"{name}": {json.dumps(value)}' in page, name


CHECKS: dict[str, Callable[[Reader, str], None]] = {
    "files.md": check_notebook,
    "pytest.md": check_pytest,
    "report.md": check_csv,
    "simulate.md": check_simulate,
}


def check(page: str, reader: Reader) -> None:
    """Hold the text of a page against the files, where it says something of them."""
    if page in CHECKS:
        CHECKS[page](reader, PAGES[page].read_text(encoding="utf-8"))
