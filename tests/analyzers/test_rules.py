"""Every rule on hand-written evidence: a row each, with a sentence that says what happened."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from analyzers.client import ClientFiles
from analyzers.diagnosis import diagnose
from analyzers.formats import Diagnosis, Evidence, Label
from analyzers.manifest import Keys, Manifest
from analyzers.thresholds import Thresholds

START = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
KEY_RANGE = "TableWriteKeyRangeThroughputExceeded"
PROVISIONED = "TableWriteProvisionedThroughputExceeded"


def series(
    metric: str, *per_minute: float | None, index: str | None = None, statistic: str = "Sum"
) -> dict[str, Any]:
    """One value a minute from 12:00 on; None: CloudWatch has no point there."""
    points = [
        (START + timedelta(minutes=n), value) for n, value in enumerate(per_minute) if value is not None
    ]
    return {"metric": metric, "statistic": statistic, "period_s": 60, "index": index, "points": points}


def consumed(*per_s: float | None, index: str | None = None) -> dict[str, Any]:
    """Consumed write units per second, minute by minute."""
    return series("ConsumedWriteCapacityUnits", *(p if p is None else p * 60 for p in per_s), index=index)


def events(*per_minute: float | None, index: str | None = None) -> dict[str, Any]:
    return series("WriteThrottleEvents", *per_minute, index=index)


def provisioned(units: float, index: str | None = None) -> dict[str, Any]:
    return series("ProvisionedWriteCapacityUnits", units, index=index, statistic="Average")


def evidence(*found: dict[str, Any], minutes: int = 5, indexes: int = 0, **more: Any) -> Evidence:
    names = [{"name": f"by_{n}"} for n in range(indexes)]
    table = {"name": "orders", "billing_mode": "PROVISIONED", "indexes": names, **more.pop("table", {})}
    window = {"start": START, "end": START + timedelta(minutes=minutes)}
    return Evidence.model_validate({"table": table, "window": window, "series": found, **more})


def throttled(
    reason: str | None, seconds: range, count: int = 100, index: str | None = None
) -> list[dict[str, Any]]:
    return [
        {
            "second": START + timedelta(seconds=s),
            "index": index,
            "direction": "write",
            "reason": reason,
            "count": count,
        }
        for s in seconds
    ]


def client_seconds(*stretches: tuple[range, float, int]) -> list[dict[str, Any]]:
    """(seconds, units consumed in each, attempts throttled in each)."""
    return [
        {
            "second": START + timedelta(seconds=s), "direction": "write", "consumed": units,
            "attempts": int(units) + refused, "throttled": refused,
        }
        for stretch, units, refused in stretches
        for s in stretch
    ]  # fmt: skip


def diagnosed(found: Evidence, numbers: Thresholds, client: ClientFiles | None = None) -> Diagnosis:
    return diagnose(found, client=client, thresholds=numbers, scenario=None)


ON_DEMAND = {"billing_mode": "PAY_PER_REQUEST"}
ONE_RULE: list[tuple[str, Evidence, str, str, str]] = [
    # what happened, the evidence, then rule, constraint and resource of the only label
    (
        "DynamoDB named a key range",
        evidence(throttles=throttled(KEY_RANGE, range(10, 40))),
        "reason-key-range", "partition", "table",
    ),
    (
        "DynamoDB named the provisioned throughput",
        evidence(throttles=throttled(PROVISIONED, range(10, 40))),
        "reason-provisioned", "table", "table",
    ),
    (
        "DynamoDB named the maximum of an on-demand table",
        evidence(table=ON_DEMAND, throttles=throttled("TableWriteMaxOnDemandThroughputExceeded", range(9))),
        "reason-max-on-demand", "max_on_demand", "table",
    ),
    (
        "DynamoDB named the account's quota",
        evidence(table=ON_DEMAND, throttles=throttled("TableWriteAccountLimitExceeded", range(9))),
        "reason-account", "account", "table",
    ),
    (
        "An index could not keep up, and the reason names it",
        evidence(throttles=throttled("IndexWriteProvisionedThroughputExceeded", range(9), index="by_0")),
        "reason-provisioned", "table", "by_0",
    ),
    (
        "The reason is an index's, the client lost which, and there is only one",
        evidence(indexes=1, throttles=throttled("IndexWriteKeyRangeThroughputExceeded", range(9))),
        "reason-key-range", "partition", "by_0",
    ),
    (
        "No reasons, but CloudWatch counts key-range events",
        evidence(consumed(900), events(5_000), series("WriteKeyRangeThroughputThrottleEvents", 5_000)),
        "metric-key-range", "partition", "table",
    ),
    (
        "No reasons, but CloudWatch counts events of the provisioned throughput of an index",
        evidence(series("WriteProvisionedThroughputThrottleEvents", 700, index="by_0"), indexes=1),
        "metric-provisioned", "table", "by_0",
    ),
    (
        "A third of what is provisioned is consumed, and writes throttle minute after minute",
        evidence(consumed(1_300, 1_300, 1_300), events(9_000, 9_000, 9_000), provisioned(4_000)),
        "minutes-below-provisioned", "partition", "table",
    ),
    (
        "Consumption lies flat at what is provisioned, after the burst was spent",
        evidence(consumed(400, 100, 100, 100), events(0, 9_000, 9_000, 9_000), provisioned(100), minutes=4),
        "minutes-at-provisioned", "table", "table",
    ),
    (
        "The burst runs out within the only minute of load",
        evidence(consumed(560), events(60_000), provisioned(100), minutes=1),
        "minutes-burst-spent", "table", "table",
    ),
    (
        "A table of 500 gives 1,000 out of its burst, minute after minute, and throttles meanwhile",
        evidence(consumed(300, 1_000, 1_000), events(None, 9_000, 9_000), provisioned(500), minutes=3),
        "minutes-burst-in-hand", "partition", "table",
    ),
    (
        "The last minute is half empty: on average below what is provisioned, but the burst was spent before",
        evidence(consumed(600, 100, 50), events(9_000, 9_000, 9_500), provisioned(100), minutes=3),
        "minutes-burst-spent", "table", "table",
    ),
    (
        "Throttle events on the index and none on the table: its entries arrive faster than it takes them",
        evidence(
            consumed(500, 500), events(None, None), provisioned(4_000),
            consumed(450, 100, index="by_0"), events(None, 8_000, index="by_0"),
            provisioned(100, index="by_0"),
            indexes=1, throttles=throttled(None, range(61, 110)), minutes=2,
        ),
        "minutes-at-provisioned", "table", "by_0",
    ),
    (
        "An on-demand table at the maximum that its owner set",
        evidence(
            consumed(980, 990), events(500, 600), minutes=2,
            table={**ON_DEMAND, "max_on_demand": {"write": 1_000}},
        ),
        "on-demand-at-maximum", "max_on_demand", "table",
    ),
    (
        "An on-demand table and its index together at the account's quota",
        evidence(
            consumed(20_000), events(900), consumed(19_500, index="by_0"), minutes=1, indexes=1,
            table=ON_DEMAND, account={"table_write": 40_000},
        ),
        "on-demand-at-quota", "account", "table",
    ),
    (
        "An on-demand table far below every limit: what is left is a partition",
        evidence(
            consumed(1_000, 1_000), events(9_000, 9_000), series("OnDemandMaxWriteRequestUnits"),
            table=ON_DEMAND,
        ),
        "on-demand-below-limits", "partition", "table",
    ),
    (
        "Throttle events and nothing else",
        evidence(events(9_000)),
        "undetermined-no-consumed", "undetermined", "table",
    ),
    (
        "Throttle events and consumption, but nobody knows what is provisioned",
        evidence(consumed(1_000), events(9_000)),
        "undetermined-no-provisioned", "undetermined", "table",
    ),
    (
        "The client was throttled, CloudWatch counts none on the table, and nothing is known of its index",
        evidence(
            consumed(500), events(None), provisioned(4_000), indexes=1, throttles=throttled(None, range(9))
        ),
        "undetermined-resource", "undetermined", "table",
    ),
    (
        "A reason that no one knows yet, and no other evidence",
        evidence(throttles=throttled("TableWriteMoonPhaseExceeded", range(9))),
        "undetermined-no-consumed", "undetermined", "table",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("story", "found", "rule", "constraint", "resource"), ONE_RULE, ids=[r[0] for r in ONE_RULE]
)
def test_rule(
    story: str, found: Evidence, rule: str, constraint: str, resource: str, numbers: Thresholds
) -> None:
    labels = diagnosed(found, numbers).labels
    heaviest = max(labels, key=lambda label: label.throttles)
    assert (heaviest.rule, heaviest.constraint, heaviest.resource) == (rule, constraint, resource)
    assert {label.constraint for label in labels} == {constraint}
    assert any(character.isdigit() for character in heaviest.because[0])


def only(found: Evidence, numbers: Thresholds) -> Label:
    (label,) = diagnosed(found, numbers).labels
    return label


def test_the_best_grade_wins_and_the_conflict_is_said(numbers: Thresholds) -> None:
    """The client saw key-range reasons, CloudWatch counts provisioned throttles: one of them is wrong."""
    agreeing = evidence(
        consumed(1_000), series("WriteKeyRangeThroughputThrottleEvents", 3_000), provisioned(4_000),
        throttles=throttled(KEY_RANGE, range(10, 40)), minutes=1,
    )  # fmt: skip
    against = evidence(
        consumed(1_000), series("WriteProvisionedThroughputThrottleEvents", 3_000), provisioned(4_000),
        throttles=throttled(KEY_RANGE, range(10, 40)), minutes=1,
    )  # fmt: skip
    sure, unsure = only(agreeing, numbers), only(against, numbers)
    assert (sure.constraint, sure.grade) == (unsure.constraint, unsure.grade) == ("partition", "reason")
    assert unsure.confidence < sure.confidence * 0.8
    assert any(
        "conflict" in line and "3,000 WriteProvisionedThroughputThrottleEvents" in line
        for line in unsure.because
    )
    assert not any("conflict" in line for line in sure.because)


def test_a_conflict_with_consumption_is_said_and_weighs_less(numbers: Thresholds) -> None:
    found = evidence(
        consumed(3_990), series("WriteKeyRangeThroughputThrottleEvents", 3_000), provisioned(4_000),
        events(3_000), minutes=1,
    )  # fmt: skip
    label = only(found, numbers)
    assert label.constraint == "partition"
    assert any("conflict: consumption alone suggests table" in line for line in label.because)
    assert numbers.confidence.conflict < label.confidence < numbers.confidence.cause_metric


def test_the_clients_seconds_outvote_the_minutes_average(numbers: Thresholds) -> None:
    """Twice a minute 20 s at the table's limit: the minute's average is below it, the keys are even."""
    on, off = 100, 0
    stretches = [
        part
        for start in range(0, 300, 60)
        for part in ((range(start, start + 20), on, 50), (range(start + 20, start + 60), off, 0))
    ]
    seconds = [row for row in client_seconds(*stretches) if row["attempts"]]
    spent = client_seconds((range(-60, 0), 700, 0))
    bursty = evidence(
        consumed(*[on / 3] * 5), events(*[1_000] * 5), provisioned(100), seconds=[*spent, *seconds],
        throttles=[row for s in range(0, 300, 60) for row in throttled(None, range(s + 3, s + 18), 66)],
    )  # fmt: skip
    assert {label.constraint for label in diagnosed(bursty, numbers).labels} == {"table"}


def test_a_table_scaled_down_in_mid_window(numbers: Thresholds) -> None:
    """4,000 units/s to begin with; 500 from 12:05 on, and only then throttles: minutes have their own."""
    capacity = {
        "metric": "ProvisionedWriteCapacityUnits", "statistic": "Average", "period_s": 300,
        "points": [(START, 4_000), (START + timedelta(minutes=5), 500)],
    }  # fmt: skip
    found = evidence(
        consumed(*[1_500] * 5, 2_900, 500, 500, 500, 500),
        events(*[None] * 5, *[9_000] * 5),
        capacity,
        minutes=10,
    )
    assert only(found, numbers).constraint == "table"
    assert only(found, numbers).start == START + timedelta(minutes=5)


def test_reads_and_writes_are_labelled_apart(numbers: Thresholds) -> None:
    rows = throttled(KEY_RANGE, range(10, 40))
    rows += [{**row, "direction": "read", "reason": "TableReadProvisionedThroughputExceeded"} for row in rows]
    labels = diagnosed(evidence(throttles=rows), numbers).labels
    assert {(label.direction, label.constraint) for label in labels} == {
        ("write", "partition"),
        ("read", "table"),
    }


def test_a_pause_parts_two_spans(numbers: Thresholds) -> None:
    near = throttled(KEY_RANGE, range(10)) + throttled(KEY_RANGE, range(60, 70))
    far = throttled(KEY_RANGE, range(10)) + throttled(KEY_RANGE, range(80, 90))
    assert len(diagnosed(evidence(throttles=near), numbers).labels) == 1
    assert len(diagnosed(evidence(throttles=far), numbers).labels) == 2


def test_a_sprinkle_makes_no_verdict_but_stays_listed(numbers: Thresholds) -> None:
    found = evidence(
        throttles=throttled(KEY_RANGE, range(3), 2), seconds=client_seconds((range(100), 1_000, 0))
    )
    diagnosis = diagnosed(found, numbers)
    assert diagnosis.verdict.constraint == "none"
    assert diagnosis.verdict.valid
    assert "sprinkle" in diagnosis.verdict.because[0]
    assert [label.constraint for label in diagnosis.labels] == ["partition"]


COMPLETE = (
    consumed(10, 10), events(None, None),
    series("ConsumedReadCapacityUnits", 0, 0), series("ReadThrottleEvents"),
)  # fmt: skip
WITHOUT_THROTTLES: list[tuple[str, Evidence, str]] = [
    ("CloudWatch published every minute", evidence(*COMPLETE, minutes=2), "none"),
    ("the client recorded its seconds", evidence(seconds=client_seconds((range(60), 50, 0))), "none"),
    ("one minute was never published", evidence(*COMPLETE, minutes=3), "undetermined"),
    ("throttle events were never asked for", evidence(*COMPLETE[::2], minutes=2), "undetermined"),
    ("nothing is known of an index", evidence(*COMPLETE, minutes=2, indexes=1), "undetermined"),
    ("there is nothing at all", evidence(), "undetermined"),
    ("the client sent nothing", evidence(seconds=[], throttles=[]), "undetermined"),
]


@pytest.mark.parametrize(
    ("story", "found", "constraint"), WITHOUT_THROTTLES, ids=[r[0] for r in WITHOUT_THROTTLES]
)
def test_without_throttles(story: str, found: Evidence, constraint: str, numbers: Thresholds) -> None:
    verdict = diagnosed(found, numbers).verdict
    assert verdict.constraint == constraint
    assert verdict.valid == (constraint == "none")
    assert verdict.because


def test_a_generator_that_was_the_limit_is_said_first(numbers: Thresholds) -> None:
    manifest = Manifest.model_validate(
        {"started_at": START, "table": {"name": "t"}, "generator": {"bound": True, "checks": ["CPU at 99 %"]}}
    )
    found = evidence(throttles=throttled(KEY_RANGE, range(10, 40)))
    diagnosis = diagnosed(found, numbers, ClientFiles(manifest=manifest))
    assert not diagnosis.verdict.valid
    assert diagnosis.verdict.because[0].startswith("the load generator was the limit")
    assert diagnosis.verdict.because[1] == "CPU at 99 %"
    assert diagnosis.generator.bound


EVEN = Keys.model_validate({"overall": {"write": [{"key": "k", "units": 60, "share": 0.001}]}})
HOT = Keys.model_validate({"overall": {"write": [{"key": "k", "units": 540_000, "share": 0.5}]}})


@pytest.mark.parametrize(("keys", "rule"), [(EVEN, "on-demand-not-grown"), (HOT, "reason-key-range")])
def test_an_on_demand_table_that_has_not_grown_yet(keys: Keys, rule: str, numbers: Thresholds) -> None:
    """4,000 units/s warm, 3,600 consumed, key-range reasons: with even keys it is not a hot key."""
    found = evidence(
        consumed(3_600, 3_600), throttles=throttled(KEY_RANGE, range(5, 110)), minutes=2,
        table={**ON_DEMAND, "warm": {"write": 4_000}},
    )  # fmt: skip
    diagnosis = diagnosed(found, numbers, ClientFiles(keys=keys))
    (label,) = diagnosis.labels
    assert (label.constraint, label.rule) == ("partition", rule)
    actions = {advice.action for advice in diagnosis.recommendations}
    assert ({"ramp", "pre_warm"} <= actions) == (rule == "on-demand-not-grown")
    assert ("shard_writes" in actions) == (rule == "reason-key-range")
