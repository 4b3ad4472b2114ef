"""A history for Apache Otava: what was measured session by session, and the configuration that reads it.

    otava.yaml                   a test for each case and measure, and a group with the suite's name for all
    nightly.hotkey.p99_ms.csv    a row for each session that has the measure: its median over the runs

`otava analyze nightly --config-file otava.yaml`, in the folder that holds them, names the sessions from which
on a measure was another. Otava reads no file with gaps, so each measure has its own. The configuration is
written as JSON, which is YAML. Format: Otava 0.8, https://otava.apache.org/docs/csv
"""

import csv
import re
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any, Final

import orjson

from keyheat.analysis.measures.catalogue import MEASURES, Better
from keyheat.regression.history.records import Point
from keyheat.runfiles import write_atomically

CONFIG: Final = "otava.yaml"
DIRECTIONS: Final[Mapping[Better, int]] = {"higher": 1, "lower": -1, "same": 0}
COLUMNS: Final = ("time", "session", "label")

Series = Mapping[tuple[str, str], Sequence[Point]]
"""Points by case and measure, the oldest first."""


def write_otava(folder: Path, suite: str, series: Series) -> tuple[Path, ...]:
    """Write a suite's series for Otava, and give the files, the configuration first.

    A series without points is left out. Raises `CannotWrite`, KeyError for a measure that there is not, and
    ValueError where two names come to the same file.
    """
    tests: dict[str, Any] = {}
    written = []
    for (case, measure), points in series.items():
        if not points:
            continue
        name = ".".join(map(_plain, (suite, case, measure)))
        if name in tests:
            raise ValueError(f"two cases come to the same file, {name}.csv: rename one of them")
        tests[name] = _test(name, measure)
        written.append(_write(folder / f"{name}.csv", _rows(measure, points)))
    config = {"tests": tests, "test_groups": {_plain(suite): list(tests)}}
    body = orjson.dumps(config, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    return (_write(folder / CONFIG, body), *written)


def _test(name: str, measure: str) -> dict[str, Any]:
    return {
        "type": "csv",
        "file": f"{name}.csv",
        "time_column": "time",
        "attributes": list(COLUMNS[1:]),
        "metrics": {measure: {"column": measure, "direction": DIRECTIONS[MEASURES[measure].better]}},
    }


def _rows(measure: str, points: Sequence[Point]) -> bytes:
    text = StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*COLUMNS, measure])
    for point in points:
        moment = point.started_at.isoformat(timespec="seconds")
        rows.writerow([moment, point.session, point.label or "", f"{point.median:.12g}"])
    return text.getvalue().encode()


def _write(path: Path, body: bytes) -> Path:
    write_atomically(path, lambda file: file.write(body))
    return path


def _plain(name: str) -> str:
    """A name as a part of a file's."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", name)
