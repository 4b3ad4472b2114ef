"""Cures of a table that others load: their number is tried on a replay of the demand."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.advice.fix import remedy_of
from keyheat.analysis.advice.replay import NEVER_S, as_it_behaved
from keyheat.analysis.advice.rerun import MOST_S
from keyheat.analysis.advice.start import start_of
from keyheat.analysis.advice.table_then import as_it_was
from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.table_diagnosis import diagnosed_alone, replayed_table
from keyheat.analysis.timeline import timeline
from keyheat.model.behaviour import DEFAULT
from keyheat.plan.prices import Billing, load_prices
from keyheat.runs.formats import Evidence, Recommendation, write_diagnosis, write_evidence
from keyheat.runs.plausibility import read_evidence
from keyheat.show.advice import cure_of, cures_elsewhere, now_of, other_cures, simulated_words
from keyheat.show.diagnosis import diagnosis_answer
from keyheat.words import Capacity
from tests.make import (
    START,
    a_diagnosis,
    a_series,
    an_evidence,
    consumed,
    provisioned,
    provisioned_over_time,
    throttle_events,
)

pytestmark = pytest.mark.slow

EVIDENCE = Path(__file__).parent / "hot-key-of-1620.json"


def of_writes(
    per_s: list[float], throttles: list[float], has: float, cause: str = "KeyRange", **more: Any
) -> Evidence:
    """Writes minute by minute that one limit throttles, on a table that has this capacity."""
    table = {"provisioned": {"read": 5, "write": has}} | more.pop("table", {})
    return an_evidence(
        consumed(*per_s), throttle_events(*throttles), provisioned(has),
        a_series(f"Write{cause}ThroughputThrottleEvents", *throttles),
        minutes=len(per_s), table=table, **more,
    )  # fmt: skip


def test_the_shards_of_a_diagnosis_are_those_that_a_replay_needs() -> None:
    """3 by formula leave 4 % throttled: two of them meet in one partition."""
    evidence = read_evidence(EVIDENCE)
    assert cure_of(diagnosed(evidence, replay_s=0)) == "shard the hot key (3 shards)"
    found = diagnosed_alone(evidence, "eu-central-1", Billing(load_prices())).run.diagnosis
    sharded = next(one for one in found.recommendations if one.action == "shard_writes")
    assert (sharded.shards, sharded.foreseen.formula_shards) == (4, 3)
    assert sharded.foreseen.formula_share_after == pytest.approx(0.04, abs=0.01)
    assert sharded.foreseen.throttle_share_after == 0
    assert sharded.bill.before_dollars_per_month == sharded.bill.after_dollars_per_month
    assert cure_of(found) == cure_of(diagnosed(evidence, replay_s=MOST_S)) == "shard the hot key (4 shards)"


def test_a_number_by_formula_is_raised_where_shards_meet_in_one_partition(tmp_path: Path) -> None:
    seen = read_evidence(EVIDENCE)
    write_evidence(tmp_path / "evidence.json", seen)
    write_diagnosis(tmp_path / "diagnosis.json", diagnosed(seen, replay_s=0))
    remedy = remedy_of(start_of(tmp_path, None), None)
    assert remedy.scenario.keys.shards == 5
    assert "By the formula it takes 3; some of those would share a partition here." in remedy.notes


def test_a_replay_does_not_split_what_throttled_for_longer_than_a_split_takes() -> None:
    """Twenty minutes on one key: a split that ended them after five would prove no cure."""
    found = of_writes([300] * 5 + [1_000] * 20, [0] * 5 + [45_000] * 20, 2_000)
    arranged = timeline(found)
    heaviest = max(diagnosed(found, replay_s=0).labels, key=lambda label: label.throttles)
    assert as_it_behaved(arranged, heaviest, 0).split_heat_s == (NEVER_S, NEVER_S)
    brief = heaviest.model_copy(update={"end": heaviest.start + timedelta(minutes=5)})
    assert as_it_behaved(arranged, brief, 0) == DEFAULT


def test_a_cure_of_an_incident_has_the_capacity_for_what_it_lets_through() -> None:
    """A key asks for 1,750 of 2,050 WCU/s: on 2,000 burst would serve its shards for hours."""
    minutes, throttles = range(5, 11), [0] * 5 + [45_000] * 6
    rules = [
        {
            "rule": f"DynamoDBContributorInsights-PK{letter}-orders-1", "counts": counts, "period_s": 60,
            "total": total,
            "keys": [{
                "key": "sha256:7cc4eaaf2313b304", "value": value * 6,
                "points": [[START + timedelta(minutes=minute), value] for minute in minutes],
            }],
        }
        for letter, counts, value, total in (
            ("C", "accessed", 3 * 60_000, 3 * (78_000 * 6 + 18_000 * 5)),  # a write counts three times
            ("T", "throttled", 45_000, 45_000 * 6),
        )
    ]  # fmt: skip
    found = of_writes([300] * 5 + [1_300] * 6, throttles, 2_000, contributors=rules)
    cure = cure_of(diagnosed(found, replay_s=MOST_S))
    assert cure == "shard the hot key (3 shards) and raise the capacity to 2,929 WCU/s"


@pytest.mark.parametrize("raised", [False, True])
def test_a_replay_has_the_capacity_of_then(raised: bool) -> None:
    """CloudWatch published its writes; its reads are taken to be as described."""
    described = {"provisioned_now" if raised else "provisioned": {"read": 100, "write": 1_300}}
    found = an_evidence(consumed(300, 300), provisioned(300), minutes=2, table=described)
    assert as_it_was(found.table, timeline(found), START.timestamp()).provisioned == Capacity(100, 300)


def test_a_few_throttles_that_are_not_decided_do_not_ask_for_evidence_tonight() -> None:
    asked = Recommendation(
        action="collect_evidence", kind="mitigation", why="", expected="", resource="table", direction="write"
    )
    assert now_of(a_diagnosis("table", recommendations=[asked])) is None
    assert now_of(a_diagnosis("undetermined", valid=False, recommendations=[asked])) == asked


def test_a_cure_by_formula_has_the_capacity_that_is_short_as_well() -> None:
    """No key is known, so nothing can be replayed; 1,700 of 1,500 WCU/s were asked for all the same."""
    asked = [1_500] * 5, [12_000] * 5
    cured = diagnosed(of_writes(*asked, 1_500), replay_s=0)
    assert [step.action for step in cured.cure.steps][1:] == ["raise_capacity"]
    assert cured.cure.steps[1].units == 2_429  # at 70 %
    assert simulated_words(cured.cure).startswith("By formula, not simulated")
    assert diagnosed(of_writes(*asked, 4_000), replay_s=0).cure is None


def test_a_cure_costs_more_than_what_is_paid_today_and_not_than_what_was_paid_then() -> None:
    """300 WCU/s were provisioned while it throttled, and 800 are by now."""
    today = {"provisioned": None, "provisioned_now": {"read": 5, "write": 800}}
    found = of_writes([300] * 5, [60_000] * 5, 300, "Provisioned", table=today)
    prices = load_prices()
    raised = next(item for item in diagnosed(found, replay_s=0).recommendations if item.units)
    reserved = prices.provisioned.hourly(Capacity(read=5, write=800)) * 730
    assert raised.bill.before_dollars_per_month == pytest.approx(reserved)


def test_a_higher_minimum_is_no_command_while_auto_scaling_is_not_known() -> None:
    """Raised from 300 to 800 within the throttles: a maximum of 800 would undo any capacity."""
    capacity = a_series("ProvisionedWriteCapacityUnits", *[300] * 7, *[800] * 8, statistic="Average")
    throttles = [0] * 2 + [60_000] * 5 + [42_000] * 8
    found = an_evidence(
        consumed(*[250] * 2, *[300] * 5, *[800] * 8), throttle_events(*throttles), capacity,
        a_series("WriteProvisionedThroughputThrottleEvents", *throttles), minutes=15,
        table={"provisioned": {"read": 5, "write": 800}},
    )  # fmt: skip
    answer = diagnosis_answer(diagnosed_alone(found, "eu-central-1", Billing(load_prices())))
    (for_good,) = (fact for fact in answer.facts if fact.name == "For good")
    assert for_good.value.startswith("Keep a higher minimum capacity")
    assert for_good.command.startswith("aws application-autoscaling describe-scalable-targets")


def test_a_cure_by_formula_names_what_cures_the_other_limits() -> None:
    seen = an_evidence(
        consumed(*[1_200] * 5), consumed(*[300] * 5, index="by_day"), provisioned(4_000),
        throttle_events(*[20_000] * 5), throttle_events(*[40_000] * 5, index="by_day"),
        a_series("WriteKeyRangeThroughputThrottleEvents", *[20_000] * 5),
        a_series("WriteProvisionedThroughputThrottleEvents", *[40_000] * 5, index="by_day"),
        table={
            "provisioned": {"read": 5, "write": 4_000},
            "indexes": [{"name": "by_day", "provisioned": {"read": 5, "write": 300}}],
        },
    )  # fmt: skip
    diagnosis = diagnosed(seen, replay_s=0)
    assert cure_of(diagnosis) == "raise the capacity of index by_day to 1,381 WCU/s"
    assert list(cures_elsewhere(diagnosis)) == [
        "for writes of the table, with 33 % of the throttles: shard the hot key (2 shards)"
    ]


def test_the_cure_of_a_second_limit_of_one_resource_is_no_choice_beside_the_first() -> None:
    by_table, by_partition = [0] * 6 + [30_000] * 16, [0] * 2 + [4_500] * 4 + [0] * 16
    seen = an_evidence(
        consumed(*[500] * 2, *[1_625] * 4, *[1_200] * 16), provisioned(1_200),
        throttle_events(*map(sum, zip(by_table, by_partition, strict=True))),
        a_series("WriteKeyRangeThroughputThrottleEvents", *by_partition),
        a_series("WriteProvisionedThroughputThrottleEvents", *by_table), minutes=22,
        table={"provisioned": {"read": 100, "write": 1_200}},
    )  # fmt: skip
    diagnosis = diagnosed(seen, replay_s=0)
    assert cure_of(diagnosis) == "raise the capacity to 2,429 WCU/s"
    assert other_cures(diagnosis) == "turn on auto scaling up to 2,429 WCU/s or switch to on-demand mode"
    assert [line.partition(": ")[0] for line in cures_elsewhere(diagnosis)] == [
        "for writes of the table, with 4 % of the throttles, by a partition limit"
    ]


def test_partitions_that_are_all_full_are_replayed_without_a_hot_key_and_pre_warmed(tmp_path: Path) -> None:
    throttles = [0] * 3 + [90_000] * 12 + [0] * 3
    seen = an_evidence(
        consumed(*[200] * 3, *[4_000] * 12, *[5_500] * 3), throttle_events(*throttles),
        a_series("WriteKeyRangeThroughputThrottleEvents", *throttles), minutes=18,
        table={"billing_mode": "PAY_PER_REQUEST", "warm": {"read": 12_000, "write": 4_000}},
    )  # fmt: skip
    diagnosis = diagnosed(seen)
    write_evidence(tmp_path / "evidence.json", seen)
    write_diagnosis(tmp_path / "diagnosis.json", diagnosis)
    start = start_of(tmp_path, None)
    assert {label.rule for label in start.incident} == {"on-demand-not-grown"}
    assert (remedy_of(start, None).scenario.table.warm.write, start.scenario.keys.kind) == (7_858, "uniform")
    assert replayed_table(tmp_path).traffic.hot_share is None
    words = "pre-warming is charged once on top, and cannot be lowered afterwards"
    assert words in str(diagnosis_answer(diagnosed_alone(seen, None, Billing(load_prices()))))


def test_conflicts_of_a_table_that_nothing_throttles_are_told() -> None:
    seen = an_evidence(
        consumed(*[260] * 5), provisioned(900), throttle_events(*[0] * 5),
        a_series("TransactionConflict", *[1_000] * 5),
        table={"provisioned": {"read": 100, "write": 900}},
    )  # fmt: skip
    answer = diagnosis_answer(diagnosed_alone(seen, "eu-central-1", Billing(load_prices())))
    assert any(note.startswith("5,000 transaction conflicts: ") for note in answer.notes)


def test_a_changed_index_costs_as_much_more_as_the_table_of_now_with_it() -> None:
    """The table was raised from 1,000 to 3,000 WCU in vain: its index has too little."""
    index = {"name": "by_day", "provisioned": {"read": 5, "write": 400}}
    seen = an_evidence(
        consumed(*[400] * 10), consumed(*[400] * 10, index="by_day"), throttle_events(*[0] * 10),
        throttle_events(*[18_000] * 10, index="by_day"), minutes=10,
        table={
            "provisioned": {"read": 5, "write": 1_000}, "provisioned_now": {"read": 5, "write": 3_000},
            "indexes": [index | {"provisioned_now": index["provisioned"]}],
        },
    )  # fmt: skip
    bill = next(
        item.bill for item in diagnosed(seen, replay_s=0).recommendations if item.action == "raise_capacity"
    )
    assert bill.after_dollars_per_month > bill.before_dollars_per_month


def test_a_key_and_a_table_that_both_ask_for_more_are_cured_together() -> None:
    """A key asks for 1,400 of 2,000 WCU/s, and 1,200 are provisioned: shards alone are not enough."""
    throttles = [0] * 4 + [36_000] * 16
    keys = [
        {
            "key": "sha256:7cc4eaaf2313b304",
            "value": 31_500 * 16,
            "points": [[START + timedelta(minutes=minute), 31_500] for minute in range(4, 20)],
        }
    ]
    seen = an_evidence(
        consumed(*[500] * 4, *[1_400] * 16), throttle_events(*throttles), provisioned(1_200),
        a_series("WriteKeyRangeThroughputThrottleEvents", *throttles), minutes=20,
        table={"provisioned": {"read": 5, "write": 1_200}},
        contributors=[{
            "rule": "DynamoDBContributorInsights-PKT-orders-1", "counts": "throttled", "period_s": 60,
            "total": sum(throttles), "keys": keys,
        }],
    )  # fmt: skip
    cure = cure_of(diagnosed(seen))
    assert re.fullmatch(r"shard the hot key \(\d shards\) and raise the capacity to [\d,]+ WCU/s", cure or "")


def test_an_index_that_catches_up_after_a_raise_asks_for_no_more_than_its_writes() -> None:
    """600 WCU/s on an index of 300, raised to 900: it then takes what waited in its write buffer."""
    of_table = [200] * 5 + [600] * 2 + [318] * 8 + [515] + [600] * 9
    throttles = [0] * 7 + [18_800] * 8 + [5_760] + [0] * 9
    seen = an_evidence(
        consumed(*of_table), throttle_events(*[0] * 25),
        consumed(*[200] * 5, *[600] * 2, *[300] * 8, 900, 667, *[600] * 8, index="by_voice"),
        throttle_events(*throttles, index="by_voice"),
        *provisioned_over_time(Average=[1_500] * 5),
        *(one | {"index": "by_voice"} for one in provisioned_over_time(Average=[300, 300, 300, 900, 900])),
        a_series("WriteProvisionedThroughputThrottleEvents", *throttles, index="by_voice"), minutes=25,
        table={
            "provisioned": {"read": 5, "write": 1_500},
            "indexes": [{"name": "by_voice", "provisioned": {"read": 5, "write": 900}}],
        },
    )  # fmt: skip
    diagnosis = diagnosed(seen, replay_s=0)
    assert cure_of(diagnosis) == "keep a higher minimum capacity of index by_voice of 877 WCU/s"


def test_a_global_table_is_paid_in_every_region() -> None:
    def before(**facts: object) -> float:
        seen = an_evidence(
            consumed(*[900] * 10), provisioned(900), throttle_events(*[30_000] * 10), minutes=10,
            table={"provisioned": {"read": 100, "write": 900}, **facts},
        )  # fmt: skip
        bills = (item.bill for item in diagnosed(seen, replay_s=0).recommendations if item.bill)
        return next(bills).before_dollars_per_month

    replicas = {"region": "eu-central-1", "replicas": ["us-west-2", "ap-southeast-2"]}
    assert before(**replicas) == pytest.approx(3 * before())


def test_an_index_that_cloudwatch_was_not_asked_about_is_named() -> None:
    seen = an_evidence(
        consumed(*[400] * 5), provisioned(3_000), throttle_events(*[18_000] * 5), indexes=1,
        table={"provisioned": {"read": 100, "write": 3_000}},
    )  # fmt: skip
    answer = diagnosis_answer(diagnosed_alone(seen, "eu-central-1", Billing(load_prices())))
    assert "Writes of index by_0: not collected." in answer.notes


def test_a_cure_is_not_believed_whose_replay_lacks_a_labelled_limit() -> None:
    """The maximum has 64 % of the throttles, and a key that nobody names the rest: one change is no cure."""
    by_maximum, by_partition = ([0] * 5 + [each] * 15 for each in (27_000, 15_000))
    seen = an_evidence(
        consumed(*[300] * 5, *[1_500] * 15), throttle_events(*[0] * 5, *[42_000] * 15),
        a_series("WriteMaxOnDemandThroughputThrottleEvents", *by_maximum),
        a_series("WriteKeyRangeThroughputThrottleEvents", *by_partition), minutes=20,
        table={"billing_mode": "PAY_PER_REQUEST", "max_on_demand": {"write": 1_500}},
    )  # fmt: skip
    diagnosis = diagnosed(seen, replay_s=MOST_S)
    assert (diagnosis.verdict.constraint, diagnosis.cure) == ("max_on_demand", None)
    assert [line.partition(": ")[0] for line in cures_elsewhere(diagnosis)] == [
        "for writes of the table, with 36 % of the throttles, by a partition limit"
    ]
