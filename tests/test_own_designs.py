"""Designs that are not in the box: what is foretold of them, what cures them, and one number everywhere."""

import json
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from keyheat.runs.formats import HARDLY
from keyheat.words import DONE
from tests.conftest import Verb
from tests.make import a_scenario_file

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_page")]


def design(folder: Path, **parts: Any) -> Path:
    """A scenario as a person would write it, in a file; `parts` replace or add to its own."""
    raw = {
        "name": "own",
        "table": {"name": "own", "provisioned": {"read": 500, "write": 1_500}},
        "keys": {"kind": "uniform", "keys": 2_000},
        "load": {"duration_s": 60, "item_bytes": 900},
        "tasks": [{"operation": "put", "per_s": 100}],
    }
    return a_scenario_file(folder, raw | parts)


def simulated(verb: Verb, folder: Path, **parts: Any) -> dict[str, Any]:
    """The diagnosis of its simulation."""
    said = verb("simulate", design(folder, **parts), "--out", folder / "out")
    assert said.code == DONE, said.err
    return dict(json.loads((folder / "out" / "diagnosis.json").read_text(encoding="utf-8")))


def throttles_of(run: Path) -> int:
    return int(json.loads((run / "run.json").read_text(encoding="utf-8"))["totals"]["throttled"])


def cure_of(diagnosis: dict[str, Any]) -> dict[tuple[str, str], int | None]:
    assert diagnosis["cure"] is not None, [one["action"] for one in diagnosis["recommendations"]]
    return {(one["action"], one["resource"]): one["shards"] for one in diagnosis["cure"]["steps"]}


SMALL = {
    "table": {"name": "own", "provisioned": {"read": 100, "write": 100}},
    "tasks": [{"operation": "put", "per_s": 590}],
}
"""590 WCU/s of 100: burst carries it for 300 x 100 / 490 = 61 s."""


def test_what_only_burst_carries_is_foretold(verb: Verb, tmp_path: Path) -> None:
    said = verb("plan", design(tmp_path, **SMALL))
    assert said.says("has 100 WCU/s, and the demand is 590 WCU/s")
    assert said.says("its burst can serve that for 1 min 1 s at most, longer than this run")
    assert not said.says("Demand is within every limit")
    (found,) = json.loads(verb("plan", design(tmp_path, **SMALL), "--json").out)["data"]["foretold"]
    assert (found["constraint"], found["later"], round(found["from_s"])) == ("table", True, 61)


def test_a_run_that_lived_on_burst_says_so_and_what_the_table_needs(verb: Verb, tmp_path: Path) -> None:
    found = simulated(verb, tmp_path, **SMALL)
    assert found["verdict"]["constraint"] == "none"
    raised = next(one for one in found["recommendations"] if one["action"] == "raise_capacity")
    assert raised["units"] == 843
    assert verb("analyze", tmp_path / "out").says("Burst capacity served that, for minutes at most")
    enough = json.loads(verb("whatif", design(tmp_path, **SMALL), "capacity", "--json").out)
    assert enough["data"]["answer"] >= 590, "burst that was saved is not planned with"


TWO_HOT_KEYS = {
    "table": {
        "name": "own",
        "provisioned": {"read": 500, "write": 8_000},
        "indexes": [
            {"name": "by-status", "partition_key": "status", "provisioned": {"read": 100, "write": 3_000}}
        ],
    },
    "keys": {"kind": "zipf", "keys": 1_000, "exponent": 1.0},
    "attributes": {"status": {"values": {"open": 60, "shipped": 30, "closed": 10}}},
    "load": {"duration_s": 6, "item_bytes": 2_500},
    "tasks": [{"operation": "put", "per_s": 2_500}],
}


@pytest.mark.nightly
@pytest.mark.long
def test_two_keys_that_are_hot_at_once_are_both_cured(verb: Verb, tmp_path: Path) -> None:
    found = simulated(verb, tmp_path, **TWO_HOT_KEYS)
    assert {("change_index_key", "by-status"), ("shard_writes", "table")} <= cure_of(found).keys()
    said = verb("fix", tmp_path / "out", "--out", tmp_path / "fixed")
    assert said.code == DONE, said.out
    assert said.says("Fixed: with")
    assert not said.says("Reading all shards back takes"), "no read is added"


def test_a_mix_with_transactions_is_cured(verb: Verb, tmp_path: Path) -> None:
    small = {"name": "own", "provisioned": {"read": 10, "write": 50}}
    tasks = [{"operation": "put", "per_s": 100}, {"operation": "transact_write", "per_s": 50}]
    found = simulated(verb, tmp_path, table=small, load={"duration_s": 30, "item_bytes": 1_500}, tasks=tasks)
    throttled = throttles_of(tmp_path / "out")
    labelled = sum(one["throttles"] for one in found["labels"])
    more = throttled - labelled
    assert more > 0, "of transactions nobody says which item was refused"
    assert any(
        f"{more:,} more throttled attempts were parts of" in one for one in found["verdict"]["because"]
    )
    assert cure_of(found) == {("raise_capacity", "table"): None}
    (step,), units = found["cure"]["steps"], 100 * 2 + 50 * 4 * 2 * 2  # four items each, at twice the units
    assert step["units"] == ceil(units / 0.7)
    assert found["cure"]["throttle_share_after"] <= HARDLY


def test_labelled_throttles_of_a_mix_with_batches_are_a_part(verb: Verb, tmp_path: Path) -> None:
    """What a batch leaves unprocessed has no reason, so that the limit of most throttles is not told."""
    found = simulated(
        verb,
        tmp_path,
        table={"name": "own", "sort_key": "sk", "provisioned": {"read": 30_000, "write": 4_000}},
        keys={"kind": "hot_key", "share": 0.9, "keys": 2_000},
        load={"duration_s": 5, "item_bytes": 900},
        tasks=[
            {"operation": "batch_write", "per_s": 30},
            {"operation": "batch_get", "per_s": 600},
            {"operation": "get", "per_s": 40},
        ],
    )
    throttled = throttles_of(tmp_path / "out")
    labelled = sum(one["throttles"] for one in found["labels"])
    assert 0 < labelled < 0.1 * throttled
    assert found["verdict"]["constraint"] == "partition"
    because = found["verdict"]["because"]
    assert because[0].startswith(f"All {labelled:,} labelled throttles were reads of the table")
    told = verb("analyze", tmp_path / "out")
    assert told.says(f"{labelled:,} of them have a label: all partition limit")


def test_keys_that_share_a_partition_are_sharded_though_none_is_too_hot(verb: Verb, tmp_path: Path) -> None:
    found = simulated(
        verb,
        tmp_path,
        table={"name": "own", "provisioned": {"read": 500, "write": 4_000}},
        keys={"kind": "hot_set", "share": 0.9, "hot_keys": 5, "keys": 1_000},
        tasks=[{"operation": "put", "per_s": 3_200}],
    )
    (shards,) = cure_of(found).values()
    assert (shards or 1) > 1
    said = next(one for one in found["recommendations"] if one["action"] == "shard_writes")
    assert "No key alone is over" in said["why"]


READ_HOT = {
    "table": {"name": "own", "billing_mode": "PAY_PER_REQUEST"},
    "keys": {"kind": "hot_key", "share": 0.9, "keys": 10_000},
    "load": {"duration_s": 30, "item_bytes": 900, "users": 100},
    "tasks": [{"operation": "put", "per_s": 500}, {"operation": "get", "per_s": 12_000}],
}


@pytest.mark.nightly
def test_eventual_reads_have_one_ceiling_and_copies_are_paid(verb: Verb, tmp_path: Path) -> None:
    """Three replicas answer them: a partition sustains 4,500 of their units a second."""
    found = simulated(verb, tmp_path, **READ_HOT)
    assert verb("analyze", tmp_path / "out").says("where a partition admits 4,500")
    copies = next(one for one in found["recommendations"] if one["action"] == "replicate_reads")
    before, after = (copies["bill"][f"{side}_dollars_per_month"] for side in ("before", "after"))
    writes = 500 * 730 * 3_600 * 0.625 / 1e6  # a month of them, once
    assert after - before > writes * (copies["shards"] - 1) * 0.99


def test_a_throttle_in_thousands_is_no_reason_for_a_redesign(verb: Verb, tmp_path: Path) -> None:
    capacity = {"provisioned": {"read": 3_000, "write": 4_000}, "warm": {"read": 12_000, "write": 4_000}}
    found = simulated(
        verb,
        tmp_path,
        table={"name": "documents", **capacity},
        keys={"kind": "zipf", "keys": 1_000, "exponent": 0.8},
        load={"duration_s": 60, "item_bytes": 350_000},
        tasks=[{"operation": "put", "per_s": 10}, {"operation": "get", "per_s": 60}],
    )
    throttled = throttles_of(tmp_path / "out")
    assert 0 < throttled <= 4, "two large items of one partition in the same second"
    assert {one["kind"] for one in found["recommendations"]} == {"mitigation"}
    assert found["cure"] is None


def test_keys_of_an_index_are_searched_if_they_are_described(verb: Verb, tmp_path: Path) -> None:
    even = {"keys": {"kind": "uniform", "keys": 10_000_000}, "load": {"duration_s": 60, "item_bytes": 900}}
    said = verb(
        "whatif", design(tmp_path, **{**TWO_HOT_KEYS, **even}), "shards", "--index", "by-status", "--json"
    )
    assert said.code == DONE, said.out
    found = json.loads(said.out)
    assert 2 <= found["data"]["answer"] <= 4, "1,500 of the index's 2,500 WCU/s are of one value"


def test_what_the_file_marks_as_assumed_is_said(verb: Verb, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        'format = "keyheat.scenario/1"\nname = "own"\nquestion = "Does it hold?"\n'
        '[table]\nname = "own"\nprovisioned = { read = 10, write = 100 }\n'
        '[keys]\nkind = "zipf"  # ASSUMED: a few take much\nexponent = 0.8  # ASSUMED\n'
        '[load]\nduration_s = 10\n[[tasks]]\noperation = "put"\nper_s = 20  # ASSUMED\n',
        encoding="utf-8",
    )
    assumed = (
        'Assumed: keys.kind = "zipf", keys.exponent = 0.8, tasks[0].per_s = 20, by the scenario\'s file.'
    )
    assert verb("plan", file).says(assumed)
    assert verb("plan", file, "--set", "load.duration_s=20").says(assumed)
    less = verb("plan", file, "--set", "tasks[0].per_s=30")
    assert less.says('Assumed: keys.kind = "zipf", keys.exponent = 0.8, by the scenario\'s file.')
    assert verb("simulate", file, "--out", tmp_path / "out").says(assumed)
