"""Index keys of several attributes: planned, simulated and loaded by their combinations."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.plan.totals import ResourceSide, total_load
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.simulator.folder import keys_of
from keyheat.simulator.loadtest import with_combinations
from keyheat.simulator.masses import masses_of
from keyheat.simulator.simulate import simulate
from keyheat.words import WRITE
from tests.make import a_raw_scenario
from tests.outside import OR_TOO_SLOW


def raw(**index: Any) -> dict[str, Any]:
    keys = {"partition_key": ["tenant", "event_type"], "sort_key": ["day", "at"], **index}
    return a_raw_scenario(
        table={
            "name": "keyheat-multi",
            "billing_mode": "PAY_PER_REQUEST",
            "partition_key": "id",
            "sort_key": "at",
            "indexes": [{"name": "by-both", **keys}],
        },
        keys={"kind": "zipf", "keys": 1_000, "exponent": 0.8},
        attributes={
            "tenant": {"values": {"big": 80, "small": 20}},
            "event_type": {"values": {"view": 90, "click": 10}},
            "day": {"timestamp": "day"},
        },
        load={"duration_s": 10, "item_bytes": 900},
        tasks=[
            {"operation": "put", "per_s": 500},
            {"operation": "query", "per_s": 20, "index": "by-both"},
        ],
    )


def scenario(**index: Any) -> Scenario:
    return scenario_from_dict(raw(**index), "multi.toml")


def shares_of(keys: dict[str, Any], direction: str = "write") -> dict[str, float]:
    return {one["shown"]: one["share"] for one in keys["indexes"]["by-both"]["overall"][direction]}


def test_a_list_is_the_key_and_a_file_that_was_written_is_read_again() -> None:
    index = scenario().table.indexes[0]
    assert (index.partition_keys, index.sort_keys) == (("tenant", "event_type"), ("day", "at"))
    assert scenario_from_dict(scenario().model_dump(mode="json"), "again") == scenario()
    assert scenario(partition_key=["tenant"]).table.indexes[0].partition_keys == ("tenant",)


def test_a_plan_has_the_hottest_combination() -> None:
    sent = total_load(scenario())
    hottest = sent.sides[ResourceSide("keyheat-multi", "by-both", WRITE)].hottest
    assert hottest.key_per_s == pytest.approx(500 * 0.8 * 0.9, rel=0.01)


def test_the_tables_own_key_may_be_a_part() -> None:
    """A tenth of the events are clicks: its hottest combination is that of the hottest key and a view."""
    crossed = with_combinations(scenario(partition_key=["id", "event_type"]))
    assert crossed.table.indexes[0].partition_key == "id+event_type"
    hottest_key = max(masses_of(scenario().keys.pattern()).shares)
    shares = shares_of(keys_of(simulate(scenario(partition_key=["id", "event_type"])), show_keys=True))
    assert max(shares.values()) == pytest.approx(hottest_key * 0.9, rel=0.05)
    assert max(shares, key=lambda name: shares[name]).endswith("+view")


@pytest.mark.slow
@pytest.mark.opens
@pytest.mark.nightly
def test_a_load_makes_the_index_and_counts_its_combinations(
    verb: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = raw() | {"tasks": [{**task, "per_s": task["per_s"] / 5} for task in raw()["tasks"]]}
    Path("multi.json").write_text(json.dumps(small))
    said = verb("run", "multi.json", "--duration", "4", "--no-collect", "--out", "run")
    assert said.code in OR_TOO_SLOW, said.err
    keys = json.loads(Path("run/keys.json").read_text())
    assert shares_of(keys)["big+view"] == pytest.approx(0.72, abs=0.12)
    assert shares_of(keys, "read")["big+view"] > 0.4
    run = json.loads(Path("run/run.json").read_text())
    assert run["totals"]["errors"] == 0
    assert run["totals"]["consumed_units"]["write"] > 1.5 * run["totals"]["accepted"] * 0.8


def test_a_plus_sign_in_a_value_is_no_boundary() -> None:
    """`a+b` and `c` are another key than `a` and `b+c`."""
    odd = raw()
    odd["attributes"] |= {
        "tenant": {"values": {"a": 1, "a+b": 1}},
        "event_type": {"values": {"b+c": 1, "c": 1}},
    }
    shares = shares_of(keys_of(simulate(scenario_from_dict(odd, "odd")), show_keys=True))
    assert sorted(shares.values()) == pytest.approx([0.25] * 4)
