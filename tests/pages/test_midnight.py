"""Evidence of more than a day: moments have their date, and calm between throttles is not counted."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from keyheat.numbers import clock, moment, saying
from keyheat.show.charts.base import time_axis

BEGAN = datetime(2026, 11, 20, 18, tzinfo=UTC)
HOT = {*range(300, 360), *range(1_500, 1_560)}  # minutes: 23:00 to 24:00, and the same hour of the next day
MINUTES = 1_800


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    """A day and a quarter of a table that was hot in two of its hours."""
    file = tmp_path_factory.mktemp("days") / "evidence.json"
    points = {
        "ConsumedWriteCapacityUnits": [60_000 if at in HOT else 12_000 for at in range(MINUTES)],
        "WriteThrottleEvents": [600 * (at in HOT) for at in range(MINUTES)],
        "WriteKeyRangeThroughputThrottleEvents": [600 * (at in HOT) for at in range(MINUTES)],
    }
    content = {
        "format": "keyheat.evidence/1",
        "table": {"name": "orders", "billing_mode": "PROVISIONED", "provisioned": {"write": 4_000}},
        "window": {"start": said(0), "end": said(MINUTES)},
        "series": [
            {"metric": metric, "statistic": "Sum", "period_s": 60,
             "points": [[said(at), value] for at, value in enumerate(values)]}
            for metric, values in points.items()
        ],
    }  # fmt: skip
    file.write_text(json.dumps(content))
    return file


def said(minute):
    return (BEGAN + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_moments_have_their_date_where_midnight_lies_between():
    begin_s, hour_s = BEGAN.timestamp(), 3_600
    assert saying(begin_s, begin_s + hour_s) is clock
    assert saying(begin_s, begin_s + 6 * hour_s) is moment
    assert time_axis(begin_s, begin_s + 6 * hour_s)["tickformat"] == "%H:%M"  # it ends at midnight
    assert time_axis(begin_s, begin_s + 7 * hour_s)["tickformat"] == "%H:%M\n%Y-%m-%d"


def test_terminal_and_page_say_on_which_day_and_the_calm_between_throttles_is_not_counted(verb, evidence):
    """1,000 WCU/s were consumed in the throttled hours, 200 in all others."""
    said = verb("analyze", "--evidence", evidence, "--report")
    lines = [line for line in said.out.splitlines() if line.startswith("  11-2")]
    spans = [line.split()[:4] for line in lines]
    assert spans == [["11-20", "23:00", "11-21", "00:00"], ["11-21", "19:00", "11-21", "20:00"]]
    assert all(len(line) <= 80 and "table writes partition limit" in line for line in lines)
    assert said.says("used 25 % of its 4,000 WCU")
    assert "11-21 19:00" in evidence.with_suffix(".html").read_text()
