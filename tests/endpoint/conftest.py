"""An endpoint for tests: as a process with boto3 clients, and in this process under a clock of theirs."""

from collections.abc import Iterator
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from tests.endpoint.account import attributes, indexed, on_demand, schema, table
from tests.endpoint.clients import ServiceApp, client, service_app_at
from tests.endpoint.ordering import ORDERS, ordered


@pytest.fixture
def service_app() -> ServiceApp:
    """An endpoint in this process, with `.clock`, `.service`, `.ddb` and `.cloudwatch`."""
    return service_app_at()


@pytest.fixture
def orders(service_app: ServiceApp) -> Any:
    """The client of an endpoint in this process with the table `orders`."""
    return ordered(service_app)


@pytest.fixture(scope="module")
def refusing() -> ServiceApp:
    """An endpoint for requests that change nothing.

    Tables: `orders` (keys `pk`, `sk`; two indexes), `paid` (provisioned; index `by_city`), and `music`.
    """
    app = service_app_at()
    keys = {"KeySchema": schema("artist", "song"), "AttributeDefinitions": attributes("artist", "song")}
    for request in (ORDERS, table("paid", **indexed()), on_demand("music", **keys)):
        app.ddb.create_table(**request)
    app.ddb.describe_table(TableName="paid")
    return app


@pytest.fixture(scope="session")
def endpoint() -> Iterator[EndpointProcess]:
    """A running endpoint process, shared by the tests of one worker: use table names of your own."""
    with EndpointProcess.start() as process:
        yield process


@pytest.fixture(scope="session")
def ddb(endpoint: EndpointProcess) -> Any:
    """boto3's DynamoDB client on the running endpoint."""
    return client("dynamodb", endpoint.url)
