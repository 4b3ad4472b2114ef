"""An incident of a real table as a scenario: its demand, its keys and its capacity, and what is assumed."""

import tomllib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.intake.description import table_of
from keyheat.intake.tables import source_of_facts
from keyheat.runs.formats import Evidence, HotKey, TableFacts, write_diagnosis, write_evidence
from keyheat.runs.plausibility import read_evidence
from keyheat.runs.scaling import AutoScaling, ScalingRange
from keyheat.runs.table_facts import table_facts
from keyheat.scenario.scenario import scenario_from_dict
from keyheat.words import WRITE
from tests.make import START, consumed, provisioned
from tests.make import a_series as series
from tests.make import an_evidence as evidence
from tests.make import throttle_events as events

Verb = Callable[..., Any]
UNKNOWN = {"billing_mode": None}
CALM, HOT = 300.0, 1_100.0
THROTTLES = events(0, 0, 6_000, 3_000, 0)
RATES = consumed(CALM, CALM, HOT, HOT, CALM)
READS = series("ProvisionedReadCapacityUnits", 50, statistic="Average")
CAUSE = series("WriteKeyRangeThroughputThrottleEvents", 0, 0, 6_000, 3_000, 0)
KEY = HotKey(key="0f" * 20, share=0.7, throttles=9_000, units_per_s=1_050, direction=WRITE)


def operation(name: str, metric: str, statistic: str, *per_minute: float) -> dict[str, Any]:
    return {**series(metric, *per_minute, statistic=statistic), "operation": name}


OPERATIONS = (
    operation("UpdateItem", "SuccessfulRequestLatency", "SampleCount", 9_000, 9_000, 33_000, 33_000, 9_000),
    operation("UpdateItem", "ThrottledRequests", "Sum", 0, 0, 6_000, 3_000, 0),
)


def incident(folder: Path, found: Evidence, *keys: HotKey) -> Path:
    """A folder as `diagnose` leaves it, with these hot keys named."""
    folder.mkdir()
    write_evidence(folder / "evidence.json", found)
    diagnosis = diagnosed(found)
    write_diagnosis(folder / "diagnosis.json", diagnosis.model_copy(update={"hot_keys": keys}))
    return folder


def replayed(verb: Verb, folder: Path, *more: str) -> tuple[dict[str, Any], str]:
    file = folder.with_suffix(".toml")
    said = verb("init", "--from-diagnosis", folder, *more, "--out", file)
    assert said.code == 0, said.err
    text = file.read_text()
    raw = tomllib.loads(text)
    scenario_from_dict(raw, str(file))
    return raw, text


def test_an_incident_is_a_scenario_of_its_worst_minute_with_its_capacity_then(
    verb: Verb, tmp_path: Path
) -> None:
    """The table is not described: CloudWatch published what it had."""
    found = evidence(RATES, THROTTLES, CAUSE, provisioned(4_000), READS, *OPERATIONS, table=UNKNOWN)
    raw, text = replayed(verb, incident(tmp_path / "inc", found, KEY))
    assert raw["table"]["provisioned"] == {"read": 50, "write": 4_000}
    assert raw["tasks"] == [{"operation": "update", "per_s": (33_000 + 6_000) / 60}]
    assert (raw["keys"]["kind"], raw["keys"]["share"]) == ("hot_key", 0.7)
    assert "# 0f0f0f0f0f0…: " in text
    assert f"busiest throttled minute of 5 min was {START + timedelta(minutes=2):%FT%RZ}" in text
    assert raw["load"]["item_bytes"] == round((66_000 / 33_000 - 0.5) * 1_024)
    assert "names of key attributes are assumed" in text


def test_auto_scaling_is_replayed_and_a_fix_says_why_it_does_not_try_its_maximum(
    verb: Verb, tmp_path: Path
) -> None:
    cause = series("WriteProvisionedThroughputThrottleEvents", 0, 0, 6_000, 3_000, 0)
    pinned = AutoScaling(scaled=(ScalingRange(side=WRITE, min=100, max=1_000, target=0.7),))
    found = evidence(RATES, THROTTLES, cause, provisioned(1_000), READS, table=UNKNOWN)
    folder = incident(tmp_path / "inc", found.model_copy(update={"auto_scaling": pinned}))
    raw, _text = replayed(verb, folder)
    assert raw["table"]["auto_scaling"] == {"write": {"min": 100, "max": 1_000, "target": 0.7}}
    by_formula = diagnosed(read_evidence(folder / "evidence.json"), replay_s=0)
    assert by_formula.recommendations[1].action == "raise_maximum"
    write_diagnosis(folder / "diagnosis.json", by_formula)
    said = verb("fix", folder, "--out", tmp_path / "fix")
    assert said.says("Not tried: Raise the maximum of auto scaling (raise_maximum): auto scaling acts after")
    raw, text = replayed(verb, incident(tmp_path / "unknown", found))
    assert "auto_scaling" not in raw["table"]
    assert "# Not taken: its auto scaling: not looked up" in text


def test_a_hot_key_that_nobody_names_has_the_share_that_throttles_as_much(verb: Verb, tmp_path: Path) -> None:
    """Without operations, a unit is a request."""
    found = evidence(RATES, THROTTLES, CAUSE, provisioned(4_000), READS, table=UNKNOWN)
    raw, text = replayed(verb, incident(tmp_path / "inc", found))
    assert raw["tasks"] == [{"operation": "put", "per_s": HOT + 100}]
    assert raw["keys"]["share"] == pytest.approx((1_000 + 100) / (HOT + 100), abs=1e-3)
    assert "ASSUMED: no key is named" in text
    assert "each request is assumed to take one unit" in text


def test_a_described_table_is_replayed_with_its_keys_and_projections() -> None:
    """With another projection, an index would consume other units than it did."""
    provisioned = {"ReadCapacityUnits": 50, "WriteCapacityUnits": 900}
    described = {
        "TableName": "orders", "ProvisionedThroughput": provisioned,
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in (("id", "S"), ("day", "N"))
        ],
        "KeySchema": [
            {"AttributeName": name, "KeyType": role} for name, role in (("id", "HASH"), ("day", "RANGE"))
        ],
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by_day", "ProvisionedThroughput": provisioned,
                "KeySchema": [{"AttributeName": "day", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]},
            }
        ],
    }  # fmt: skip
    facts = TableFacts.model_validate_json(table_facts(described).model_dump_json())
    replayed = source_of_facts(facts)
    assert replayed.remarks == ()
    assert table_of(replayed.description) == table_of(described)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (evidence(THROTTLES, RATES, table=UNKNOWN), "lacks mode or capacity of orders"),
        (evidence(provisioned(4_000), READS, table=UNKNOWN), "no metrics of its table"),
    ],
    ids=["capacity", "demand"],
)
def test_an_incident_that_does_not_say_enough_is_refused(
    verb: Verb, tmp_path: Path, found: Evidence, message: str
) -> None:
    said = verb("init", "--from-diagnosis", incident(tmp_path / "inc", found), "--out", tmp_path / "x.toml")
    assert said.code == 2
    assert message in said.err
    assert not (tmp_path / "x.toml").exists()


def test_the_minute_replayed_is_the_busiest_that_throttled_not_the_one_with_most_throttles(
    verb: Verb, tmp_path: Path
) -> None:
    """A mean latency is no count of requests."""
    latency = operation("UpdateItem", "SuccessfulRequestLatency", "Average", *[50.0] * 5)
    accepted = operation("UpdateItem", "SuccessfulRequestLatency", "SampleCount", 9e4, 33e3, 33e3, 42e3, 9e3)
    refused = operation("UpdateItem", "ThrottledRequests", "Sum", 0, 0, 6_000, 3_000, 0)
    rates = consumed(3_000, CALM, HOT, 1_400, CALM)
    found = evidence(
        rates, THROTTLES, CAUSE, provisioned(4_000), READS, latency, accepted, refused, table=UNKNOWN
    )
    raw, text = replayed(verb, incident(tmp_path / "inc", found, KEY))
    assert raw["tasks"] == [{"operation": "update", "per_s": (42_000 + 3_000) / 60}]
    assert f"was {START + timedelta(minutes=3):%FT%RZ}" in text


@pytest.mark.parametrize(("share", "reproduced"), [(0.5, False), (0.9, True)])
def test_a_replay_that_does_not_throttle_says_so(
    verb: Verb, tmp_path: Path, share: float, reproduced: bool
) -> None:
    puts = [{**one, "operation": "PutItem"} for one in OPERATIONS]
    found = evidence(RATES, THROTTLES, CAUSE, provisioned(4_000), READS, *puts, table=UNKNOWN)
    key = KEY.model_copy(update={"share": share})
    folder = incident(tmp_path / "inc", found, key)
    said = verb("init", "--from-diagnosis", folder, "--out", tmp_path / "replay.toml")
    assert said.code == 0, said.err
    for text in (said.out, (tmp_path / "replay.toml").read_text()):
        assert ("NOT REPRODUCED: the incident was throttled by a partition limit" in text) is not reproduced


@pytest.mark.parametrize(("index_per_s", "differs"), [(550.0, True), (2_200.0, False)])
def test_a_replay_that_writes_more_to_an_index_than_was_measured_says_so(
    verb: Verb, tmp_path: Path, index_per_s: float, differs: bool
) -> None:
    day = {"name": "day", "type": "S", "role": "HASH"}
    table = UNKNOWN | {"indexes": [{"name": "by_day", "keys": [day]}]}
    puts = [{**series, "operation": "PutItem"} for series in OPERATIONS]
    by_day = [consumed(*[index_per_s] * 5, index="by_day"), provisioned(4_000, index="by_day")]
    rates = consumed(*[1_100.0] * 5)
    found = evidence(rates, THROTTLES, CAUSE, provisioned(4_000), READS, *by_day, *puts, table=table)
    _raw, text = replayed(verb, incident(tmp_path / "inc", found, KEY))
    assert ("# INDEX by_day: this load writes 2 WCU" in text) is differs
    assert ("CloudWatch counted 0.5." in text) is differs
