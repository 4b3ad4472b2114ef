"""Evidence files whose counts disagree, or fit to two limits at once: what is labelled, and what is said."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.facts import facts_of
from keyheat.analysis.report import evidence_alone
from keyheat.runs.formats import Diagnosis, Evidence
from keyheat.runs.plausibility import read_evidence
from keyheat.show.questions import first_facts
from keyheat.show.verdict import verdict_sentence
from tests.make import START, a_series, an_evidence, consumed, provisioned, throttle_events, throttled

HERE = Path(__file__).parent
WHOSE = "undetermined-resource"
SECONDS_OF = re.compile(r"([\d.]+) s of (\d+)")


def of(name: str) -> Diagnosis:
    return diagnosed(read_evidence(HERE / f"{name}.json"))


def sentence(name: str) -> str:
    run = evidence_alone(read_evidence(HERE / f"{name}.json"), of(name))
    return verdict_sentence(run.diagnosis.verdict, facts_of(run), run.diagnosis.generator)


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


@pytest.mark.parametrize("name", ["client-only-throttles-big", "client-only-throttles-on-demand"])
def test_a_clients_throttles_that_cloudwatch_measures_as_zero_are_no_limit_of_the_table(name: str) -> None:
    diagnosis = of(name)
    (label,) = diagnosis.labels
    assert (label.constraint, label.rule, label.throttles) == ("undetermined", WHOSE, 216)
    because = " ".join(diagnosis.verdict.because)
    assert "CloudWatch counts no throttled read on the table itself" in because
    assert all(thrower in because for thrower in ("Streams", "KMS", "Kinesis", "retry quota"))
    assert not diagnosis.verdict.rivals
    assert "does not say that the table refused them" in sentence(name)
    assert [one.action for one in diagnosis.recommendations] == ["collect_evidence"]


DESCRIBED = {"keys": ({"name": "id", "type": "S", "role": "HASH"},)}


@pytest.mark.parametrize("described", [False, True])
def test_no_index_of_a_table_that_is_described_without_one_can_have_refused(described: bool) -> None:
    evidence = read_evidence(HERE / "client-only-throttles-big.json")
    if described:
        table = type(evidence.table).model_validate({**evidence.table.model_dump(), **DESCRIBED})
        evidence = evidence.model_copy(update={"table": table})
    writes = an_evidence(
        consumed(300, 300, 300, 300, 300),
        throttle_events(0, 0, 0, 0, 0),
        throttles=throttled(None, range(60, 63)),
        table=DESCRIBED if described else {},
    )
    for diagnosis in map(diagnosed, (evidence, writes)):
        assert {label.rule for label in diagnosis.labels} == {WHOSE}
        assert ("--index NAME" in diagnosis.verdict.settled_by) is not described
        assert "`ThrottlingReasons`" in diagnosis.verdict.settled_by or not described
    said = " ".join(diagnosed(writes).verdict.because)
    assert ("an index may have throttled them" in said) is not described


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


def test_of_a_clients_throttles_only_those_that_cloudwatch_counts_are_the_tables() -> None:
    diagnosis = of("client-216-cloudwatch-1")
    assert {one.constraint: one.throttles for one in diagnosis.labels} == {
        "undetermined": 198,
        "partition": 1,
    }
    assert "1 throttle within 1 min" in diagnosis.labels[1].because[0]
    assert "the client's own is 18" in diagnosis.labels[1].because[0]
    assert diagnosis.verdict.constraint == "undetermined"
    assert [one.action for one in diagnosis.recommendations] == ["collect_evidence"]


def test_dynamodbs_own_reason_needs_no_count_of_cloudwatch() -> None:
    verdict = of("client-with-reason").verdict
    assert (verdict.constraint, verdict.grade, verdict.confidence) == ("partition", "reason", 0.985)


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


def test_a_clients_throttles_weigh_less_where_cloudwatch_was_not_asked_for_events() -> None:
    verdict = of("client-only-no-events-series").verdict
    assert (verdict.constraint, verdict.confidence) == ("table", 0.651)
    assert "CloudWatch's throttle events were not collected" in " ".join(verdict.because)


@pytest.mark.parametrize(
    "name",
    ["throttled-requests-only", "throttled-requests-only-no-index", "throttled-requests-only-on-demand"],
)
def test_requests_that_no_throttle_event_tells_of_were_most_likely_refused_for_an_index(name: str) -> None:
    diagnosis = of(name)
    (label,) = diagnosis.labels
    assert (label.constraint, label.rule, label.throttles) == ("undetermined", WHOSE, 900)
    assert "most likely an index throttled them" in " ".join(diagnosis.verdict.because)
    assert "--index" in diagnosis.verdict.settled_by
    assert not any("counts no throttle." in one for one in diagnosis.verdict.because)


@pytest.mark.parametrize(
    ("described", "constraint"),
    [({"keys": [{"name": "pk", "type": "S", "role": "HASH"}]}, "table"), ({}, "undetermined")],
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


def test_throttled_reads_of_the_stream_are_said_and_are_no_throttle_of_the_table() -> None:
    verdict = of("throttled-requests-getrecords").verdict
    assert (verdict.constraint, verdict.valid) == ("none", True)
    assert "900 throttled requests of GetRecords" in verdict.because[-1]
    assert sentence("throttled-requests-getrecords").startswith("No read or write was throttled")


@pytest.mark.parametrize(
    ("name", "constraint"), [("raise-from-1000", "undetermined"), ("raise-from-1500", "table")]
)
def test_the_first_minute_of_a_raise_is_what_the_minutes_before_it_are(name: str, constraint: str) -> None:
    (label,) = of(name).labels
    assert (label.constraint, label.end.minute) == (constraint, 16)


@pytest.mark.parametrize("name", ["raise-from-1000", "ramp-held-2000"])
def test_more_capacity_is_offered_where_it_helps_whichever_limit_it_is(name: str) -> None:
    diagnosis = of(name)
    assert diagnosis.verdict.constraint == "undetermined"
    first, second = diagnosis.recommendations
    assert (first.action, second.action) == ("raise_capacity", "collect_evidence")
    assert first.units
    assert "because more capacity adds partitions" in first.expected


def test_a_table_held_at_what_no_whole_partitions_serve_is_too_small() -> None:
    verdict = of("ramp-held-2500").verdict
    assert (verdict.constraint, verdict.confidence) == ("table", 0.93)


@pytest.mark.parametrize("path", sorted(HERE.glob("*-held-*.json")), ids=lambda path: path.stem)
def test_no_limit_can_have_lasted_longer_than_its_minute(path: Path) -> None:
    said = [one.needs for one in of(path.stem).verdict.rivals]
    lasted = [tuple(map(float, found)) for one in said for found in SECONDS_OF.findall(one)]
    assert said
    assert all(seconds <= period for seconds, period in lasted)
    assert any("for up to all 60 s" in one for one in said)


def changed(*values: tuple[float, float]) -> list[dict[str, Any]]:
    """Least and most provisioned write capacity of periods of five minutes, as CloudWatch publishes them."""
    moments = [START + timedelta(minutes=5 * n) for n in range(len(values))]
    return [
        {
            "metric": "ProvisionedWriteCapacityUnits", "statistic": statistic, "period_s": 300,
            "points": list(zip(moments, by_statistic, strict=True)),
        }
        for statistic, by_statistic in zip(("Minimum", "Maximum"), zip(*values, strict=True), strict=True)
    ]  # fmt: skip


def raised(to: float, *, now: float) -> Evidence:
    """A demand of 1,300 WCU/s on 500, raised in the ninth minute."""
    throttles = [0, 0] + [48_000] * 7 + [0] * 6
    used = [300, 300] + [500] * 7 + [1_300] * 6
    cause = a_series("WriteProvisionedThroughputThrottleEvents", *throttles)
    capacity = changed((500, 500), (500, to), (to, to))
    table = {"provisioned": {"read": 5, "write": now}}
    return an_evidence(
        consumed(*used), throttle_events(*throttles), cause, *capacity, minutes=15, table=table
    )


@pytest.mark.parametrize(
    ("to", "which"), [(1_500, ", and nothing was throttled after that."), (4_000, ", which is enough.")]
)
def test_a_raise_makes_the_demand_no_larger_and_is_kept(to: float, which: str) -> None:
    """In the period of the raise some minutes had the lower capacity, whatever its maximum was."""
    diagnosis = diagnosed(raised(to, now=to))
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


def test_a_key_above_a_partition_is_to_be_spread_though_the_limit_is_undetermined() -> None:
    """A table held at 1,000 WCU/s, and one key that Contributor Insights counts nearly all of it for."""
    diagnosis = of("held-hot-key")
    assert diagnosis.verdict.constraint == "undetermined"
    advice = {item.action: item for item in diagnosis.recommendations}
    assert "one key alone asks for more than 1,000 WCU/s" in advice["raise_capacity"].why
    assert "“acct-omnibus” asks for 1,300 WCU/s" in advice["shard_writes"].why


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
