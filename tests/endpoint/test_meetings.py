"""Transactions that take their time meet on an item: cancelled, or a plain write refused, and counted."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyheat.cli.local import local
from keyheat.endpoint.__main__ import endpoint
from keyheat.endpoint.options import TRANSACTION_S, Durations
from tests.endpoint.account import on_demand
from tests.endpoint.clients import ServiceApp, service_app_at
from tests.endpoint.ordering import counted, refused

TAKES_S = 0.02


def write(ddb: Any, *keys: str) -> None:
    puts = [{"Put": {"TableName": "orders", "Item": {"pk": {"S": key}}}} for key in keys]
    ddb.transact_write_items(TransactItems=puts)


def read(ddb: Any, key: str) -> None:
    ddb.transact_get_items(TransactItems=[{"Get": {"TableName": "orders", "Key": {"pk": {"S": key}}}}])


@pytest.fixture
def app() -> ServiceApp:
    app = service_app_at(durations=Durations(transaction_s=TAKES_S))
    app.ddb.create_table(**on_demand())
    return app


def codes_of(send: Callable[[], None]) -> list[str]:
    answer = refused(send)
    assert answer["Error"]["Code"] == "TransactionCanceledException"
    return [reason["Code"] for reason in answer["CancellationReasons"]]


def test_a_transaction_that_meets_another_one_is_cancelled_and_says_on_which_item(app: ServiceApp) -> None:
    write(app.ddb, "order-1", "total")
    assert codes_of(lambda: write(app.ddb, "order-2", "total")) == ["None", "TransactionConflict"]
    assert codes_of(lambda: read(app.ddb, "total")) == ["TransactionConflict"]
    assert "Item" not in app.ddb.get_item(TableName="orders", Key={"pk": {"S": "order-2"}})
    write(app.ddb, "order-3", "another total")


def test_a_plain_write_that_meets_a_transaction_is_refused_and_a_plain_read_is_not(app: ServiceApp) -> None:
    write(app.ddb, "total")
    with pytest.raises(app.ddb.exceptions.TransactionConflictException, match="Transaction is ongoing"):
        app.ddb.put_item(TableName="orders", Item={"pk": {"S": "total"}})
    assert "Item" in app.ddb.get_item(TableName="orders", Key={"pk": {"S": "total"}})


def test_cloudwatch_counts_every_item_that_met(app: ServiceApp) -> None:
    write(app.ddb, "a", "b")
    codes_of(lambda: write(app.ddb, "a", "b", "c"))
    with pytest.raises(ClientError):
        app.ddb.put_item(TableName="orders", Item={"pk": {"S": "a"}})
    assert counted(app, "TransactionConflict", "orders") == 3.0
    assert counted(app, "WriteThrottleEvents", "orders") == 0.0
    assert counted(app, "ThrottledRequests", "orders", Operation="PutItem") == 0.0


def test_they_take_a_while_where_a_person_started_the_endpoint() -> None:
    assert local.make_context("local", []).params["transaction_s"] == TRANSACTION_S
    assert local.make_context("local", ["--transaction-s", "0"]).params["transaction_s"] == 0.0
    assert endpoint.make_context("endpoint", []).params["transaction_s"] == 0.0
