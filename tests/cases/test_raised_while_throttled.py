"""Capacity that is raised while a table throttles, and a hot key that the raise uncovers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.advice.fix import remedy_of, start_of
from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.facts import facts_of
from keyheat.analysis.report import ReportRun
from keyheat.runs.formats import Diagnosis, Evidence, write_diagnosis, write_evidence
from keyheat.show.run import first_facts
from keyheat.words import WRITE
from tests.make import a_series, an_evidence, consumed, provisioned_over_time, throttle_events, throttled

pytestmark = pytest.mark.slow

RAISED, MINUTES = 12, 25
CAUSES = (
    a_series("WriteProvisionedThroughputThrottleEvents", *[66_000] * RAISED, *[0] * (MINUTES - RAISED)),
    a_series("WriteKeyRangeThroughputThrottleEvents", *[0] * RAISED, *[24_000] * (MINUTES - RAISED)),
)


def a_raise(*more: dict[str, Any]) -> Evidence:
    """One key of 1,400 WCU/s and 100 beside it, on 400 WCU that become 4,000."""
    capacity = provisioned_over_time(
        Average=(400, 400, 2_560, 4_000, 4_000), Minimum=(400, 400, 400, 4_000, 4_000),
        Maximum=(400, 400, 4_000, 4_000, 4_000),
    )  # fmt: skip
    after = MINUTES - RAISED
    return an_evidence(
        consumed(*[400] * RAISED, *[1_100] * after),
        throttle_events(*[66_000] * RAISED, *[24_000] * after),
        *capacity, *more, minutes=MINUTES, table={"provisioned": {"read": 5, "write": 4_000}},
    )  # fmt: skip


@pytest.mark.parametrize("more", [CAUSES, ()], ids=["causes", "rates alone"])
def test_a_raise_that_uncovers_a_hot_key_is_not_advised_again(more: tuple[dict[str, Any], ...]) -> None:
    diagnosis = diagnosed(a_raise(*more))
    first, *_, last = sorted(diagnosis.labels, key=lambda label: label.start)
    assert (first.constraint, last.constraint) == ("table", "partition")
    actions = {advice.action for advice in diagnosis.recommendations}
    assert "shard_writes" in actions
    assert actions.isdisjoint({"raise_capacity", "raise_minimum", "auto_scaling", "on_demand"})
    assert diagnosis.cure is None or {step.action for step in diagnosis.cure.steps} == {"shard_writes"}


def test_screen_one_says_since_when_the_cure_is_for_another_limit() -> None:
    seen = a_raise(*CAUSES)
    run = ReportRun(diagnosis=diagnosed(seen), evidence=seen, alone=True)
    (since,) = (fact for fact in first_facts(run, facts_of(run)) if fact.id == "since")
    assert since.beside[-1] == (
        "since 12:12:00, with more capacity, by a partition limit of the table: the cure is for that"
    )


def test_what_a_raise_uncovered_is_what_a_fix_replays(tmp_path: Path) -> None:
    seen = a_raise(*CAUSES)
    write_evidence(tmp_path / "evidence.json", seen)
    write_diagnosis(tmp_path / "diagnosis.json", diagnosed(seen))
    start = start_of(tmp_path, None)
    assert start.limit_of(remedy_of(start, None)) == ("partition", "table", WRITE)
    assert start.scenario.table.provisioned.write == 4_000
    assert sum(label.throttles for label in start.incident) == 24_000 * (MINUTES - RAISED)


def raised_twice(rates: Sequence[float], refused: Sequence[float], capacity: Sequence[float]) -> Diagnosis:
    """The diagnosis of a table that was raised twice, by averages of its capacity alone."""
    return diagnosed(
        an_evidence(
            consumed(*rates), throttle_events(*refused), *provisioned_over_time(Average=capacity),
            minutes=len(rates), table={"provisioned": {"read": 5, "write": capacity[-1]}},
        )
    )  # fmt: skip


def test_the_units_of_two_raises_do_not_show_that_burst_was_left() -> None:
    """An even demand of 1,250 WCU/s; averages that are published as of the beginning of their periods."""
    rates = *[200] * 5, *[1_250] * 4, 1_000, *[600] * 7, *[1_000] * 6, *[1_250] * 7
    refused = *[0] * 9, 15_000, *[39_000] * 7, *[15_000] * 6, *[0] * 7
    diagnosis = raised_twice(rates, refused, (600, 600, 600, 600, 1_000, 1_400))
    assert (diagnosis.verdict.constraint, diagnosis.verdict.resource) == ("table", "table")
    heaviest = max(diagnosis.labels, key=lambda label: label.throttles)
    assert (heaviest.constraint, heaviest.confidence) == ("table", 0.908)


def test_a_value_between_two_raises_is_not_taken_for_their_average() -> None:
    """1,200 WCU/s were in force from 12:14 to 12:21: throttled minutes consumed exactly as many."""
    rates = *[600] * 4, *[1_500] * 3, 1_167, *[800] * 6, *[1_200] * 7, *[1_500] * 9
    refused = *[0] * 7, 24_840, *[52_500] * 6, *[22_500] * 7, *[0] * 9
    diagnosis = raised_twice(rates, refused, (800, 800, 880, 1_200, 2_000, 2_200))
    assert {label.constraint for label in diagnosis.labels} == {"table"}


def test_the_limit_that_only_a_replay_shows_is_not_advised_on() -> None:
    """1,300 WCU/s were served for two minutes, so 900 WCU lay on more than the one partition of a replay."""
    rates = *[100] * 4, *[600] * 12, 1_300, 1_300, 1_200, *[900] * 16
    refused = *[0] * 18, 6_000, *[24_000] * 16
    diagnosis = raised_twice(rates, refused, (400, 400, 600, *[900] * 4))
    actions = {advice.action for advice in diagnosis.recommendations}
    assert {label.constraint for label in diagnosis.labels} == {"table"}
    assert "raise_capacity" in actions
    assert actions.isdisjoint({"raise_cardinality", "shard_writes", "back_off"})


def test_the_minute_in_which_capacity_was_raised_is_no_partitions() -> None:
    """1,000 WCU until 06:12:20, then 2,400: 1,333 were consumed in that minute, and the throttles ended."""
    capacity = provisioned_over_time(
        Average=(1_000, 1_000, 1_740, 2_400), Minimum=(1_000, 1_000, 1_000, 2_400),
        Maximum=(1_000, 1_000, 2_400, 2_400),
    )  # fmt: skip
    found = an_evidence(
        consumed(*[500] * 3, *[1_500] * 9, 1_333, *[1_500] * 5),
        throttle_events(*[0] * 12, 10_000, *[0] * 5), *capacity, minutes=18,
    )  # fmt: skip
    (label,) = diagnosed(found, replay_s=0).labels
    assert (label.constraint, label.rule) == ("undetermined", "undetermined-capacity-changed")


def test_throttles_without_a_reason_stay_beside_those_that_have_one() -> None:
    named = throttled("TableWriteProvisionedThroughputExceeded", range(123, 124), 5)
    rows = [*throttled(None, range(63, 64), 66), *named]
    labels = diagnosed(an_evidence(throttles=rows), replay_s=0).labels
    assert {label.constraint: label.throttles for label in labels} == {"undetermined": 66, "table": 5}
