"""An incident of a real table as a scenario: its demand, its keys and its capacity, and what is assumed."""

import json
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.intake.description import table_of
from keyheat.intake.tables import NotTaken, source_of_facts
from keyheat.runs.formats import Evidence, HotKey, read_diagnosis, write_diagnosis, write_evidence
from keyheat.runs.plausibility import read_evidence
from keyheat.runs.table_facts import AutoScaling, ScalingRange, TableFacts, table_facts
from keyheat.scenario.scenario import scenario_from_dict
from keyheat.words import WRITE, Capacity
from tests.conftest import Verb
from tests.endpoint.account import attributes, index, indexed, schema, table
from tests.make import START, consumed, provisioned
from tests.make import a_series as series
from tests.make import an_evidence as evidence
from tests.make import throttle_events as events

pytestmark = pytest.mark.slow

UNKNOWN = {"billing_mode": None}
CALM, HOT = 300.0, 1_100.0
THROTTLES = events(0, 0, 6_000, 3_000, 0)
RATES = consumed(CALM, CALM, HOT, HOT, CALM)
READS = series("ProvisionedReadCapacityUnits", 50, statistic="Average")
CAUSE = series("WriteKeyRangeThroughputThrottleEvents", 0, 0, 6_000, 3_000, 0)
KEY = HotKey(key="0f" * 20, share=0.7, throttles=9_000, units_per_s=1_050, direction=WRITE)


def hot(*more: dict[str, Any]) -> Evidence:
    """An incident of a hot key on a table of 4,000 WCU/s that is not described."""
    return evidence(RATES, THROTTLES, CAUSE, provisioned(4_000), READS, *more, table=UNKNOWN)


def operation(name: str, metric: str, statistic: str, *per_minute: float) -> dict[str, Any]:
    return {**series(metric, *per_minute, statistic=statistic), "operation": name}


OPERATIONS = (
    operation("UpdateItem", "SuccessfulRequestLatency", "SampleCount", 9_000, 9_000, 33_000, 33_000, 9_000),
    operation("UpdateItem", "ThrottledRequests", "Sum", 0, 0, 6_000, 3_000, 0),
)
PUTS = tuple({**one, "operation": "PutItem"} for one in OPERATIONS)
BY_DAY = {"name": "by_day", "keys": [{"name": "day", "type": "S", "role": "HASH"}]}
WITH_INDEX = UNKNOWN | {"indexes": [BY_DAY]}


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


def test_an_incident_is_replayed_by_its_worst_minute(verb: Verb, tmp_path: Path) -> None:
    """The table is not described: CloudWatch published what it had. A mean latency counts no requests."""
    latency = operation("UpdateItem", "SuccessfulRequestLatency", "Average", *[50.0] * 5)
    accepted = operation("UpdateItem", "SuccessfulRequestLatency", "SampleCount", 9e4, 33e3, 33e3, 42e3, 9e3)
    found = evidence(
        consumed(3_000, CALM, HOT, 1_400, CALM), THROTTLES, CAUSE, provisioned(4_000), READS,
        latency, accepted, OPERATIONS[1], table=UNKNOWN,
    )  # fmt: skip
    raw, text = replayed(verb, incident(tmp_path / "inc", found, KEY))
    assert raw["table"]["provisioned"] == {"read": 50, "write": 4_000}
    assert raw["tasks"] == [{"operation": "update", "per_s": (42_000 + 3_000) / 60}]
    assert (raw["keys"]["kind"], raw["keys"]["share"]) == ("hot_key", 0.7)
    assert "# 0f0f0f0f0f0…: " in text
    assert f"busiest throttled minute of 5 min was {START + timedelta(minutes=3):%FT%RZ}" in text
    assert raw["load"]["item_bytes"] == round((84_000 / 42_000 - 0.5) * 1_024)
    assert "names of key attributes are assumed" in text


def test_auto_scaling_is_replayed_and_not_tried_by_a_fix(verb: Verb, tmp_path: Path) -> None:
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
    assert (said.out + said.err).count("Not tried:") == 1
    raw, text = replayed(verb, incident(tmp_path / "unknown", found))
    assert "auto_scaling" not in raw["table"]
    assert "# Not taken: its auto scaling, which is unknown: not looked up" in text


def without_the_even(share: float, partitions: int) -> float:
    """The share of a key on a partition with this one, where all other keys are spread evenly."""
    return (share - 1 / partitions) / (1 - 1 / partitions)


def test_a_described_table_is_replayed_with_its_keys_and_projections() -> None:
    """With another projection, an index would consume other units than it did."""
    by_day = index("by_day", "day", Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]})
    keys = {"KeySchema": schema("id", "day"), "AttributeDefinitions": attributes("id", "day")}
    described = table(**indexed(by_day) | keys)
    facts = TableFacts.model_validate_json(table_facts(described).model_dump_json())
    replayed = source_of_facts(facts)
    assert replayed.remarks == ()
    assert replayed.fields == table_of(described)


def test_capacity_of_which_a_side_is_unknown_is_assumed_in_a_scenario_and_not_tried(
    verb: Verb, tmp_path: Path
) -> None:
    found = evidence(RATES, THROTTLES, CAUSE, provisioned(4_000), table=UNKNOWN)
    raw, text = replayed(verb, incident(tmp_path / "inc", found))
    assert raw["table"]["provisioned"] == {"read": 1, "write": 4_000}
    assert "# Not taken: the read capacity of then; 1 unit/s is assumed" in text
    facts = TableFacts(name="orders", billing_mode="PROVISIONED", provisioned=Capacity(write=4_000))
    with pytest.raises(NotTaken, match="lacks mode or capacity of orders"):
        source_of_facts(facts)


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (evidence(THROTTLES, RATES, table=UNKNOWN), "lacks mode or capacity of orders"),
        (evidence(provisioned(4_000), READS, table=UNKNOWN), "no metrics of its table"),
    ],
    ids=["capacity", "demand"],
)
def test_a_scant_incident_is_refused(verb: Verb, tmp_path: Path, found: Evidence, message: str) -> None:
    said = verb("init", "--from-diagnosis", incident(tmp_path / "inc", found), "--out", tmp_path / "x.toml")
    assert said.code == 2
    assert message in said.err
    assert not (tmp_path / "x.toml").exists()


SCANS = operation("Scan", "SuccessfulRequestLatency", "SampleCount", *[300.0] * 5)


@pytest.mark.parametrize(
    ("operations", "share", "text"),
    [
        (PUTS, 0.5, "NOT REPRODUCED: the incident was throttled by a partition limit"),
        ((*OPERATIONS, SCANS), 0.7, "Not taken: 5 requests/s of Scan: a scenario has no such task"),
    ],
)
def test_what_a_replay_lacks_is_said_on_the_terminal_and_in_the_file(
    verb: Verb, tmp_path: Path, operations: tuple[dict[str, Any], ...], share: float, text: str
) -> None:
    folder = incident(tmp_path / "inc", hot(*operations), KEY.model_copy(update={"share": share}))
    said = verb("init", "--from-diagnosis", folder, "--out", tmp_path / "replay.toml")
    assert said.code == 0, said.err
    assert said.says(text)
    assert text in (tmp_path / "replay.toml").read_text()


def test_an_index_is_asked_for_more(verb: Verb, tmp_path: Path) -> None:
    by_day = [consumed(*[550.0] * 5, index="by_day"), provisioned(4_000, index="by_day")]
    rates = consumed(*[1_100.0] * 5)
    found = evidence(rates, THROTTLES, CAUSE, provisioned(4_000), READS, *by_day, *PUTS, table=WITH_INDEX)
    _raw, text = replayed(verb, incident(tmp_path / "inc", found, KEY))
    said = "# INDEX by_day, writes: this load asks for 2,600 WCU/s; by CloudWatch, 550 WCU/s were asked for"
    assert said in text
    assert "more keys in [keys] overwrite fewer" in text


def test_a_hot_key_of_an_index_is_a_value_of_its_attribute(verb: Verb, tmp_path: Path) -> None:
    of_index = [{**series, "index": "by_day"} for series in (RATES, THROTTLES, CAUSE)]
    capacity = provisioned(4_000), provisioned(4_000, index="by_day")
    found = evidence(RATES, *of_index, *capacity, READS, *PUTS, table=WITH_INDEX)
    key = KEY.model_copy(update={"key": "5a" * 20, "share": 0.9, "index": "by_day"})
    folder = incident(tmp_path / "named", found)
    diagnosis = read_diagnosis(folder / "diagnosis.json").model_copy(update={"hot_index_keys": (key,)})
    write_diagnosis(folder / "diagnosis.json", diagnosis)
    raw, text = replayed(verb, folder)
    assert raw["attributes"]["day"]["hot"] == [0.9]
    assert raw["keys"]["kind"] == "uniform"
    puts = raw["tasks"][0]["per_s"] * raw["load"]["duration_s"]
    assert puts < 0.01 * raw["keys"]["keys"], "a unit of the index for each of the table: items are new"
    assert "NOT REPRODUCED" not in text
    raw, text = replayed(verb, incident(tmp_path / "assumed", found))
    on_its_partition = without_the_even(1_000 / 1_100, partitions=4)
    assert raw["attributes"]["day"]["hot"] == [pytest.approx(on_its_partition, abs=1e-3)]
    assert "ASSUMED: no key is named; one key with this share throttles as much" in text


def test_a_fix_of_an_index_assumes_the_key_that_throttles_as_much(verb: Verb, tmp_path: Path) -> None:
    has = {"read": 50, "write": 4_000}
    table = {"provisioned": has, "indexes": [BY_DAY | {"provisioned": has}]}
    rates = [HOT] * 3
    refused = series("WriteKeyRangeThroughputThrottleEvents", *[60_000] * 3, index="by_day")
    found = consumed(*rates), events(*[0] * 3), consumed(*rates, index="by_day"), refused
    folder = incident(tmp_path / "inc", evidence(*found, minutes=3, table=table))
    said = verb("fix", folder, "--out", tmp_path / "fix")
    assert said.code == 0, said.out + said.err
    assert said.says("Assumed: no key is named, and one key takes 89 % of the requests; beside it, keys")
    answer = json.loads((tmp_path / "fix" / "fix.json").read_text())
    measures = {row["measure"]: row["before"] for row in answer["tables"][0]["rows"]}
    per_s = {how: measures[f"While throttled, {how}"].split(", ")[1] for how in ("replayed", "observed")}
    replayed, observed = (int(rate.split()[0].replace(",", "")) for rate in per_s.values())
    assert replayed == pytest.approx(observed, rel=0.1)


def test_an_on_demand_table_is_replayed_with_the_maximum_of_then(verb: Verb, tmp_path: Path) -> None:
    """It was created within the window, so its description says no mode; its maximum was raised later."""
    maximum = series("OnDemandMaxReadRequestUnits", 15, 15, 15, 15, 300, statistic="Average")
    reads = series("ConsumedReadCapacityUnits", 600, 600, 900, 900, 900)
    calls = [
        operation("GetItem", "SuccessfulRequestLatency", "SampleCount", 600, 600, 0, 0, 0),
        operation("Query", "SuccessfulRequestLatency", "SampleCount", 0, 0, 900, 900, 900),
        operation("Query", "ThrottledRequests", "Sum", 0, 0, 1_800, 600, 0),
        operation("PutItem", "SuccessfulRequestLatency", "SampleCount", 10, 0, 0, 0, 0),
        operation("Scan", "SuccessfulRequestLatency", "SampleCount", 6, 0, 0, 0, 0),
        operation("ExecuteStatement", "SuccessfulRequestLatency", "SampleCount")
        | {"dimension": "Verb=PartiQLSelect"},
    ]
    cause = series("ReadMaxOnDemandThroughputThrottleEvents", 0, 0, 1_800, 600, 0)
    table = UNKNOWN | {"on_demand_since": START.isoformat(), "max_on_demand": {"read": 300}}
    counted = (reads, series("ReadThrottleEvents", 0, 0, 1_800, 600, 0), cause, maximum)
    written = series("ConsumedWriteCapacityUnits", 10, 0, 0, 0, 0)
    raw, text = replayed(verb, incident(tmp_path / "inc", evidence(*counted, written, *calls, table=table)))
    assert raw["table"]["billing_mode"] == "PAY_PER_REQUEST"
    assert raw["table"]["max_on_demand"] == {"read": 15}
    assert raw["tasks"] == [{"operation": "query", "per_s": 45, "consistent": True}]
    assert "NOT REPRODUCED" not in text
    assert "asks for" not in text, "a consistent read takes one RCU, as measured"


@pytest.mark.parametrize(
    ("provisioned_per_s", "duration_s"), [(400, 600), (900, 1_560)], ids=["far above", "little above"]
)
def test_a_replay_outlasts_burst(verb: Verb, tmp_path: Path, provisioned_per_s: int, duration_s: int) -> None:
    """1,117 WCU/s, the throttled ones included, spend the 270,000 saved units of 900 WCU in 21 minutes."""
    used = consumed(*[provisioned_per_s] * 5)
    refused = events(*[60 * (1_117 - provisioned_per_s)] * 5)
    found = evidence(used, refused, provisioned(provisioned_per_s), READS, table=UNKNOWN)
    raw, text = replayed(verb, incident(tmp_path / "inc", found))
    assert raw["load"]["duration_s"] == duration_s
    assert "their mean over 5 min was 1,117" in text, "throttled ones are requests, too"


def hot_reads(units_per_minute: float, *operations: dict[str, Any]) -> Evidence:
    """Reads of a hot key of which 1,000 a second are refused."""
    return evidence(
        series("ConsumedReadCapacityUnits", *[units_per_minute] * 5),
        series("ReadThrottleEvents", *[60_000.0] * 5),
        series("ReadKeyRangeThroughputThrottleEvents", *[60_000.0] * 5),
        series("ProvisionedReadCapacityUnits", 12_000, statistic="Average"),
        provisioned(100), *operations, table=UNKNOWN,
    )  # fmt: skip


GETS = (
    operation("GetItem", "SuccessfulRequestLatency", "SampleCount", *[108_000.0] * 5),
    operation("GetItem", "ThrottledRequests", "Sum", *[60_000.0] * 5),
)


@pytest.mark.parametrize(
    ("operations", "tasks"),
    [
        (GETS, [{"operation": "get", "per_s": 2 * 168_000 / 60, "consistent": True}]),
        ((), [{"operation": "get", "per_s": (216_000 + 60_000) / 60, "consistent": True}]),
    ],
    ids=["two units per read", "no operation counted"],
)
def test_reads_of_an_incident_ask_for_the_units_that_were_measured_though_no_item_is_there(
    verb: Verb, tmp_path: Path, operations: tuple[dict[str, Any], ...], tasks: list[dict[str, Any]]
) -> None:
    """An eventually consistent get that finds nothing would take half a unit, and exceed no limit."""
    found = hot_reads(216_000.0, *operations)
    raw, text = replayed(verb, incident(tmp_path / "inc", found))
    assert raw["tasks"] == tasks
    assert ("each request is assumed to take one unit" in text) is not bool(operations)
    on_its_partition = 1 - (3_600 - 3_000) / tasks[0]["per_s"]
    assert raw["keys"]["share"] == pytest.approx(without_the_even(on_its_partition, partitions=5), abs=1e-3)
    assert "NOT REPRODUCED" not in text
    assert "asks for" not in text
    planned = verb("plan", tmp_path / "inc.toml")
    assert planned.says("Partition limit")
    assert planned.says("1 RCU each")


def test_a_replay_that_asks_for_less_than_was_measured_says_by_what_to_raise_it(
    verb: Verb, tmp_path: Path
) -> None:
    """CloudWatch does not count the items of a batch, and a batch of the scenario finds none."""
    batches = operation("BatchGetItem", "SuccessfulRequestLatency", "SampleCount", *[1_800.0] * 5)
    found = hot_reads(180_000.0, batches)
    _raw, text = replayed(verb, incident(tmp_path / "inc", found))
    assert "It asks for less than was measured: first raise per_s, as said below." in text
    assert "# TABLE, reads: this load asks for 15 RCU/s; by CloudWatch, 3,500 RCU/s were asked for; " in text
    assert "per_s of its reads times 233 asks for as much" in text
