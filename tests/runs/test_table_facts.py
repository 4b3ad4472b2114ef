"""DescribeTable's answer as facts: what is not there is None, however an endpoint says so."""

from typing import Any

import pytest
from pydantic import ValidationError

from keyheat.runs.formats import TableFacts
from keyheat.runs.table_facts import table_facts
from keyheat.validation import mistakes
from keyheat.words import Capacity

TABLE: dict[str, Any] = {
    "TableName": "orders",
    "TableArn": "arn:aws:dynamodb:eu-west-1:111122223333:table/orders",
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 7},
}
ON_DEMAND = {"BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}


def test_a_table_as_it_is_described() -> None:
    index = {
        "IndexName": "by_day",
        "ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 2},
    }
    warm = {"WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000}}
    facts = table_facts({**TABLE, **warm, "GlobalSecondaryIndexes": [index], "LocalSecondaryIndexes": [{}]})
    assert (facts.name, facts.billing_mode, facts.has_lsi) == ("orders", "PROVISIONED", True)
    assert (facts.provisioned, facts.warm) == (Capacity(5, 7), Capacity(12_000, 4_000))
    assert [(one.name, one.provisioned) for one in facts.indexes] == [("by_day", Capacity(1, 2))]
    assert "111122223333" not in (facts.arn or "")
    assert facts.model_dump(mode="json")["provisioned"] == {"read": 5, "write": 7}


@pytest.mark.parametrize(
    ("said", "maximum"),
    [
        ({}, None),
        ({"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}, None),
        ({"MaxReadRequestUnits": 0, "MaxWriteRequestUnits": 0}, None),
        ({"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 100}, Capacity(None, 100)),
        ({"MaxWriteRequestUnits": 100}, Capacity(None, 100)),
    ],
)
def test_a_rate_that_is_not_set_is_none_and_never_zero(
    said: dict[str, int], maximum: Capacity | None
) -> None:
    assert table_facts({**TABLE, **ON_DEMAND, "OnDemandThroughput": said}).max_on_demand == maximum


def test_a_capacity_from_a_file_is_checked_side_by_side() -> None:
    with pytest.raises(ValidationError) as found:
        TableFacts.model_validate({"name": "orders", "provisioned": {"read": -1, "writ": 3}})
    assert mistakes(found.value) == [
        "Input should be greater than or equal to 0, got -1 @ $.provisioned.read",
        "unknown field @ $.provisioned.writ",
    ]
