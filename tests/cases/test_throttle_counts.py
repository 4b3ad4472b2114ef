"""Evidence files whose counts disagree, or fit to two limits at once: what is labelled, and what is said."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.facts import facts_of
from keyheat.analysis.report import evidence_alone
from keyheat.runs.plausibility import read_evidence
from keyheat.show.run import first_facts, run_answer
from tests.conftest import Golden
from tests.make import a_series, an_evidence, consumed, provisioned, throttle_events, throttled
from tests.make import provisioned_over_time as over_time
from tests.pages.conftest import on_screen, trimmed

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent


RIGHT: dict[str, tuple[str, float, dict[str, int]]] = {
    # a file of this folder: its verdict, how sure it is, and the throttles of each label
    "client-216-cloudwatch-1": ("undetermined", 0, {"undetermined": 215, "partition": 1}),
    "client-200-in-a-counted-minute": ("undetermined", 0, {"undetermined": 199, "partition": 1}),
    "client-of-items-200-cloudwatch-1": ("undetermined", 0, {"undetermined": 199, "partition": 1}),
    "client-only-no-events-series": ("table", 0.651, {"table": 216}),
    "client-only-throttles-big": ("undetermined", 0, {"undetermined": 216}),
    "client-only-throttles-on-demand": ("undetermined", 0, {"undetermined": 216}),
    "client-with-reason": ("partition", 0.985, {"partition": 216}),
    "held-1000-with-warm-throughput": ("undetermined", 0, {"undetermined": 21_000}),
    "hot-key-in-a-full-table": ("table", 0.93, {"table": 192_000}),
    "held-hot-key": ("undetermined", 0, {"undetermined": 540_000}),
    "raise-from-1000": ("undetermined", 0, {"undetermined": 132_000}),
    "raise-from-1000-with-extremes": ("undetermined", 0, {"undetermined": 25_700}),
    "raise-from-1500": ("table", 0.93, {"table": 198_000}),
    "raised-between-two-samples": ("table", 0.914, {"table": 677_000}),
    "switched-to-on-demand": ("table", 0.919, {"table": 130_400}),
    "maximum-raised-since": ("max_on_demand", 0.96, {"max_on_demand": 462_000}),
    "ramp-held-2000": ("undetermined", 0, {"undetermined": 760_000}),
    "ramp-held-2500": ("table", 0.93, {"table": 950_000}),
    "throttled-requests-getrecords": ("none", 0.9, {}),
    "throttled-requests-beyond-a-cause": ("undetermined", 0, {"undetermined": 3_710, "partition": 90}),
    "throttled-requests-beyond-events": ("undetermined", 0, {"undetermined": 3_800}),
    "throttled-requests-of-both-directions": ("undetermined", 0, {"undetermined": 310}),
    "throttled-requests-only": ("undetermined", 0, {"undetermined": 900}),
    "throttled-requests-only-no-index": ("undetermined", 0, {"undetermined": 900}),
    "throttled-requests-only-on-demand": ("undetermined", 0, {"undetermined": 900}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_a_file_comes_to_and_what_is_said_of_it(name: str, golden: Golden) -> None:
    evidence = read_evidence(HERE / f"{name}.json")
    diagnosis = diagnosed(evidence)
    throttles = Counter[str]()
    for label in diagnosis.labels:
        throttles[label.constraint] += label.throttles
    verdict = diagnosis.verdict
    assert (verdict.constraint, verdict.confidence, throttles) == RIGHT[name]
    answer = run_answer(evidence_alone(evidence, diagnosis))
    golden(f"{name}.txt", trimmed(on_screen(answer)))


@pytest.mark.parametrize(("minute", "apart"), [(0, True), (2, False), (3, False)])
def test_throttles_at_other_times_than_cloudwatchs_mean_a_wrong_clock(minute: int, apart: bool) -> None:
    logged = throttled("TableWriteKeyRangeThroughputExceeded", range(60 * minute, 60 * minute + 3), count=50)
    found = an_evidence(
        consumed(300, 300, 1_000, 300, 300), throttle_events(0, 0, 900, 0, 0), throttles=logged
    )
    missing = diagnosed(found).coverage.missing
    clock = "a common clock: CloudWatch counts no throttled write on the table when the client counts 150,"
    assert any(line.startswith(clock) for line in missing) is apart


def test_minutes_without_a_point_are_unknown_and_said() -> None:
    evidence = an_evidence(
        consumed(300, 300, 1_000, None, None, 1_000, 300),
        throttle_events(None, None, 900, None, None, 1_200, None),
        minutes=7,
    )
    run = evidence_alone(evidence, diagnosed(evidence))
    assert (
        "writes to the table for 2 min: no metric has a point from 12:03:00 to 12:05:00 UTC, so whether they "
        "throttled then is unknown"
    ) in run.diagnosis.coverage.missing
    since = next(fact for fact in first_facts(run, facts_of(run)) if fact.id == "since")
    assert since.beside[0] == "throttled for 2 min of 7 min, unknown for 2 min"
    heaviest = "In the heaviest of 2 spans, 12:05:00 to 12:06:00 UTC: 1,200 throttles within 1 min"
    assert run.diagnosis.verdict.because[1].startswith(heaviest)


def test_a_minute_that_the_clients_log_tells_of_is_no_gap() -> None:
    logged = throttled(None, range(180, 183))
    events = throttle_events(None, 900, 900, None, None)
    evidence = an_evidence(consumed(300, 1_000, 1_000, None, 300), events, throttles=logged)
    assert not [line for line in diagnosed(evidence).coverage.missing if "has a point" in line]


DESCRIBED = {"keys": ({"name": "id", "type": "S", "role": "HASH"},)}


@pytest.mark.parametrize("described", [False, True])
def test_no_index_of_a_table_that_is_described_without_one_can_have_refused(described: bool) -> None:
    logged, table = throttled(None, range(60, 63)), DESCRIBED if described else {}
    writes = an_evidence(consumed(*[300] * 5), throttle_events(*[0] * 5), throttles=logged, table=table)
    diagnosis = diagnosed(writes)
    assert {label.rule for label in diagnosis.labels} == {"undetermined-resource"}
    assert ("--index NAME" in diagnosis.verdict.settled_by) is not described
    assert ("an index may have throttled them" in " ".join(diagnosis.verdict.because)) is not described


def test_no_maximum_is_said_of_an_on_demand_table_that_is_described_without_one() -> None:
    table = {"billing_mode": "PAY_PER_REQUEST"}
    series = consumed(*[1_400] * 5), throttle_events(*[9_000] * 5)
    unknown, known = (
        " ".join(diagnosed(an_evidence(*series, table={**table, **more})).verdict.because)
        for more in ({}, DESCRIBED)
    )
    assert "with no maximum known" in unknown
    assert "Whether a maximum is set is unknown." in unknown
    assert "with no maximum described" in known
    assert "Whether one was set then is unknown." in known


def test_how_bad_is_what_cloudwatch_counts_with_the_logs_part_of_it_beside() -> None:
    evidence = read_evidence(HERE / "client-with-reason.json")
    *others, events = evidence.series
    counted = events.model_copy(update={"points": tuple((at, 50.0) for at, _zero in events.points[2:14])})
    evidence = evidence.model_copy(update={"series": (*others, counted)})
    run = evidence_alone(evidence, diagnosed(evidence))
    facts = facts_of(run)
    assert (facts.run_throttles, facts.throttles, facts.labelled) == (600, 600, 216)
    (bad,) = (fact for fact in first_facts(run, facts) if fact.id == "bad")
    assert bad.value == "600 throttles"
    assert bad.beside[-1] == "216 of them in the client's log"
    assert run.diagnosis.verdict.because[0].startswith("All 216 logged throttles")


def test_writes_that_an_index_refused_are_counted_once_where_the_tables_events_have_them_too() -> None:
    refused, index = (0, 6_000, 6_000, 0), {"index": "by-day"}
    found = an_evidence(
        consumed(300, 600, 600, 300), consumed(300, 600, 600, 300, **index), throttle_events(*refused),
        throttle_events(*refused, **index), provisioned(2_000), provisioned(2_000, **index),
        a_series("WriteKeyRangeThroughputThrottleEvents", *refused, **index),
        table={"indexes": [{"name": "by-day"}]},
    )  # fmt: skip
    facts = facts_of(evidence_alone(found, diagnosed(found)))
    assert (facts.run_throttles, facts.throttles, facts.labelled) == (12_000, 12_000, 12_000)


@pytest.mark.parametrize(
    ("described", "constraint"),
    [(DESCRIBED, "table"), ({}, "undetermined")],
)
def test_refused_requests_are_the_tables_where_nothing_else_can_have_refused_them(
    described: dict[str, Any], constraint: str
) -> None:
    """Its throttle events were not collected, and its description names no index."""
    refused = a_series("ThrottledRequests", *[0] * 6, *[6_000] * 6)
    rates = consumed(*[300] * 3, *[900] * 3, *[600] * 6)
    evidence = an_evidence(
        rates, provisioned(600), {**refused, "operation": "PutItem"}, minutes=12, table=described
    )
    (label,) = diagnosed(evidence).labels
    assert (label.constraint, label.throttles) == (constraint, 36_000)


@pytest.mark.parametrize(("logged", "constraint"), [(100, "undetermined"), (5, "none")])
def test_a_few_events_of_cloudwatch_do_not_explain_many_of_a_log(logged: int, constraint: str) -> None:
    """Six events lie between them; the log has throttles of something else unless it has about as few."""
    seconds = [*range(179, 180), *range(240, 241)]
    evidence = an_evidence(
        consumed(*[300] * 6), provisioned(500), throttle_events(0, 0, 0, 6, 0, 0),
        a_series("WriteProvisionedThroughputThrottleEvents", 0, 0, 0, 6, 0, 0),
        throttles=[row for at in seconds for row in throttled(None, range(at, at + 1), count=logged)],
        minutes=6,
    )  # fmt: skip
    verdict = diagnosed(evidence).verdict
    assert verdict.constraint == constraint


def test_advice_on_a_rest_says_of_which_throttles_it_is() -> None:
    reasons = throttled("TableWriteKeyRangeThroughputExceeded", range(60, 69))
    evidence = an_evidence(
        consumed(300, 1_000, 300, 300, 1_000), throttle_events(0, 900, 0, 0, 100), throttles=reasons
    )
    run = evidence_alone(evidence, diagnosed(evidence))
    assert run.diagnosis.verdict.constraint == "partition"
    more = next(item for item in run.diagnosis.recommendations if item.action == "collect_evidence")
    assert more.why == (
        "For 10 % of the throttles, from 12:04:00 to 12:05:00 UTC, this evidence does not show what "
        "throttled the table."
    )


@pytest.mark.parametrize(
    ("to", "which"), [(1_500, ", and nothing was throttled after that."), (4_000, ", which is enough.")]
)
def test_a_raise_makes_the_demand_no_larger_and_is_kept(to: float, which: str) -> None:
    """A demand of 1,300 WCU/s on 500, raised in the ninth minute: its period has both capacities."""
    throttles = [0, 0] + [48_000] * 7 + [0] * 6
    raised = an_evidence(
        consumed(*[300] * 2, *[500] * 7, *[1_300] * 6), throttle_events(*throttles),
        a_series("WriteProvisionedThroughputThrottleEvents", *throttles),
        *over_time(Minimum=(500, 500, to), Maximum=(500, to, to)),
        minutes=15, table={"provisioned": {"read": 5, "write": to}},
    )  # fmt: skip
    diagnosis = diagnosed(raised)
    assert diagnosis.verdict.constraint == "table"
    whys = " ".join(item.why for item in diagnosis.recommendations)
    assert {item.units for item in diagnosis.recommendations} == {1_858, None}
    assert "auto scaling, if it was that, takes minutes" in whys
    assert "raise_capacity" not in {item.action for item in diagnosis.recommendations}
    assert f"It was raised since: {to:,.0f} WCU/s are provisioned now{which}" in whys


def test_an_index_that_is_measured_as_zero_did_not_throttle_what_a_client_counts() -> None:
    calm = [consumed(*[20] * 5, index="by_0"), throttle_events(index="by_0")]
    alone = an_evidence(
        consumed(*[20] * 5), throttle_events(), *calm, indexes=1,
        throttles=throttled(None, range(120, 180), count=3),
    )  # fmt: skip
    verdict = diagnosed(alone).verdict
    said = " ".join((*verdict.because, verdict.settled_by or ""))
    assert verdict.constraint == "undetermined"
    assert "another service threw the exceptions" in said
    assert "an index may have throttled" not in said
    assert "keyheat collect" not in said


def test_a_raise_that_cloudwatch_shows_a_minute_late_is_no_burst_left() -> None:
    """300 WCU/s until 1,300 within the ninth throttled minute: what it took then was not there before."""
    used = [200] * 9 + [300] * 8 + [700] + [900] * 12
    throttles = [0] * 9 + [36_000] * 8 + [12_000] + [0] * 12
    capacity = a_series("ProvisionedWriteCapacityUnits", *[300] * 18, *[1_300] * 12, statistic="Average")
    found = an_evidence(consumed(*used), throttle_events(*throttles), capacity, minutes=30)
    verdict = diagnosed(found, replay_s=0).verdict
    assert (verdict.constraint, verdict.resource) == ("table", "table")


def test_writes_whose_throttle_events_lack_are_not_said_to_lack_their_minutes() -> None:
    reads = [a_series(metric, *[6_000] * 5) for metric in ("ConsumedReadCapacityUnits", "ReadThrottleEvents")]
    verdict = diagnosed(an_evidence(consumed(*[100] * 5), *reads), replay_s=0).verdict
    assert any(said.endswith("whose throttle events were not collected.") for said in verdict.because)


def test_a_job_that_takes_all_that_its_table_saved_is_throttled_by_the_table() -> None:
    """Every five minutes 2,100 WCU/s for a minute on 300: 1,100 are served, as the calm minutes left."""
    diagnosis = diagnosed(
        an_evidence(
            consumed(*[100, 100, 100, 100, 1_100] * 5), throttle_events(*[0, 0, 0, 0, 60_000] * 5),
            provisioned(300), minutes=25, table={"provisioned": {"read": 100, "write": 300}},
        )
    )  # fmt: skip
    assert {(label.constraint, label.rule) for label in diagnosis.labels} == {
        ("table", "minutes-burst-spent")
    }
