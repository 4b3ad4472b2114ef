"""What the server does around a handler: errors, metrics, admin pages."""

from typing import Any

import pytest

from keyheat.endpoint.dynamodb import CONTROL
from keyheat.endpoint.router import Router
from keyheat.endpoint.server import OLDEST, Housekeeping
from keyheat.endpoint.service import Context, Handler, Regions, Service
from tests.endpoint.account import on_demand
from tests.endpoint.clients import (
    FakeClock,
    ServiceApp,
    posted,
    refusal,
)
from tests.endpoint.ordering import counted


def app_with(**data: Handler) -> ServiceApp:
    """A service with the table `orders`, whose data operations are these."""
    clock = FakeClock()
    service = Service(clock=clock)
    app = ServiceApp(clock, service, Router(Regions(service), CONTROL, data))
    app.ddb.create_table(**on_demand())
    app.ddb.describe_table(TableName="orders")
    return app


def broken(context: Context, request: dict[str, Any]) -> bytes:
    raise KeyError("a mistake of ours")


def test_a_mistake_of_ours_is_a_500_whose_cause_stays_here(caplog: pytest.LogCaptureFixture) -> None:
    app = app_with(PutItem=broken)
    status, _, body = posted(app.router, "PutItem", {"TableName": "orders", "Item": {"pk": {"S": "a"}}})
    assert (status, body["__type"]) == (500, "com.amazonaws.dynamodb.v20120810#InternalServerError")
    assert "a mistake of ours" not in str(body)
    assert "a mistake of ours" in caplog.text
    assert counted(app, "SystemErrors", "orders", Operation="PutItem") == 1.0


@pytest.mark.parametrize(
    ("request_", "code"),
    [({"TableName": "orders", "Item": []}, "SerializationException"), ({"Item": {}}, "ValidationException")],
)
def test_a_request_that_a_handler_stumbles_over_is_its_senders_mistake(request_: Any, code: str) -> None:
    assert refusal(app_with(PutItem=broken), "PutItem", request_)[0] == code


def test_items_returned_are_counted_by_operation(service_app: ServiceApp) -> None:
    arn = service_app.ddb.create_table(**on_demand())["TableDescription"]["TableArn"]
    puts = [{"Put": {"TableName": "orders", "Item": {"pk": {"S": key}}}} for key in ("a", "b")]
    service_app.ddb.transact_write_items(TransactItems=puts)
    condition = {"KeyConditionExpression": "pk = :a", "ExpressionAttributeValues": {":a": {"S": "a"}}}
    service_app.ddb.query(TableName=arn, **condition)
    service_app.ddb.scan(TableName="orders")
    for operation, number in (("Query", 1.0), ("Scan", 2.0)):
        assert counted(service_app, "ReturnedItemCount", "orders", Operation=operation) == number


def test_admin_pages() -> None:
    app = app_with()
    app.service.catalog.get("orders").model.admit_write(b"12345678", 3.0, app.clock())

    assert app.page("health") == (200, {"status": "ok", "scale": 1.0})
    status, rows = app.page("decisions?table=orders")
    assert status == 200
    assert [(row["direction"], row["accepted"], row["consumed"]) for row in rows] == [("write", 1, 3.0)]
    status, resources = app.page("partitions?table=orders")
    assert (status, resources[0]["index"]) == (200, None)
    assert [row[3] for row in resources[0]["rows"]] == [3.0]
    assert app.page("partitions?table=nothing")[0] == 404
    said = app.router.answer(b"POST", b"/", {b"x-amz-target": b"DynamoDB_20120810.ListTables"}, b"{}")
    assert said.startswith(b"HTTP/1.1 400")  # unsigned, and counted all the same
    status, asked = app.page("requests")
    assert (status, asked["ListTables"], asked["CreateTable"]) == (200, 1, 1)
    assert app.page("coffee")[0] == 404
    which = {"error": "which table? Say ?table=T; tables are: orders"}
    assert app.page("decisions?tabel=orders") == (404, which)
    assert app.page("health", "POST")[0] == 405


def test_old_objects_are_looked_at_only_in_quiet() -> None:
    collections: list[int] = []
    housekeeping = Housekeeping(collect=collections.append)
    for answered in (10, 20, 20, 20):
        housekeeping.sweep(answered)
    assert collections == [0, 0]
    for _ in range(5):
        housekeeping.sweep(20)
    assert collections == [0, 0, OLDEST]
