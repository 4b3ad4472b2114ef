"""Evidence that cannot be true is refused, each mistake with its place; what can be is taken."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from keyheat.runfiles import FileProblem
from keyheat.runs.formats import Evidence
from keyheat.runs.plausibility import read_evidence

GOOD: dict[str, Any] = {
    "format": "keyheat.evidence/1",
    "table": {
        "name": "orders",
        "billing_mode": "PROVISIONED",
        "provisioned": {"write": 4_000},
        "indexes": [{"name": "by_day"}],
    },
    "window": {"start": "2026-11-20T12:00:00Z", "end": "2026-11-20T12:10:00Z"},
    "series": [
        {
            "metric": "ConsumedWriteCapacityUnits",
            "statistic": "Sum",
            "period_s": 60,
            "points": [["2026-11-20T12:00:00Z", 61_000], ["2026-11-20T12:01:00Z", 60_400]],
        },
        {
            "metric": "ProvisionedWriteCapacityUnits",
            "statistic": "Average",
            "period_s": 300,
            "points": [["2026-11-20T11:55:00Z", 4_000]],
        },
    ],
    "throttles": [{"second": "2026-11-20T12:00:07Z", "direction": "write", "count": 41}],
    "seconds": [
        {
            "second": "2026-11-20T12:00:07Z",
            "direction": "write",
            "consumed": 1_012.0,
            "attempts": 1_300,
            "throttled": 41,
        }
    ],
    "contributors": [
        {
            "rule": "r",
            "counts": "throttled",
            "period_s": 60,
            "total": 50,
            "keys": [{"key": "sha256:1", "value": 49, "points": [["2026-11-20T12:00:00Z", 49]]}],
        }
    ],
}


def changed(*changes: tuple[str, Any]) -> dict[str, Any]:
    """The good evidence with values put in places such as `series.0.period_s`."""
    content = deepcopy(GOOD)
    for place, value in changes:
        *path, last = [int(part) if part.isdecimal() else part for part in place.split(".")]
        holder: Any = content
        for part in path:
            holder = holder[part]
        if isinstance(holder, list) and last == len(holder):
            holder.append(value)
        else:
            holder[last] = value
    return content


def read(content: Any, folder: Path) -> Evidence:
    path = folder / "evidence.json"
    path.write_text(json.dumps(content))
    return read_evidence(path)


def refusal(content: Any, folder: Path) -> str:
    with pytest.raises(FileProblem) as caught:
        read(content, folder)
    return str(caught.value)


def points(*pairs: tuple[str, Any]) -> list[list[Any]]:
    return [[f"2026-11-20T{time}Z", value] for time, value in pairs]


TWICE = points(("12:00:00", 5), ("12:01:00", 7), ("12:00:00", 6))
VAST = points(("12:00:00", 3e14), ("12:01:00", 3e14))
WRONG: list[tuple[str, Any, str]] = [
    ("format", "keyheat.evidence/2", "states format 'keyheat.evidence/2'; this version reads"),
    ("series.0.points.0.1", -1, "greater than or equal to 0, got -1 @ $.series[0].points[0][1]"),
    ("series.0.points.0.1", 1e16, "1e+16 is more than any table has @ $.series[0].points[0]"),
    ("series.0.points.0.0", "2026-11-20T12:00:00", "a time needs its zone"),
    ("series.0.points.0.0", "0001-01-01T00:00:00+14:00", "a year from 1 to 9999"),
    ("series.0.points.0.0", "2026-11-20T12:00:30Z", "30Z is not a whole minute @ $.series[0].points[0]"),
    ("series.0.points.1.0", "2026-11-20T12:10:00Z", "is outside the window @ $.series[0].points[1]"),
    ("series.0.points", TWICE, "6, where points[0] says 5 for the same time @ $.series[0].points[2]"),
    ("series.0.period_s", 300, "60 s after points[0], in a series of 300 s @ $.series[0].points[1]"),
    ("series.0.period_s", 61, "a period is a multiple of 60 s, a day at most, got 61 @ $.series[0].period_s"),
    ("series.0.statistic", "Average", "Units is read as Sum, got 'Average' @ $.series[0].statistic"),
    ("series.0.unit", "Percent", "is in Count, got 'Percent' @ $.series[0].unit"),
    (
        "series.0.metric",
        "ConsumedWriteCapacityUnit",
        "is it ConsumedWriteCapacityUnits? @ $.series[0].metric",
    ),
    ("series.0.index", "by_hour", "the table has no index 'by_hour'; it has by_day @ $.series[0].index"),
    ("series.2", GOOD["series"][0], "the same series as $.series[0]: put their points together @"),
    ("throttles.0.index", "by_hour", "no index 'by_hour'; it has by_day @ $.throttles[0].index"),
    ("throttles.0.second", "2026-11-20T11:00:00Z", "outside the window by more than 10 min"),
    ("throttles.0.second", "2026-11-20T12:00:07.5Z", "is not a whole second"),
    ("throttles.0.count", 10**16, "more than a table can do in a second @ $.throttles[0]"),
    ("seconds.0.throttled", 1_301, "1,301 throttled of 1,300 attempts @ $.seconds[0]"),
    ("seconds.1", GOOD["seconds"][0], "is the same second as $.seconds[0]: put them together @ $.seconds[1]"),
    ("contributors.0.total", 1e16, "1e+16 is more than any table has @ $.contributors[0].total"),
    ("contributors.0.keys.0.points", VAST, "6e+14 is more than any table has @ $.contributors[0].keys[0]"),
    ("window.end", "2026-11-20T12:00:00Z", "the window ends before it starts"),
    ("window.end", "2028-11-20T12:00:00Z", "CloudWatch keeps 455 days: take a shorter one @ $.window"),
    ("window.end", "9999-11-20T12:00:00Z", "outside the years 2012 to 2200 @ $.window"),
    ("table.provisioned.write", 0, "1 unit/s or more, got 0; leave out the unknown @ $.table.provisioned"),
    ("table.indexes.1", {"name": "by_day"}, "index 'by_day' is there twice @ $.table.indexes[1]"),
]


@pytest.mark.parametrize(("place", "value", "message"), WRONG, ids=[f"{p}={v!r:.20}" for p, v, _ in WRONG])
def test_what_cannot_be_true_is_refused_with_its_place(
    place: str, value: Any, message: str, tmp_path: Path
) -> None:
    said = refusal(changed((place, value)), tmp_path)
    assert message in said
    assert said.startswith(str(tmp_path))


TAKEN: list[tuple[str, Any]] = [
    ("throttles", None),
    ("table", {"name": "t"}),
    ("series.0.metric", "ReturnedItemCount"),
    ("series.1.statistic", "Maximum"),
    ("series.0.points.0.0", "2026-11-20T14:00:00+02:00"),
    ("throttles.0.second", "2026-11-20T11:55:00Z"),  # another machine's clock
]


@pytest.mark.parametrize(("place", "value"), TAKEN)
def test_what_may_be_true_is_taken(place: str, value: Any, tmp_path: Path) -> None:
    read(changed((place, value)), tmp_path)


def test_a_period_that_began_before_the_window_still_speaks_of_it(tmp_path: Path) -> None:
    content = changed(
        ("series.0.period_s", 3_600), ("series.0.points", points(("12:00:00", 5))),
        ("window.start", "2026-11-20T12:05:00Z"), ("throttles", []), ("seconds", []),
        ("series.1.points", []),
    )  # fmt: skip
    assert read(content, tmp_path).series[0].points


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "row"),
    [("series.0.points", ["2026-11-20T12:00:00Z", -1]), ("throttles", GOOD["throttles"][0] | {"count": -1})],
    ids=["points", "throttles"],
)
def test_ten_thousand_mistakes_are_counted_not_listed(place: str, row: Any, tmp_path: Path) -> None:
    said = refusal(changed((place, [row] * 10_000)), tmp_path)
    assert "10,000 errors" in said
    assert "and 9,980 more" in said
    assert len(said.splitlines()) == 22


def test_ten_million_rows_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "evidence.json"
    path.write_bytes(b'{"series": [' + b"[]," * 10_000_000 + b"[]]}")
    with pytest.raises(FileProblem, match=r"some 10,000,003 rows; at most 3,000,000 are read: take"):
        read_evidence(path)
