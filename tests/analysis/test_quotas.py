"""Quotas as an account tells them, and what is said where it does not."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyheat.evidence.table import account_quotas
from keyheat.words import Capacity


def quotas(answer: Any) -> Any:
    """What is known after DescribeLimits answered, or raised, this."""

    class Client:
        def describe_limits(self) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

    return account_quotas(lambda service: {"dynamodb": Client()}[service])


def test_an_account_says_its_quotas() -> None:
    found = quotas(
        {
            "AccountMaxReadCapacityUnits": 100_000, "AccountMaxWriteCapacityUnits": 90_000,
            "TableMaxReadCapacityUnits": 50_000, "TableMaxWriteCapacityUnits": 45_000,
        }
    )  # fmt: skip
    assert (found.table, found.account) == (Capacity(50_000, 45_000), Capacity(100_000, 90_000))
    assert found.source == "account"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDeniedException", "may not call dynamodb:DescribeLimits"),
        ("UnknownOperationException", "the target does not know DescribeLimits"),
        ("ThrottlingException", "ThrottlingException"),
    ],
)
def test_quotas_that_are_not_told_are_unknown(code: str, words: str) -> None:
    found = quotas(ClientError({"Error": {"Code": code, "Message": "no"}}, "DescribeLimits"))
    assert found.source == "unknown"
    assert words in str(found.problem)
