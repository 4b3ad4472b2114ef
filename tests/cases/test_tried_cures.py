"""Cures of a table that others load: their number is tried on a replay of the demand."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.advice.fix import remedy_of, start_of
from keyheat.analysis.advice.replay import NEVER_S, as_it_behaved, as_it_was
from keyheat.analysis.advice.rerun import MOST_S
from keyheat.analysis.advice.search import limits_of
from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.table_diagnosis import diagnosed_alone, replayed_table
from keyheat.analysis.timeline import timeline
from keyheat.evidence.simulated import evidence_of
from keyheat.model.behaviour import DEFAULT
from keyheat.plan.prices import load_prices
from keyheat.runs.formats import Diagnosis, Evidence, Recommendation, write_diagnosis, write_evidence
from keyheat.runs.plausibility import read_evidence
from keyheat.show.advice import cure_of, cures_elsewhere, now_of, other_cures, outlook, simulated_words
from keyheat.show.diagnosis import diagnosis_answer
from keyheat.simulator.simulate import simulate
from keyheat.words import WRITE, Capacity
from tests.conftest import Golden
from tests.make import (
    START,
    a_diagnosis,
    a_scenario,
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


def of_key(throttles: list[float], minutes: range, each: float, **accessed: float) -> list[dict[str, Any]]:
    """Rules of Contributor Insights in which one key has all throttles, and its part of the requests."""
    found = {
        "throttled": (each, sum(throttles)),
        **({"accessed": tuple(accessed.values())} if accessed else {}),
    }
    return [
        {
            "rule": f"DynamoDBContributorInsights-PK{counts[0].upper()}-orders-1", "counts": counts,
            "period_s": 60, "total": total,
            "keys": [{
                "key": "sha256:7cc4eaaf2313b304", "value": value * len(minutes),
                "points": [[START + timedelta(minutes=minute), value] for minute in minutes],
            }],
        }
        for counts, (value, total) in found.items()
    ]  # fmt: skip


SMALL = a_scenario(
    table={"name": "orders", "provisioned": {"read": 5, "write": 40}},
    load={"requests_per_s": 2_000, "duration_s": 60},
)
ALL_OF_KEY = [0] * 4 + [36_000] * 16
MOVED = [0] * 6 + [30_000] * 16, [0] * 2 + [4_500] * 4 + [0] * 16
BEHIND = [0] * 7 + [18_800] * 8 + [5_760] + [0] * 9
UNNAMED = [0] * 5 + [27_000] * 15, [0] * 5 + [15_000] * 15
DAY = {"name": "by_day", "provisioned": {"read": 5, "write": 400}}
SHORT = [1_500] * 5, [12_000] * 5
PAID = [900] * 10, [30_000] * 10, 900, "Provisioned"
INCIDENTS: dict[str, tuple[Evidence, bool]] = {
    # what was seen, and whether cures are tried on a replay of it; else they are by formula
    "3 shards by formula": (read_evidence(EVIDENCE), False),
    "two of 3 shards would meet in one partition": (read_evidence(EVIDENCE), True),
    "a key of 1,750 of 2,050 WCU/s: on 2,000 burst would serve its shards for hours": (
        of_writes(
            [300] * 5 + [1_300] * 6, [0] * 5 + [45_000] * 6, 2_000,
            contributors=of_key(  # a write counts three times
                [45_000] * 6, range(5, 11), 45_000, value=3 * 60_000, total=3 * (78_000 * 6 + 18_000 * 5)
            ),
        ), True,
    ),
    "no key is known, and 1,700 of 1,500 WCU/s were asked for": (of_writes(*SHORT, 1_500), False),
    "no key is known, and 1,700 of 4,000 WCU/s were asked for": (of_writes(*SHORT, 4_000), False),
    "300 WCU/s were paid then, and 800 are today": (
        of_writes(
            [300] * 5, [60_000] * 5, 300, "Provisioned",
            table={"provisioned": None, "provisioned_now": {"read": 5, "write": 800}},
        ), False,
    ),
    "a key of the table, and the capacity of an index": (
        an_evidence(
            consumed(*[1_200] * 5), consumed(*[300] * 5, index="by_day"), provisioned(4_000),
            throttle_events(*[20_000] * 5), throttle_events(*[40_000] * 5, index="by_day"),
            a_series("WriteKeyRangeThroughputThrottleEvents", *[20_000] * 5),
            a_series("WriteProvisionedThroughputThrottleEvents", *[40_000] * 5, index="by_day"),
            table={
                "provisioned": {"read": 5, "write": 4_000},
                "indexes": [{"name": "by_day", "provisioned": {"read": 5, "write": 300}}],
            },
        ), False,
    ),
    "a second limit of one resource": (
        an_evidence(
            consumed(*[500] * 2, *[1_625] * 4, *[1_200] * 16), provisioned(1_200),
            throttle_events(*map(sum, zip(*MOVED, strict=True))),
            a_series("WriteKeyRangeThroughputThrottleEvents", *MOVED[1]),
            a_series("WriteProvisionedThroughputThrottleEvents", *MOVED[0]), minutes=22,
            table={"provisioned": {"read": 100, "write": 1_200}},
        ), False,
    ),
    "the table was raised in vain, for its index has too little": (
        an_evidence(
            consumed(*[400] * 10), consumed(*[400] * 10, index="by_day"), throttle_events(*[0] * 10),
            throttle_events(*[18_000] * 10, index="by_day"), minutes=10,
            table={
                "provisioned": {"read": 5, "write": 1_000}, "provisioned_now": {"read": 5, "write": 3_000},
                "indexes": [DAY | {"provisioned_now": DAY["provisioned"]}],
            },
        ), False,
    ),
    "a key of 1,400 of 2,000 WCU/s, on 1,200: shards alone are not enough": (
        of_writes(
            [500] * 4 + [1_400] * 16, ALL_OF_KEY, 1_200,
            contributors=of_key(ALL_OF_KEY, range(4, 20), 31_500),
        ), True,
    ),
    "600 WCU/s on an index of 300, raised to 900, which takes what waited in its write buffer": (
        an_evidence(
            consumed(*[200] * 5, *[600] * 2, *[318] * 8, 515, *[600] * 9), throttle_events(*[0] * 25),
            consumed(*[200] * 5, *[600] * 2, *[300] * 8, 900, 667, *[600] * 8, index="by_voice"),
            throttle_events(*BEHIND, index="by_voice"), *provisioned_over_time(Average=[1_500] * 5),
            *(one | {"index": "by_voice"} for one in provisioned_over_time(Average=[300] * 3 + [900] * 2)),
            a_series("WriteProvisionedThroughputThrottleEvents", *BEHIND, index="by_voice"), minutes=25,
            table={
                "provisioned": {"read": 5, "write": 1_500},
                "indexes": [{"name": "by_voice", "provisioned": {"read": 5, "write": 900}}],
            },
        ), False,
    ),
    "a table of one Region": (of_writes(*PAID), False),
    "a global table, paid in every Region": (
        of_writes(*PAID, table={"region": "eu-central-1", "replicas": ["us-west-2", "ap-southeast-2"]}), False
    ),
    "a maximum with 64 % of the throttles, and a key that nobody names: a replay lacks that": (
        an_evidence(
            consumed(*[300] * 5, *[1_500] * 15), throttle_events(*[0] * 5, *[42_000] * 15),
            a_series("WriteMaxOnDemandThroughputThrottleEvents", *UNNAMED[0]),
            a_series("WriteKeyRangeThroughputThrottleEvents", *UNNAMED[1]), minutes=20,
            table={"billing_mode": "PAY_PER_REQUEST", "max_on_demand": {"write": 1_500}},
        ), True,
    ),
}  # fmt: skip


def cures(diagnosis: Diagnosis) -> Iterator[str]:
    """What cures it, by itself or with what else, and what each advice would come to."""
    yield f"  {cure_of(diagnosis)}"
    if diagnosis.cure:
        yield f"  {simulated_words(diagnosis.cure)}"
    yield from (f"  or {words}" for words in filter(None, [other_cures(diagnosis)]))
    yield from (f"  {words}" for words in cures_elsewhere(diagnosis))
    for item in diagnosis.recommendations:
        number = f" {item.shards or item.units:g}" if item.shards or item.units else ""
        yield f"    {item.action}{number} of {item.resource}. {outlook(item)}".rstrip()


def test_what_cures_an_incident(golden: Golden) -> None:
    """`golden/cures.txt` has the cure of each, by formula or tried, with its price."""
    by_client = evidence_of(simulate(SMALL)).model_copy(update={"series": ()})
    small = {"40 WCU/s and a demand of 2,000, by what the client of a simulated run saw": (by_client, True)}
    lines = (
        line
        for name, (seen, is_replayed) in (INCIDENTS | small).items()
        for line in (name, *cures(diagnosed(seen, replay_s=MOST_S if is_replayed else 0)))
    )
    golden("cures.txt", "".join(f"{line}\n" for line in lines))


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


@pytest.mark.parametrize("raised", [False, True])
def test_a_replay_has_the_capacity_of_then(raised: bool) -> None:
    """CloudWatch published its writes; its reads are taken to be as described."""
    described = {"provisioned_now" if raised else "provisioned": {"read": 100, "write": 1_300}}
    found = an_evidence(consumed(300, 300), provisioned(300), minutes=2, table=described)
    assert as_it_was(found.table, timeline(found), START.timestamp()).provisioned == Capacity(100, 300)


def test_a_table_limit_is_replayed_with_the_partitions_that_its_burst_showed(tmp_path: Path) -> None:
    """600 WCU/s have one partition, but one minute took 2,400: no partition may throttle in its place."""
    seen = of_writes(
        [500] * 3 + [2_400] + [600] * 8, [0] * 4 + [42_000] * 8, 600, cause="Provisioned",
        table={"provisioned_now": {"read": 5, "write": 2_000}},
    )  # fmt: skip
    write_evidence(tmp_path / "evidence.json", seen)
    write_diagnosis(tmp_path / "diagnosis.json", diagnosed(seen, replay_s=0))
    start = start_of(tmp_path, None)
    assert limits_of(start.rerun.simulated()) == [("table", "table", WRITE)]


def held_back(capacity: float, *per_index: float, of_table: bool = False) -> Evidence:
    """260 WCU/s ask for the table and each index, until the burst of 120 is spent."""
    units, calm, throttles = [20] * 4 + [260] * 4 + [120] * 6, [0] * 14, [0] * 8 + [8_400] * 6
    events = {f"by_{n}": calm for n in range(len(per_index))}
    events |= {"": throttles} if of_table else {"": calm, "by_0": throttles}
    metrics = "WriteThrottleEvents", "WriteProvisionedThroughputThrottleEvents"
    return an_evidence(
        *(consumed(*units, index=name or None) for name in events),
        *(
            a_series(metric, *counts, index=name or None)
            for metric in metrics
            for name, counts in events.items()
        ),
        *(provisioned(units, index=f"by_{n}") for n, units in enumerate(per_index)), provisioned(capacity),
        minutes=14,
        table={
            "provisioned": {"read": 5, "write": capacity},
            "indexes": [
                {"name": f"by_{n}", "provisioned": {"read": 5, "write": units}}
                for n, units in enumerate(per_index)
            ],
        },
    )  # fmt: skip


def test_what_an_index_held_back_is_raised_with_it() -> None:
    """260 WCU/s ask for all; by_0 has 120, so that by_1 and the table saw no more."""
    answer = diagnosis_answer(diagnosed_alone(held_back(150, 120, 130), None, load_prices()))
    said = {fact.id: (fact.value, *fact.beside) for fact in answer.facts}
    assert said["table"][0].startswith("Has 150 WCU/s, and 260 WCU/s reach it when index by_0 lets them")
    assert said["indexes"][1].startswith("by_1 has 130 WCU/s, and takes 260 of that demand")


def test_a_cure_of_the_table_raises_the_index_that_then_lives_on_burst() -> None:
    """120 WCU/s each, of which the table was the limit; its index's burst takes 260 for ten minutes."""
    cure = diagnosed(held_back(120, 120, of_table=True)).cure
    assert cure is not None
    assert {step.resource: step.units for step in cure.steps} == {"table": 372, "by_0": 372}


def test_a_few_throttles_that_are_not_decided_do_not_ask_for_evidence_tonight() -> None:
    asked = Recommendation(
        action="collect_evidence", kind="mitigation", why="", expected="", resource="table", direction="write"
    )
    assert now_of(a_diagnosis("table", recommendations=[asked])) is None
    assert now_of(a_diagnosis("undetermined", valid=False, recommendations=[asked])) == asked


def test_a_higher_minimum_is_no_command_while_auto_scaling_is_not_known() -> None:
    """Raised from 300 to 800 within the throttles: a maximum of 800 would undo any capacity."""
    capacity = a_series("ProvisionedWriteCapacityUnits", *[300] * 7, *[800] * 8, statistic="Average")
    throttles = [0] * 2 + [60_000] * 5 + [42_000] * 8
    found = an_evidence(
        consumed(*[250] * 2, *[300] * 5, *[800] * 8), throttle_events(*throttles), capacity,
        a_series("WriteProvisionedThroughputThrottleEvents", *throttles), minutes=15,
        table={"provisioned": {"read": 5, "write": 800}},
    )  # fmt: skip
    answer = diagnosis_answer(diagnosed_alone(found, "eu-central-1", load_prices()))
    (for_good,) = (fact for fact in answer.facts if fact.name == "For good")
    assert for_good.value.startswith("Keep a higher minimum capacity")
    assert for_good.command.startswith("aws application-autoscaling describe-scalable-targets")


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
    assert words in str(diagnosis_answer(diagnosed_alone(seen, None, load_prices())))


def test_conflicts_of_a_table_that_nothing_throttles_are_told() -> None:
    seen = an_evidence(
        consumed(*[260] * 5), provisioned(900), throttle_events(*[0] * 5),
        a_series("TransactionConflict", *[1_000] * 5),
        table={"provisioned": {"read": 100, "write": 900}},
    )  # fmt: skip
    answer = diagnosis_answer(diagnosed_alone(seen, "eu-central-1", load_prices()))
    assert any(note.startswith("5,000 transaction conflicts: ") for note in answer.notes)


def test_an_index_that_cloudwatch_was_not_asked_about_is_named() -> None:
    seen = an_evidence(
        consumed(*[400] * 5), provisioned(3_000), throttle_events(*[18_000] * 5), indexes=1,
        table={"provisioned": {"read": 100, "write": 3_000}},
    )  # fmt: skip
    answer = diagnosis_answer(diagnosed_alone(seen, "eu-central-1", load_prices()))
    assert "Writes of index by_0: not collected." in answer.notes
