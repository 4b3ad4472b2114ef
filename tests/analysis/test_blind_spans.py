"""Attempts that never met the table: when the run was blind, and what is then unsafe to say."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from keyheat.analysis.elsewhere import BlindSpan, blind_spans
from keyheat.load.record.attempt import Attempt
from keyheat.load.record.record import Record
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Evidence, SecondCount, Verdict
from keyheat.runs.manifest import Keys
from keyheat.words import CONTENTION_ERRORS, Direction
from tests.analysis.conftest import NUMBERS, diagnosed
from tests.make import PROVISIONED, START, a_manifest, consumed, provisioned, throttled
from tests.make import a_series as series
from tests.make import an_evidence as evidence
from tests.make import throttle_events as events

EPOCH_S = int(START.timestamp())
RUN_S = 120


def load(failing: Mapping[range, float] = {}, *, rate: Any = lambda _second: 100) -> list[dict[str, Any]]:
    """Two minutes of writes of one unit; `failing`: the share of the attempts that never met the table."""
    rows = []
    for at in range(RUN_S):
        share = next((share for span, share in failing.items() if at in span), 0.0)
        attempts = rate(at)
        unmet = int(attempts * share)
        rows.append(
            {
                "second": START + timedelta(seconds=at), "direction": "write", "attempts": attempts,
                "consumed": attempts - unmet, "throttled": 0, "unmet": unmet,
            }
        )  # fmt: skip
    return rows


def run(
    seconds: list[dict[str, Any]], *found: dict[str, Any], capacity: float = 1_000, **more: Any
) -> Evidence:
    """The client's seconds beside a CloudWatch that counts no throttle."""
    known = found or (consumed(100, 100), events(0, 0), provisioned(capacity))
    return evidence(*known, minutes=2, seconds=seconds, **more)


def verdict_of(made: Evidence, **client: Any) -> Verdict:
    errors = {"ExpiredTokenException": 5, "TransactionConflict": 99}
    ended_at = START + timedelta(seconds=RUN_S)
    manifest = a_manifest(ended_at=ended_at, totals={"errors_by_kind": errors})
    return diagnosed(made, ClientFiles(manifest=manifest, **client)).verdict


def hot_key(units: float) -> Keys:
    window = {"start": START, "seconds": 10, "direction": "write", "top": [{"key": "k", "units": units * 10}]}
    return Keys.model_validate({"windows": [window]})


@pytest.mark.parametrize(
    ("made", "keys", "why"),
    [
        (run(load({range(64, 120): 1.0})), Keys(), "the load ended in it"),
        (run(load({range(20): 1.0})), Keys(), "the load began in it"),
        (run(load({range(50, 70): 1.0}, rate=lambda at: 50 + at)), Keys(), "the load was not level"),
        (run(load({range(50, 70): 1.0}, rate=lambda at: 400 if 50 <= at < 70 else 100)), Keys(), "not level"),
        (run(load({range(50, 70): 1.0}), capacity=90), Keys(), "the table ran on burst capacity"),
        (run(load({range(50, 70): 1.0})), hot_key(1_050), "the hottest key ran on burst capacity"),
        (
            run(
                load({range(50, 70): 1.0}), consumed(100, 100), events(0, 0),
                series("ProvisionedWriteCapacityUnits", 1_000, 800, statistic="Average"),
            ),
            Keys(),
            "capacity changed during the run",
        ),
    ],
)  # fmt: skip
def test_a_blind_span_is_undetermined(made: Evidence, keys: Keys, why: str) -> None:
    verdict = verdict_of(made, keys=keys)
    assert (verdict.constraint, verdict.valid, verdict.confidence) == ("undetermined", False, 0.0)
    assert verdict.because[0].startswith("Blind from 12:0")
    assert "most with ExpiredTokenException" in verdict.because[0]
    assert why in verdict.because[0]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (run(load({range(50, 70): 1.0})), "Blind from 12:00:50 to 12:01:10 UTC: 100 % of 2,000 attempts"),
        (run(load({range(50, 70): 0.4})), "7 % of all attempts failed without a throttle."),
        (run(load({range(50, 51): 1.0})), None),  # a second is no span, and its attempts are below 1 %
    ],
)
def test_a_level_load_within_capacity_is_none(made: Evidence, says: str | None) -> None:
    verdict = verdict_of(made, keys=hot_key(900))
    assert (verdict.constraint, verdict.valid) == ("none", True)
    lines = [line for line in verdict.because if "Blind" in line or "failed" in line]
    assert len(lines) == (says is not None)
    assert says is None or lines[0].startswith(says)


def test_a_throttle_stands_beside_a_blind_span() -> None:
    """What was seen is not undone by what was not: the verdict says when it was blind."""
    made = run(load({range(64, 120): 1.0}), throttles=throttled(PROVISIONED, range(60)))
    verdict = verdict_of(made)
    assert (verdict.constraint, verdict.valid) == ("table", True)
    assert any(line.startswith("Blind from 12:01:04 to 12:02:00 UTC") for line in verdict.because)


def test_a_span_lasts_until_something_was_seen_again() -> None:
    """While every user waits for a timeout nothing begins, so that there is no row at all."""
    rows = [SecondCount.model_validate(row) for row in load({range(50, 70): 1.0})]
    seconds = {EPOCH_S + at: row for at, row in enumerate(rows) if at not in range(51, 80)}
    spans = list(blind_spans(Direction.WRITE, seconds, NUMBERS.failures.blind_share))
    assert spans == [BlindSpan(Direction.WRITE, EPOCH_S + 50, EPOCH_S + 80, 100, 100)]


@pytest.mark.parametrize("kind", ["timeout", "ExpiredTokenException", *sorted(CONTENTION_ERRORS)])
def test_writes_that_met_another_one_met_the_table(kind: str) -> None:
    record = Record()
    attempt = Attempt("PutItem", "write", "k", sent_s=EPOCH_S + 0.5, late_us=0, service_us=1)
    record.add(attempt._replace(outcome="error", reason=kind))
    row = record.seconds.table().to_pylist()[0]
    assert (row["errors"], row["unmet"]) == (1, int(kind not in CONTENTION_ERRORS))
