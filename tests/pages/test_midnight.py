"""Evidence of more than a day: moments have their date, and calm between throttles is not counted."""

from datetime import UTC, datetime

import pytest

from keyheat.numbers import clock, moment, saying
from keyheat.runs.formats import write_evidence
from keyheat.show.charts import time_axis
from tests.make import a_series, an_evidence, consumed, throttle_events

pytestmark = pytest.mark.slow

BEGAN = datetime(2026, 11, 20, 18, tzinfo=UTC)
MINUTES = 2_160
HOT = {*range(660, 720), *range(1_860, 1_920)}  # minutes: 23:00 to 24:00, and 19:00 to 20:00 of the next day


@pytest.fixture
def evidence(tmp_path):
    """A day and a half of a table that was hot in two of its hours."""
    refused = [600 * (minute in HOT) for minute in range(MINUTES)]
    seen = an_evidence(
        consumed(*(1_000 if minute in HOT else 200 for minute in range(MINUTES))),
        throttle_events(*refused), a_series("WriteKeyRangeThroughputThrottleEvents", *refused),
        minutes=MINUTES, table={"provisioned": {"read": 5, "write": 4_000}},
    )  # fmt: skip
    write_evidence(tmp_path / "evidence.json", seen)
    return tmp_path / "evidence.json"


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
