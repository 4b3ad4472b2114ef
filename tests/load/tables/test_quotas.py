"""What an account's quotas do not permit is said before anything is made."""

from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from keyheat.load.tables.obstacles import check_quotas
from keyheat.load.tables.ownership import TableError
from keyheat.load.transport.target import target_at
from keyheat.scenario.scenario import load_scenario

SCENARIO = load_scenario(Path(__file__).parents[3] / "configs" / "scenarios" / "country-index.toml")
TARGET = target_at("https://dynamodb.us-east-1.amazonaws.com")


def stubbed() -> tuple[Any, Stubber]:
    client = boto3.client("dynamodb", "us-east-1", aws_access_key_id="x", aws_secret_access_key="y")
    return client, Stubber(client)


def limits(units: int) -> dict[str, int]:
    sides = ("AccountMaxRead", "AccountMaxWrite", "TableMaxRead", "TableMaxWrite")
    return {f"{side}CapacityUnits": units for side in sides}


def test_what_is_beyond_the_quotas_is_said_all_at_once() -> None:
    client, stub = stubbed()
    stub.add_response("describe_limits", limits(2_000))
    with stub, pytest.raises(TableError) as caught:
        check_quotas(SCENARIO, TARGET, lambda _target: client)
    assert len(caught.value.errors) > 1
    assert "2,000" in str(caught.value)


def test_who_may_not_ask_is_told_by_create_table() -> None:
    client, stub = stubbed()
    stub.add_client_error("describe_limits", "AccessDeniedException")
    with stub:
        check_quotas(SCENARIO, TARGET, lambda _target: client)
        stub.assert_no_pending_responses()
