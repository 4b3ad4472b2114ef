"""The commands of docs/report-in-detail.md do what the page says."""

import csv
import re
from pathlib import Path

import pytest

from keyheat.analysis.report.bins import MOST_POINTS
from keyheat.model.partition_log import MOST_CELLS
from keyheat.runs.partitions import MOST_ROWS

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "report-in-detail.md").read_text(encoding="utf-8")
COMMANDS = [
    "keyheat simulate hotkey --out reports/out/hotkey",
    "keyheat report reports/out/hotkey --csv reports/out/hotkey-csv",
]
FILES = re.compile(r"`([a-z][a-z-]*?)-?(?:RESOURCE|DIRECTION|\.\.\.|`)")


@pytest.mark.slow
def test_its_commands(verb, tmp_path, monkeypatch):
    assert re.findall(r"^```sh\n(.*?)\n^```$", PAGE, re.DOTALL | re.MULTILINE) == ["\n".join(COMMANDS)]
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        assert verb(*command.split()[1:]).code == 0, command
    out = tmp_path / "reports" / "out"
    written = {path.stem for path in (out / "hotkey-csv").glob("*.csv")}
    table = PAGE[PAGE.index("| file | a row is") : PAGE.index("Columns that were nothing")]
    told = tuple(name for row in table.splitlines() if row for name in FILES.findall(row.split("|")[1]))
    assert [name for name in written if not name.startswith(told)] == []
    with (out / "hotkey-csv" / "generator.csv").open(newline="") as file:
        assert all(f"`{name}`" in PAGE for name in next(csv.reader(file)))


def test_its_numbers():
    assert MOST_POINTS == 1_800
    assert "longer than half an hour" in PAGE
    files = (DOCS / "files.md").read_text(encoding="utf-8")
    assert f"at most {MOST_CELLS:,} rows of a resource, the file has at most {MOST_ROWS:,}" in files
