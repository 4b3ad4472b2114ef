"""Labels and verdicts: conflicting grades, bursts, spans, a sprinkle, and what is said without throttles."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from keyheat.analysis.facts import facts_of, joined
from keyheat.analysis.report import ReportRun
from keyheat.cli.simulate import exit_code_of
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Evidence, Label
from keyheat.runs.manifest import Keys
from keyheat.show.verdict import sureness, verdict_sentence
from keyheat.words import DONE, INVALID
from tests.analysis.conftest import NUMBERS, diagnosed
from tests.make import (
    KEY_RANGE,
    PROVISIONED,
    START,
    a_manifest,
    client_seconds,
    consumed,
    provisioned,
    throttled,
)
from tests.make import a_series as series
from tests.make import an_evidence as evidence
from tests.make import throttle_events as events

ON_DEMAND = {"billing_mode": "PAY_PER_REQUEST"}


def only(found: Evidence) -> Label:
    (label,) = diagnosed(found).labels
    return label


def test_a_log_of_some_throttles_leaves_no_minute_of_cloudwatchs_out() -> None:
    """Ten minutes throttle; a log holds 20 exceptions of the fourth, close to where the third ends."""
    seen = evidence(
        consumed(*[100] * 10), events(*[2_030] * 10),
        series("WriteProvisionedThroughputThrottleEvents", *[2_030] * 10),
        throttles=[row for s in (181, 220) for row in throttled(PROVISIONED, range(s, s + 1), 10)],
        minutes=10, table={"provisioned": {"write": 100}},
    )  # fmt: skip
    labels = diagnosed(seen).labels
    assert {label.constraint for label in labels} == {"table"}
    assert sum(label.throttles for label in labels) == 20_300
    assert joined((label.start.timestamp(), label.end.timestamp()) for label in labels) == [
        (START.timestamp(), START.timestamp() + 600)
    ]
    assert [label.grade for label in labels] == ["cause_metric", "reason"]


def test_the_best_grade_wins_and_the_conflict_is_said() -> None:
    """The client saw key-range reasons, CloudWatch counts provisioned throttles: one of them is wrong."""
    agreeing, against = (
        evidence(
            consumed(1_000), series(f"Write{cause}ThroughputThrottleEvents", 3_000), provisioned(4_000),
            throttles=throttled(KEY_RANGE, range(10, 40)), minutes=1,
        )
        for cause in ("KeyRange", "Provisioned")
    )  # fmt: skip
    sure, unsure = only(agreeing), only(against)
    assert (sure.constraint, sure.grade) == (unsure.constraint, unsure.grade) == ("partition", "reason")
    assert unsure.confidence < sure.confidence * 0.8
    assert any(
        "Conflict" in line and "3,000 WriteProvisionedThroughputThrottleEvents" in line
        for line in unsure.because
    )
    assert not any("Conflict" in line for line in sure.because)


def test_a_conflict_with_consumption_is_said_and_weighs_less() -> None:
    found = evidence(
        consumed(4_480), series("WriteKeyRangeThroughputThrottleEvents", 3_000), provisioned(4_500),
        events(3_000), minutes=1,
    )  # fmt: skip
    label = only(found)
    assert label.constraint == "partition"
    assert any(
        "Conflict: consumption alone suggests the provisioned capacity." in line for line in label.because
    )
    assert NUMBERS.confidence.conflict < label.confidence < NUMBERS.confidence.cause_metric


def test_a_pause_parts_two_spans() -> None:
    near = throttled(KEY_RANGE, range(10)) + throttled(KEY_RANGE, range(60, 70))
    far = throttled(KEY_RANGE, range(10)) + throttled(KEY_RANGE, range(80, 90))
    assert len(diagnosed(evidence(throttles=near)).labels) == 1
    assert len(diagnosed(evidence(throttles=far)).labels) == 2


def test_labels_of_several_spans_name_one_busiest_throttled_minute() -> None:
    """The span with most throttles was not the busiest, and the busiest minute of all did not throttle."""
    far = throttled(KEY_RANGE, range(10)) + throttled(KEY_RANGE, range(130, 135))
    found = diagnosed(evidence(consumed(900, 1_500, 1_200), provisioned(4_000), throttles=far))
    assert len(found.labels) == 2
    said = "The busiest throttled minute consumed 1,200 of 4,000 provisioned WCU/s (30 %)."
    assert all(said in because for because in (found.verdict.because, *(one.because for one in found.labels)))


@pytest.mark.parametrize(("reason", "constraint"), [(None, "none"), (KEY_RANGE, "partition")])
def test_a_sprinkle_without_a_reason_makes_no_verdict_but_stays_listed(
    reason: str | None, constraint: str
) -> None:
    found = evidence(
        throttles=throttled(reason, range(3), 2), seconds=client_seconds((range(100), 1_000, 0)),
        table={"provisioned": {"write": 4_000}},
    )  # fmt: skip
    diagnosis = diagnosed(found)
    assert (diagnosis.verdict.constraint, diagnosis.verdict.valid) == (constraint, True)
    assert ("too few for a verdict" in diagnosis.verdict.because[0]) == (reason is None)
    assert [label.constraint for label in diagnosis.labels] == ["partition"]


@pytest.mark.parametrize(("per_s", "constraint"), [(100, "none"), (10, "table")])
def test_a_sprinkle_by_cloudwatch_alone(per_s: float, constraint: str) -> None:
    """Six throttles: few beside 60,000 units, perhaps many beside 6,000, of which a request may take ten."""
    series = consumed(*[per_s] * 10), events(*[None] * 8, 3, 3), provisioned(per_s)
    found = evidence(*series, minutes=10)
    diagnosis = diagnosed(found)
    assert diagnosis.verdict.constraint == constraint
    assert [label.constraint for label in diagnosis.labels] == ["table"]


@pytest.mark.parametrize(
    ("of_table", "has", "resources"),
    [
        (900, 4_000, {"by_0"}),
        (1_000, 4_000, {"table", "by_0"}),
        (900, 400, {"table", "by_0"}),  # which is at its own limit
    ],
)
def test_throttles_counted_twice(of_table: int, has: int, resources: set[str]) -> None:
    found = evidence(
        consumed(*[400] * 5), events(*[of_table] * 5), provisioned(has),
        consumed(*[100] * 5, index="by_0"), events(*[900] * 5, index="by_0"), provisioned(100, index="by_0"),
        indexes=1,
    )  # fmt: skip
    assert {label.resource for label in diagnosed(found).labels} == resources


@pytest.mark.slow
def test_a_mode_switched_in_mid_window() -> None:
    """Provisioned until 12:05, on-demand with a maximum from then on: each time is read by its own mode."""
    found = evidence(
        consumed(1_700, 300, 300, 300, 300, 990, 990, 990), events(0, *[9_000] * 4, 700, 700, 700),
        provisioned(300), minutes=8,
        table={"billing_mode": "PAY_PER_REQUEST", "max_on_demand": {"write": 1_000}},
    )  # fmt: skip
    assert [(label.constraint, label.start) for label in diagnosed(found).labels] == [
        ("table", START + timedelta(minutes=1)),
        ("max_on_demand", START + timedelta(minutes=5)),
    ]


def test_the_quota_that_an_index_met_is_counted_at_the_index() -> None:
    """CloudWatch has WriteAccountLimitThrottleEvents of the table alone, its indexes' events included."""
    found = evidence(
        events(500), series("WriteAccountLimitThrottleEvents", 800), events(300, index="by_0"),
        series("WriteKeyRangeThroughputThrottleEvents", index="by_0"), table=ON_DEMAND, indexes=1, minutes=1,
    )  # fmt: skip
    labels = diagnosed(found).labels
    assert {(label.resource, label.constraint, label.throttles) for label in labels} == {
        ("table", "account", 500),
        ("by_0", "account", 300),
    }


def test_an_index_that_is_called_table_is_diagnosed_beside_the_table() -> None:
    refused, of_index = [0, 9_000, 9_000, 9_000, 0], {"index": "table"}
    found = evidence(
        consumed(*[900] * 5), consumed(*[900] * 5, **of_index), events(), events(*refused, **of_index),
        series("WriteKeyRangeThroughputThrottleEvents", *refused, **of_index),
        table={"indexes": [{"name": "table"}]},
    )  # fmt: skip
    label = only(found)
    assert (label.resource, label.constraint) == ("index:table", "partition")
    run = ReportRun(diagnosis=diagnosed(found))
    sentence = verdict_sentence(run.diagnosis.verdict, facts_of(run), run.diagnosis.generator)
    assert "limit of index table" in sentence


COMPLETE = (
    consumed(10, 10), events(None, None),
    series("ConsumedReadCapacityUnits", 0, 0), series("ReadThrottleEvents"),
)  # fmt: skip
WITHOUT_THROTTLES: dict[str, tuple[Evidence, str]] = {
    "CloudWatch published every minute": (evidence(*COMPLETE, minutes=2), "none"),
    "the client recorded its seconds": (evidence(seconds=client_seconds((range(60), 50, 0))), "none"),
    "one minute was never published": (evidence(*COMPLETE, minutes=3), "undetermined"),
    "throttle events were never asked for": (evidence(*COMPLETE[::2], minutes=2), "undetermined"),
    "nothing is known of an index": (evidence(*COMPLETE, minutes=2, indexes=1), "undetermined"),
    "there is nothing at all": (evidence(), "undetermined"),
    "the client sent nothing": (evidence(seconds=[], throttles=[]), "undetermined"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "constraint"), WITHOUT_THROTTLES.values(), ids=WITHOUT_THROTTLES)
def test_without_throttles(found: Evidence, constraint: str) -> None:
    verdict = diagnosed(found).verdict
    assert verdict.constraint == constraint
    assert verdict.valid == (constraint == "none")
    assert verdict.because


BEHIND = {"bound": True, "fell_behind": True, "asked_per_s": 2_000, "achieved_per_s": 1_582}
AT_LEAST = "The generator sent only 1,582 of 2,000 requests/s, so the real load throttles at least this much."
SPOILED = {
    "a named throttle": (BEHIND, KEY_RANGE, AT_LEAST),
    "one that came late": (
        {**BEHIND, "achieved_per_s": 2_000},
        KEY_RANGE,
        "The generator sent requests late",
    ),
    "a throttle without a reason": (BEHIND, None, None),
    "a failed timeline": ({**BEHIND, "fell_behind": False}, KEY_RANGE, None),
}


@pytest.mark.parametrize(("health", "reason", "said"), SPOILED.values(), ids=SPOILED)
def test_a_generator_that_was_the_limit_spoils_what_it_can(
    health: Mapping[str, object], reason: str | None, said: str | None
) -> None:
    manifest = a_manifest(generator={**health, "checks": ["CPU at 99 %"]})
    found = evidence(throttles=throttled(reason, range(10, 40)))
    diagnosis = diagnosed(found, ClientFiles(manifest=manifest))
    verdict = diagnosis.verdict
    assert verdict.valid == (said is not None)
    spoiled = "The load generator was the limit" if health["fell_behind"] else "The load was not as stated"
    assert verdict.because[0].startswith(said or spoiled)
    assert said is not None or verdict.because[1] == "CPU at 99 %."
    assert exit_code_of(diagnosis) == (DONE if said else INVALID)
    assert (diagnosis.recommendations, diagnosis.cure) == ((), None), "how much it takes is not known"
    run = ReportRun(diagnosis=diagnosis)
    sentence = verdict_sentence(verdict, facts_of(run), diagnosis.generator)
    assert (said or "says nothing") in sentence
    assert (sureness(verdict) == "–") == (said is None and verdict.constraint != "undetermined")


def test_no_throttles_of_a_generator_that_fell_behind_say_nothing() -> None:
    found = evidence(seconds=client_seconds((range(60), 100, 0)))
    verdict = diagnosed(found, ClientFiles(manifest=a_manifest(generator=BEHIND))).verdict
    assert (verdict.constraint, verdict.valid, sureness(verdict)) == ("none", False, "–")


def test_units_of_an_endpoint_without_a_capacity_model_prove_nothing() -> None:
    found = evidence(
        consumed(1_300, 1_300, 1_300), events(9_000, 9_000, 9_000), provisioned(4_000),
        throttles=throttled(None, range(170), 150), seconds=client_seconds((range(170), 1_300, 150)),
        endpoint="other",
    )  # fmt: skip
    diagnosis = diagnosed(found)
    assert {label.rule for label in diagnosis.labels} == {"undetermined-no-consumed"}
    assert any("are unreliable" in line for line in diagnosis.verdict.because)
    assert not any("WCU" in line for label in diagnosis.labels for line in label.because)


def test_throttles_with_a_reason_are_labelled_at_any_endpoint() -> None:
    found = evidence(throttles=throttled(KEY_RANGE, range(30)), endpoint="other")
    diagnosis = diagnosed(found, simulate=True)
    assert (diagnosis.verdict.constraint, diagnosis.verdict.grade) == ("partition", "reason")
    assert all(one.bill is None and one.foreseen is None for one in diagnosis.recommendations)


EVEN = Keys.model_validate({"overall": {"write": [{"key": "k", "units": 60, "share": 0.001}]}})
HOT = Keys.model_validate({"overall": {"write": [{"key": "k", "units": 540_000, "share": 0.5}]}})


@pytest.mark.parametrize(("keys", "rule"), [(EVEN, "on-demand-not-grown"), (HOT, "reason-key-range")])
def test_an_on_demand_table_that_has_not_grown_yet(keys: Keys, rule: str) -> None:
    """4,000 units/s warm, 3,600 consumed, key-range reasons: with even keys it is not a hot key."""
    found = evidence(
        consumed(3_600, 3_600), throttles=throttled(KEY_RANGE, range(5, 110)), minutes=2,
        table={**ON_DEMAND, "warm": {"write": 4_000}},
    )  # fmt: skip
    diagnosis = diagnosed(found, ClientFiles(keys=keys))
    (label,) = diagnosis.labels
    assert (label.constraint, label.rule) == ("partition", rule)
    actions = {advice.action for advice in diagnosis.recommendations}
    assert ({"ramp", "pre_warm"} <= actions) == (rule == "on-demand-not-grown")
    assert ("shard_writes" in actions) == (rule == "reason-key-range")


COUNTED_HOT = Keys.model_validate(
    {"indexes": {"by_0": {"overall": {"write": [{"key": "k", "units": 540_000, "share": 0.5}]}}}}
)
COUNTED_EVEN = Keys.model_validate({"indexes": {"by_0": {"overall": {"write": []}}}})


@pytest.mark.parametrize(
    ("keys", "rule", "asks"),
    [
        (Keys(), "metric-key-range", True),
        (COUNTED_HOT, "metric-key-range", False),
        (COUNTED_EVEN, "on-demand-not-grown", False),
    ],
)
def test_an_index_that_has_not_grown_yet(keys: Keys, rule: str, asks: bool) -> None:
    """3,600 of 4,000 units/s warm: one hot value of its key looks the same, and pre-warming does not help."""
    found = evidence(
        consumed(10, 10), events(None, None), consumed(3_600, 3_600, index="by_0"),
        events(500, 500, index="by_0"),
        series("WriteKeyRangeThroughputThrottleEvents", 500, 500, index="by_0"), minutes=2,
        table={**ON_DEMAND, "indexes": [{"name": "by_0", "warm": {"write": 4_000}}]},
    )  # fmt: skip
    diagnosis = diagnosed(found, ClientFiles(keys=keys))
    (label,) = [one for one in diagnosis.labels if one.resource == "by_0"]
    assert (label.constraint, label.rule) == ("partition", rule)
    assert any("keys were not counted" in said for said in label.because) == asks
    actions = {one.action for one in diagnosis.recommendations if one.resource == "by_0"}
    assert ("pre_warm" in actions) == (rule == "on-demand-not-grown")
    assert ("change_index_key" in actions) == (rule != "on-demand-not-grown")
    assert ("collect_evidence" in actions) == asks
