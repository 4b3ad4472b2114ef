"""An endpoint for tests: as a process with boto3 clients, and in this process under a clock of theirs."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from tests.endpoint.clients import FakeClock, ServiceApp, client, service_app_at

__all__ = ["FakeClock", "ServiceApp", "client", "service_app_at"]


@pytest.fixture
def service_app() -> ServiceApp:
    """An endpoint in this process, with `.clock`, `.service`, `.ddb` and `.cloudwatch`."""
    return service_app_at()


@pytest.fixture(scope="session")
def endpoint() -> Iterator[EndpointProcess]:
    """A running endpoint process, shared by the tests of one worker: use table names of your own."""
    with EndpointProcess.start() as process:
        yield process


@pytest.fixture(scope="session")
def ddb(endpoint: EndpointProcess) -> Any:
    """boto3's DynamoDB client on the running endpoint."""
    return client("dynamodb", endpoint.url)


@pytest.fixture(scope="session")
def cloudwatch(endpoint: EndpointProcess) -> Any:
    """boto3's CloudWatch client on the running endpoint."""
    return client("cloudwatch", endpoint.url)


@pytest.fixture
def table(ddb: Any, request: pytest.FixtureRequest) -> Iterator[SimpleNamespace]:
    """A table of the running endpoint with one string key, `pk`, gone after the test."""
    name = f"t-{abs(hash(request.node.nodeid)):x}"
    ddb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    yield SimpleNamespace(name=name)
    ddb.delete_table(TableName=name)
