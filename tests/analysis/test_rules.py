"""Every rule on hand-written evidence: a row each, with a sentence that says what happened."""

import pytest

from keyheat.analysis.thresholds import Thresholds
from keyheat.runs.formats import Evidence
from tests.analysis.handwritten import (
    KEY_RANGE,
    ON_DEMAND,
    PROVISIONED,
    client_seconds,
    consumed,
    diagnosed,
    events,
    evidence,
    provisioned,
    series,
    throttled,
)

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
        "minutes-below-estimated", "partition", "table",
    ),
    (
        "Consumption lies flat at what is provisioned, after the burst was spent",
        evidence(consumed(400, 100, 100, 100), events(0, 9_000, 9_000, 9_000), provisioned(100), minutes=4),
        "minutes-at-provisioned", "table", "table",
    ),
    (
        "Reads lie flat at 1,000 provisioned units, which is a ceiling of writes and not of reads",
        evidence(
            series("ConsumedReadCapacityUnits", 60_000, 60_000),
            series("ReadThrottleEvents", 9_000, 9_000),
            series("ProvisionedReadCapacityUnits", 1_000, statistic="Average"), minutes=2,
        ),
        "minutes-at-provisioned", "table", "table",
    ),
    (
        "The burst runs out within the only minute of load",
        evidence(consumed(560), events(60_000), provisioned(100), minutes=1),
        "minutes-burst-spent", "table", "table",
    ),
    (
        "A table of 500 gives 1,100 out of its burst, minute after minute, and throttles meanwhile",
        evidence(
            consumed(300, 1_100, 1_100, 1_100), events(None, 9_000, 90, None), provisioned(500), minutes=4
        ),
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
        "No reasons, but CloudWatch counts events of the maximum that the owner set",
        evidence(series("WriteMaxOnDemandThroughputThrottleEvents", 700), table=ON_DEMAND),
        "metric-max-on-demand", "max_on_demand", "table",
    ),
    (
        "No reasons, but CloudWatch counts events of the account's quota",
        evidence(series("WriteAccountLimitThrottleEvents", 700), table=ON_DEMAND),
        "metric-account", "account", "table",
    ),
    (
        "The client consumes a quarter of what is provisioned in every throttled second",
        evidence(
            provisioned(4_000), throttles=throttled(None, range(10, 50)),
            seconds=client_seconds((range(60), 1_000, 100)),
        ),
        "seconds-below-provisioned", "partition", "table",
    ),
    (
        "The client consumes 1,000 units/s of 500 out of the burst, and is throttled meanwhile",
        evidence(
            provisioned(500), throttles=throttled(None, range(10, 50)),
            seconds=client_seconds((range(60), 1_000, 100)),
        ),
        "seconds-burst-in-hand", "partition", "table",
    ),
    (
        "The burst is spent after half a minute, then the client gets what is provisioned, no more",
        evidence(
            provisioned(1_300), seconds=client_seconds((range(20), 2_600, 0), (range(20, 45), 1_300, 900)),
        ),
        "seconds-at-provisioned", "table", "table",
    ),
    (
        "Room on the table, by the client's seconds; an index could be the cause, which makes it less sure",
        evidence(
            provisioned(4_000), indexes=1, throttles=throttled(None, range(10, 50)),
            seconds=client_seconds((range(60), 1_000, 100)),
        ),
        "seconds-below-provisioned", "partition", "table",
    ),
    (
        "One full minute at 1,000 units/s with burst left: a partition's ceiling or the table's 1,000?",
        evidence(consumed(1_000), events(9_000), provisioned(1_000), minutes=1),
        "undetermined-minutes-at-ceiling", "undetermined", "table",
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
