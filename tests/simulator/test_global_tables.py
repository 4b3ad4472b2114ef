"""Global tables: paid for in every Region."""

import json
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.diagnosis import diagnosed
from keyheat.evidence.simulated import evidence_of
from keyheat.intake.scenario import Demand, scenario_text
from keyheat.intake.sources import read_source
from keyheat.plan.bill import Bill, bill_of_run
from keyheat.plan.charges import Tariff
from keyheat.plan.prices import load_prices
from keyheat.runs.formats import Series
from keyheat.runs.metrics import REPLICATED, REPLICATION_LATENCY, consumed
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.simulator.simulate import simulate
from keyheat.words import WRITE
from tests.make import a_raw_scenario

REGIONS = ["eu-west-1", "us-east-1", "ap-southeast-2"]


def raw(load: dict[str, Any] | None = None, **table: Any) -> dict[str, Any]:
    return a_raw_scenario(
        table={
            "name": "carts",
            "billing_mode": "PAY_PER_REQUEST",
            "regions": REGIONS,
            "indexes": [{"name": "by-owner", "partition_key": "owner"}],
            **table,
        },
        keys={"kind": "uniform", "keys": 10_000_000},
        attributes={"owner": {"count": 500}},
        load={"duration_s": 60, "requests_per_s": 400, "item_bytes": 900, **(load or {})},
        tasks=[{"operation": "put", "weight": 1}],
    )


def scenario(load: dict[str, Any] | None = None, **table: Any) -> Scenario:
    return scenario_from_dict(raw(load, **table), "carts.toml")


def billed(made: Scenario) -> Bill:
    return bill_of_run(made, load_prices(), folder=Path())


def test_each_region_pays_for_the_writes_of_all() -> None:
    """https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/global-tables-billing.html"""
    alone, three = billed(scenario(regions=[])), billed(scenario())
    assert three.dollars == pytest.approx(3 * alone.dollars)
    assert three.unpriced == ("transfer to 2 Regions, at most",)
    met = Tariff.of(scenario(), load_prices()), Tariff.of(scenario(regions=[]), load_prices())
    assert met[0].per_write_unit == 3 * met[1].per_write_unit
    assert met[0].per_read_unit == met[1].per_read_unit


def test_provisioned_capacity_is_paid_for_in_each_region_too() -> None:
    capacity = {"read": 100, "write": 500}
    table = {"billing_mode": "PROVISIONED", "provisioned": capacity}
    index = {"indexes": [{"name": "by-owner", "partition_key": "owner", "provisioned": capacity}]}
    alone, three = billed(scenario(**table, **index, regions=[])), billed(scenario(**table, **index))
    assert three.dollars == pytest.approx(3 * alone.dollars)


def test_what_came_from_other_regions_is_said_of_a_real_table() -> None:
    evidence = evidence_of(simulate(scenario()))
    at = evidence.window.start
    metric = consumed(WRITE)
    total = evidence.total(metric)
    assert total
    kept = [one for one in evidence.series if one.dimension is None]
    copied = Series(
        metric=metric, statistic="Sum", period_s=60, dimension=REPLICATED, points=((at, total / 4),)
    )
    late = Series(
        metric=REPLICATION_LATENCY, statistic="Average", period_s=300,
        dimension="ReceivingRegion=us-east-1", points=((at, 2_500.0),),
    )  # fmt: skip
    found = diagnosed(evidence.model_copy(update={"series": (*kept, copied, late), "source": "aws"}))
    said = " ".join(found.verdict.because)
    assert "25 % of its write units were replicated from other Regions." in said.replace(
        "\N{NO-BREAK SPACE}", " "
    )
    assert "Copies to us-east-1 took 2,500 ms" in said.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"regions": ["eu-west-1"]}, "two Regions and more"),
        ({"regions": ["eu-west-1", "eu-west-1"]}, "eu-west-1 is named twice"),
        ({"regions": ["Ireland", "eu-west-1"]}, "the name of an AWS Region"),
    ],
)
def test_what_is_wrong_with_regions_is_said(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        scenario(**changes)


def test_a_description_with_replicas_comes_over(tmp_path: Path) -> None:
    table = {
        "TableName": "carts",
        "TableArn": "arn:aws:dynamodb:eu-west-1:123456789012:table/carts",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "Replicas": [{"RegionName": "us-east-1"}],
    }
    file = tmp_path / "carts.json"
    file.write_text(json.dumps({"Table": table}))
    text = scenario_text(read_source(file).tables[0], Demand(), "carts.json", "schema.json")
    assert 'regions = ["eu-west-1", "us-east-1"]' in text
    file.write_text(
        json.dumps({"Table": {name: value for name, value in table.items() if name != "TableArn"}})
    )
    text = scenario_text(read_source(file).tables[0], Demand(), "carts.json", "schema.json")
    assert 'regions = ["us-east-2", "us-east-1"]  # ASSUMED' in text
