"""The keys of an index, counted by a simulation as those of the table are; and the advice on a hot one."""

from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.thresholds import load_thresholds
from keyheat.evidence.simulated import evidence_of
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Diagnosis
from keyheat.runs.manifest import Keys, Manifest
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.folder import keys_of, manifest_of
from keyheat.simulator.simulate import simulate
from tests.make import a_scenario


def events(**event_type: Any) -> Scenario:
    """Tenants by Zipf, on demand, items of 3 KB, and an index on a type of event."""
    return a_scenario(
        table={
            "name": "events", "billing_mode": "PAY_PER_REQUEST", "partition_key": "tenant", "sort_key": "at",
            "indexes": [{"name": "by-type", "partition_key": "event_type"}],
        },
        keys={"kind": "zipf", "keys": 500, "exponent": 0.6},
        attributes={"event_type": event_type},
        load={"duration_s": 60, "arrivals": "constant", "requests_per_s": 3_000, "item_bytes": 3_000},
    )  # fmt: skip


def diagnosed(scenario: Scenario) -> tuple[Keys, Diagnosis]:
    simulation = simulate(scenario, folder=Path())
    keys = Keys.model_validate(keys_of(simulation, show_keys=True))
    client = ClientFiles(manifest=Manifest.model_validate(manifest_of(simulation)), keys=keys)
    found = diagnose(
        evidence_of(simulation), client=client, thresholds=load_thresholds(), scenario=scenario
    )  # fmt: skip
    return keys, found


@pytest.mark.slow
@pytest.mark.nightly
def test_a_hot_value_of_an_index_is_counted_and_sharded_and_not_only_pre_warmed() -> None:
    keys, found = diagnosed(events(values={"view": 50, "click": 30, "buy": 20}))
    hottest = keys.indexes["by-type"].overall["write"][0]  # type: ignore[index]
    assert (hottest.shown, round(hottest.share, 2)) == ("view", 0.5)
    assert hottest.throttles > 0
    of_index = [one for one in found.recommendations if one.resource == "by-type"]
    assert found.cure is not None
    assert found.cure.throttle_share_after == 0
    steps = {(one.action, one.resource) for one in found.cure.steps}
    assert {("change_index_key", "by-type"), ("pre_warm", "by-type")} <= steps, (
        "9,000 WCU/s, and one hot value"
    )
    assert any("event_type, its partition key," in one.expected for one in of_index)


@pytest.mark.slow
@pytest.mark.nightly
def test_an_index_with_many_even_values_has_only_not_grown() -> None:
    keys, found = diagnosed(events(count=10_000))
    assert keys.indexes["by-type"].overall["write"][0].share < 0.001  # type: ignore[index]
    rules = {label.rule for label in found.labels if label.resource == "by-type"}
    assert rules <= {"on-demand-not-grown"}
