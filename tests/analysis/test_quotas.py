"""Quotas as an account tells them, and what is said where it does not."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.stub import Stubber

from keyheat.evidence.table import account_quotas
from keyheat.words import Capacity
from tests.endpoint.clients import unasked_client

ANSWER = {
    "AccountMaxReadCapacityUnits": 100_000,
    "AccountMaxWriteCapacityUnits": 90_000,
    "TableMaxReadCapacityUnits": 50_000,
    "TableMaxWriteCapacityUnits": 45_000,
}


@pytest.fixture
def stubbed() -> Iterator[tuple[Any, Stubber]]:
    client = unasked_client("dynamodb")
    with Stubber(client) as stubber:
        yield client, stubber
        stubber.assert_no_pending_responses()
    client.close()


def test_an_account_says_its_quotas(stubbed: tuple[Any, Stubber]) -> None:
    client, stubber = stubbed
    stubber.add_response("describe_limits", ANSWER, {})
    found = account_quotas(lambda service: {"dynamodb": client}[service])
    assert found.table == Capacity(50_000, 45_000)
    assert found.account == Capacity(100_000, 90_000)
    assert found.source == "account"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDeniedException", "may not call dynamodb:DescribeLimits"),
        ("UnknownOperationException", "the target does not know DescribeLimits"),
        ("ThrottlingException", "ThrottlingException"),
    ],
)
def test_quotas_that_are_not_told_are_unknown(stubbed: tuple[Any, Stubber], code: str, words: str) -> None:
    client, stubber = stubbed
    stubber.add_client_error("describe_limits", code, "no")
    found = account_quotas(lambda _service: client)
    assert found.source == "unknown"
    assert words in str(found.problem)
