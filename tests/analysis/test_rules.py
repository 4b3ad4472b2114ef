"""Every rule on hand-written evidence: the situations that a DBA meets, a row each; and in a terminal."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.report import evidence_alone
from keyheat.analysis.rules import NOT_GROWN, RULES
from keyheat.runs.formats import Evidence
from keyheat.runs.plausibility import read_evidence
from keyheat.show.run import run_answer
from keyheat.words import LIMITS
from tests.conftest import Golden
from tests.make import PROVISIONED, START, a_series, client_seconds, consumed, provisioned, throttled
from tests.make import an_evidence as evidence
from tests.make import provisioned_over_time as over_time
from tests.make import throttle_events as events
from tests.pages.conftest import on_screen, trimmed

EXAMPLES = sorted((Path(__file__).parent / "examples").glob("*.json"))
"""An example of each of these rules, called after it, and what a terminal says of it."""
ON_DEMAND = {"billing_mode": "PAY_PER_REQUEST"}
MAXIMUM = {**ON_DEMAND, "max_on_demand": {"write": 2_000}}


def hourly(metric: str, *values: float, statistic: str = "Sum") -> dict[str, Any]:
    """One value an hour from 12:00 on, as CloudWatch keeps them of old windows."""
    points = [(START + timedelta(hours=n), value) for n, value in enumerate(values)]
    return {"metric": metric, "statistic": statistic, "period_s": 3_600, "points": points}


BURSTS = range(50, 900, 60)  # each spends what the 50 s before it saved

SITUATIONS: dict[str, tuple[Evidence, str, str, str]] = {
    # what happened, the evidence, then rule, constraint and resource of the label with most throttles
    "The reason is an index's, the client lost which, and there is only one": (
        evidence(indexes=1, throttles=throttled("IndexWriteKeyRangeThroughputExceeded", range(9))),
        "reason-key-range", "partition", "by_0",
    ),
    "Reads lie flat at 1,000 provisioned units, which is a ceiling of writes and not of reads": (
        evidence(
            a_series("ConsumedReadCapacityUnits", 60_000, 60_000),
            a_series("ReadThrottleEvents", 9_000, 9_000),
            a_series("ProvisionedReadCapacityUnits", 1_000, statistic="Average"), minutes=2,
        ),
        "minutes-at-provisioned", "table", "table",
    ),
    "A table of 500 gives 1,100 out of its burst, minute after minute, and throttles meanwhile": (
        evidence(
            consumed(300, 1_100, 1_100, 1_100), events(None, 9_000, 90, None), provisioned(500), minutes=4
        ),
        "minutes-burst-in-hand", "partition", "table",
    ),
    "Throttle events on the index and none on the table: its entries arrive faster than it takes them": (
        evidence(
            consumed(500, 500), events(None, None), provisioned(4_000),
            consumed(450, 100, index="by_0"), events(None, 8_000, index="by_0"),
            provisioned(100, index="by_0"),
            indexes=1, throttles=throttled(None, range(61, 110)), minutes=2,
        ),
        "minutes-at-provisioned", "table", "by_0",
    ),
    "Table and index throttle in the same minutes: the client's seconds are of both": (
        evidence(
            consumed(400, 400), events(900, 900), provisioned(4_000),
            consumed(100, 100, index="by_0"), events(900, 900, index="by_0"), provisioned(100, index="by_0"),
            indexes=1, throttles=throttled(None, range(120), 30),
            seconds=client_seconds((range(120), 400, 30)), minutes=2,
        ),
        "minutes-at-provisioned", "table", "by_0",
    ),
    "An on-demand table that consumed more than its maximum of today: it was set later": (
        evidence(
            consumed(1_300, 1_300), events(9_000, 9_000), minutes=2,
            table={**ON_DEMAND, "max_on_demand": {"write": 800}},
        ),
        "on-demand-below-limits", "partition", "table",
    ),
    "The client consumes 1,000 units/s of 500 out of the burst, and is throttled meanwhile": (
        evidence(
            provisioned(500), throttles=throttled(None, range(10, 50)),
            seconds=client_seconds((range(60), 1_000, 100)),
        ),
        "seconds-burst-in-hand", "partition", "table",
    ),
    "The burst is spent after half a minute, then the client gets what is provisioned, no more": (
        evidence(
            provisioned(1_300), seconds=client_seconds((range(20), 2_600, 0), (range(20, 45), 1_300, 900)),
        ),
        "seconds-at-provisioned", "table", "table",
    ),
    "One full minute at 1,000 units/s with burst left: a partition's ceiling or the table's 1,000?": (
        evidence(consumed(1_000), events(9_000), provisioned(1_000), minutes=1),
        "undetermined-at-ceiling", "undetermined", "table",
    ),
    "Throttle events and consumption, but nobody knows what is provisioned": (
        evidence(consumed(1_000), events(9_000)),
        "undetermined-no-provisioned", "undetermined", "table",
    ),
    "A reason that no one knows yet, and no other evidence": (
        evidence(throttles=throttled("TableWriteMoonPhaseExceeded", range(9))),
        "undetermined-no-consumed", "undetermined", "table",
    ),
    "So little is consumed that one partition would have served it within a second": (
        evidence(consumed(10, 10, 10), events(0, 900, 900), provisioned(10), minutes=3),
        "minutes-too-few-units", "table", "table",
    ),
    "30 units/s of 8: a partition was full for two seconds at most, and the table is tiny": (
        evidence(consumed(30, 29, 31), events(310, 280, 0), provisioned(8), minutes=3),
        "minutes-in-chunks", "table", "table",
    ),
    "The same, by the client's seconds": (
        evidence(
            consumed(10, 10), events(900, 900), provisioned(10), minutes=2,
            throttles=throttled(None, range(5, 110), 17), seconds=client_seconds((range(110), 11, 17)),
        ),
        "seconds-too-few-units", "table", "table",
    ),
    "A nearly idle table of 5,000: neither it nor a partition of it can have been at its limit": (
        evidence(consumed(10, 10), events(40, 40), provisioned(5_000), minutes=2),
        "undetermined-neither", "undetermined", "table",
    ),
    "The next minute is above as well: burst was still coming": (
        evidence(consumed(2_100, 1_700), events(9_000, 4_000), provisioned(1_500), minutes=2),
        "minutes-burst-estimated", "partition", "table",
    ),
    "More than half of what is provisioned: a spike may have met it, if no burst came": (
        evidence(consumed(1_700), events(9_000), provisioned(2_500), minutes=1),
        "minutes-near-provisioned", "partition", "table",
    ),
    "One of four throttled minutes is at what is provisioned, perhaps by chance": (
        evidence(
            consumed(700, 1_300, 2_000, 2_600), events(9_000, 9_000, 9_000, 90_000), provisioned(2_600),
            minutes=4,
        ),
        "minutes-at-once", "table", "table",
    ),
    "A second of 3,000 on a table of 1,300, and no more than that before and after it": (
        evidence(
            provisioned(1_300), minutes=1, throttles=throttled(None, range(10, 11), 200),
            seconds=client_seconds(
                (range(10), 1_200, 0), (range(10, 11), 3_000, 200), (range(11, 40), 1_200, 0)
            ),
        ),
        "seconds-above-provisioned", "partition", "table",
    ),
    "Seconds near what is provisioned, and never just that": (
        evidence(
            consumed(620), events(6_000), provisioned(1_300), minutes=1,
            seconds=client_seconds((range(30), 1_240, 200)),
        ),
        "seconds-near-provisioned", "partition", "table",
    ),
    "With what somebody else consumed, all came to what is provisioned": (
        evidence(
            consumed(670), events(4_500), provisioned(950), minutes=1,
            seconds=client_seconds((range(40), 840, 75)),
        ),
        "undetermined-others", "undetermined", "table",
    ),
    "With what somebody else consumed, if evenly, the table had room": (
        evidence(
            consumed(600), events(2_000), provisioned(1_600), minutes=1,
            seconds=client_seconds((range(20), 1_100, 100)),
        ),
        "seconds-others-even", "partition", "table",
    ),
    "With what somebody else consumed, the table may have been at its limit": (
        evidence(
            consumed(660), events(3_000), provisioned(950), minutes=1,
            seconds=client_seconds((range(30), 700, 100)),
        ),
        "undetermined-others", "undetermined", "table",
    ),
    "On demand, with what somebody else consumed, the maximum may have been reached": (
        evidence(
            consumed(540), events(900), minutes=1, table=MAXIMUM,
            seconds=client_seconds((range(10, 30), 1_100, 45)),
        ),
        "undetermined-others", "undetermined", "table",
    ),
    "A burst that ran out late in a minute in which it was a partition that throttled": (
        evidence(
            consumed(1_250, 1_500, 1_250, 500), events(0, 9_000, 9_500, 0), provisioned(500), minutes=4
        ),
        "undetermined-weak", "undetermined", "table",
    ),
    "A load of a minute and a half at the table's limit, when the window begins": (
        evidence(consumed(1_300, 640), events(900, 9_000), provisioned(1_300), minutes=2),
        "undetermined-weak", "undetermined", "table",
    ),
    "Bursts that empty what was saved since the last one, again and again": (
        evidence(
            provisioned(100),
            throttles=[row for start in BURSTS for row in throttled(None, range(start + 9, start + 10))],
            seconds=client_seconds(
                (range(-60, 0), 600, 0),
                *((range(start, start + 9), 633.3, 0) for start in BURSTS),
                *((range(start + 9, start + 10), 300, 100) for start in BURSTS),
            ),
            minutes=15,
        ),
        "seconds-burst-spent", "table", "table",
    ),
    "The client's seconds are at the on-demand maximum, the minute is not": (
        evidence(
            consumed(700), events(2_000), minutes=1, table=MAXIMUM,
            throttles=throttled(None, range(10, 30)), seconds=client_seconds((range(10, 31), 2_000, 45)),
        ),
        "seconds-at-maximum", "max_on_demand", "table",
    ),
    "The client's seconds are at the account's quota, the minute is not": (
        evidence(
            consumed(14_000), events(2_000), minutes=1, table=ON_DEMAND, account={"table_write": 40_000},
            throttles=throttled(None, range(10, 30)), seconds=client_seconds((range(10, 31), 40_000, 45)),
        ),
        "seconds-at-quota", "account", "table",
    ),
    "The client's seconds are below all limits of an on-demand table": (
        evidence(
            consumed(330), events(2_000), minutes=1, table=MAXIMUM,
            throttles=throttled(None, range(10, 30)), seconds=client_seconds((range(10, 30), 1_000, 45)),
        ),
        "seconds-below-limits", "partition", "table",
    ),
    "A maximum of 500, which no partition can be the limit below": (
        evidence(
            consumed(200), events(900), minutes=1, table={**ON_DEMAND, "max_on_demand": {"write": 500}},
        ),
        "on-demand-small-maximum", "max_on_demand", "table",
    ),
    "A third of the quota on average, on a table grown beyond it: a burst may have reached it": (
        evidence(
            consumed(14_000), events(900), minutes=1, table={**ON_DEMAND, "warm": {"write": 60_000}},
            account={"table_write": 40_000},
        ),
        "undetermined-weak", "undetermined", "table",
    ),
    "The same on a table that has not so many partitions: the quota is out of its reach": (
        evidence(
            consumed(2_000, 2_000), events(900, 900), a_series("OnDemandMaxWriteRequestUnits"), minutes=2,
            table={**ON_DEMAND, "warm": {"write": 4_000}}, account={"table_write": 10_000},
        ),
        "on-demand-below-limits", "partition", "table",
    ),
    "Table and index throttle in one minute, a third of the quota on average: it is what they share": (
        evidence(
            consumed(7_000), events(900), consumed(7_000, index="by_0"), events(700, index="by_0"),
            minutes=1, indexes=1, table={**ON_DEMAND, "warm": {"write": 60_000}},
            account={"table_write": 40_000},
        ),
        "on-demand-together", "account", "table",
    ),
    "The load begins late in the minute before one at the quota": (
        evidence(
            consumed(14_000, 39_900), events(9_000, 900), minutes=2, table=ON_DEMAND,
            account={"table_write": 40_000},
        ),
        "on-demand-near-quota", "account", "table",
    ),
    "The same beside the maximum": (
        evidence(consumed(700, 1_990), events(9_000, 900), minutes=2, table=MAXIMUM),
        "undetermined-weak", "undetermined", "table",
    ),
    "Lowered at an unknown moment, and the load that was served until then is throttled": (
        evidence(
            consumed(400, 162), events(0, 14_300),
            *over_time(Average=(330,), Minimum=(60,), Maximum=(600,)), minutes=2,
            table={"provisioned": {"write": 60}},
        ),
        "table-scaled-down", "table", "table",
    ),
    "Lowered at an unknown moment of the period in which DynamoDB names the provisioned throughput": (
        evidence(
            consumed(100, 100), events(900, 900),
            *over_time(Average=(330,), Minimum=(60,), Maximum=(600,)), minutes=2,
            throttles=throttled(PROVISIONED, range(110), 16),
        ),
        "table-scaled-down", "table", "table",
    ),
    "Hours far below what is provisioned: burst came back all the time": (
        evidence(
            hourly("ConsumedWriteCapacityUnits", *[1_000 * 3_600] * 4),
            hourly("WriteThrottleEvents", *[9_000] * 4),
            hourly("ProvisionedWriteCapacityUnits", *[6_000] * 4, statistic="Average"), minutes=240,
        ),
        "minutes-below-estimated", "partition", "table",
    ),
    "At what is provisioned, but the metric of that very cause says zero": (
        evidence(
            consumed(*[700] * 5), events(*[9_000] * 5), provisioned(700),
            a_series("WriteProvisionedThroughputThrottleEvents", *[0] * 5),
        ),
        "undetermined-weak", "undetermined", "table",
    ),
    "The minute in which the burst runs out after that": (
        evidence(
            consumed(*[1_500] * 5, 1_300, *[1_000] * 4), events(*[None] * 5, 12_000, *[9] * 4),
            *over_time(Average=(4_000, 1_000)), minutes=10,
        ),
        "table-scaled-down", "table", "table",
    ),
    "A third of each minute at what a partition serves, and the table: by what was saved, it had room": (
        evidence(
            consumed(*[1_000 / 3] * 6), events(*[4_000] * 6), provisioned(1_000), minutes=6,
            throttles=[row for m in range(6) for row in throttled(None, range(60 * m, 60 * m + 20), 200)],
            seconds=client_seconds(*((range(60 * m, 60 * m + 20), 1_000, 200) for m in range(6))),
        ),
        "undetermined-at-ceiling", "undetermined", "table",
    ),
    "An index used up what it has, and nobody asked for throttle events: the table had room": (
        evidence(
            consumed(400), consumed(100, index="by_0"), provisioned(4_000), provisioned(100, index="by_0"),
            throttles=throttled(None, range(60), 30), seconds=client_seconds((range(60), 400, 30)),
            minutes=1, indexes=1,
        ),
        "undetermined-resource", "undetermined", "table",
    ),
    "Auto scaling answers after minutes at the table's limit": (
        evidence(
            consumed(1_700, *[300] * 9, *[600] * 5), events(None, *[9_000] * 9, *[None] * 5),
            *over_time(Average=(300, 300, 600)), minutes=15,
        ),
        "auto-scaling-late", "table", "table",
    ),
    "The throttles stop by themselves after five minutes, and the load goes on": (
        evidence(consumed(*[1_300] * 9), events(*[9_000] * 5), provisioned(4_000), minutes=9),
        "key-range-split", "partition", "table",
    ),
    "They stop within three minutes, with a split that the table's stream shows": (
        evidence(
            consumed(*[1_300] * 7), events(*[9_000] * 3), provisioned(4_000), minutes=7,
            partitions={"open_shards": 5, "splits": ["2026-11-20T12:02:40Z"]},
        ),
        "key-range-split-seen", "partition", "table",
    ),
    "Lowered within five minutes, at a moment that nobody knows: both values fit to another limit": (
        evidence(
            consumed(800, 800), events(9_000, 9_000),
            *over_time(Average=(700,), Minimum=(500,), Maximum=(900,)), minutes=2,
        ),
        "undetermined-capacity-changed", "undetermined", "table",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("found", "rule", "constraint", "resource"), SITUATIONS.values(), ids=SITUATIONS)
def test_a_situation_is_decided_by_its_rule(
    found: Evidence, rule: str, constraint: str, resource: str
) -> None:
    heaviest = max(diagnosed(found, replay_s=0).labels, key=lambda label: label.throttles)
    assert (heaviest.rule, heaviest.constraint, heaviest.resource) == (rule, constraint, resource)
    assert any(character.isdigit() for line in heaviest.because for character in line)


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_of_each_rule_in_a_terminal(path: Path, golden: Golden) -> None:
    found = read_evidence(path)
    diagnosis = diagnosed(found)
    assert path.stem in {diagnosis.verdict.rule, *(label.rule for label in diagnosis.labels)}
    answer = run_answer(evidence_alone(found, diagnosis))
    golden(path.with_suffix(".txt"), trimmed(on_screen(answer)))


def test_a_part_of_a_minute_beside_one_at_the_maximum_points_to_the_maximum() -> None:
    found, *_decided = SITUATIONS["The same beside the maximum"]
    heaviest = max(diagnosed(found, replay_s=0).labels, key=lambda label: label.throttles)
    assert f"That points to {LIMITS['max_on_demand']}" in " ".join(heaviest.because)


def test_the_longer_the_average_the_less_sure() -> None:
    """Of an hour far below a limit nobody knows that no minutes were at it."""
    by_minutes = evidence(consumed(700), events(9_000), provisioned(2_500), minutes=1)
    by_the_hour = evidence(
        hourly("ConsumedWriteCapacityUnits", 700 * 3_600), hourly("WriteThrottleEvents", 9_000),
        hourly("ProvisionedWriteCapacityUnits", 2_500, statistic="Average"), minutes=60,
    )  # fmt: skip
    on_demand, hours_on_demand = (
        evidence(*found, a_series("OnDemandMaxWriteRequestUnits"), table=MAXIMUM, minutes=60)
        for found in (
            (consumed(300), events(9_000)),
            (hourly("ConsumedWriteCapacityUnits", 300 * 3_600), hourly("WriteThrottleEvents", 9_000)),
        )
    )
    for surer, less in ((by_minutes, by_the_hour), (on_demand, hours_on_demand)):
        (sure,), (unsure,) = (diagnosed(found, replay_s=0).labels for found in (surer, less))
        assert sure.constraint == unsure.constraint == "partition"
        assert unsure.confidence < sure.confidence


@pytest.mark.parametrize(("per_s", "rule"), [(60, "undetermined-neither"), (150, "undetermined-no-consumed")])
def test_in_a_lost_minute_the_client_speaks_as_far_as_in_the_others(per_s: int, rule: str) -> None:
    """It consumed 60 units/s. Where others consumed as well before, they will not have stopped."""
    found = evidence(
        consumed(per_s, per_s), events(0, 0), provisioned(100), minutes=3,
        throttles=throttled(None, range(125, 175), 20), seconds=client_seconds((range(180), 60, 20)),
    )  # fmt: skip
    (label,) = (
        one for one in diagnosed(found, replay_s=0).labels if one.start >= START + timedelta(minutes=2)
    )
    assert label.rule == rule


def test_every_rule_decides_a_situation_or_an_example() -> None:
    assert {rule for _, rule, *_ in SITUATIONS.values()} | {path.stem for path in EXAMPLES} | {
        NOT_GROWN
    } == RULES.keys()
