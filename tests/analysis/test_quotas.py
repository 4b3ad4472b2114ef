"""Quotas as an account tells them, and what is said where it does not."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyheat.evidence.table import account_quotas


def quotas(answer: Any) -> Any:
    """What is known after DescribeLimits answered, or raised, this."""

    class Client:
        def describe_limits(self) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

    return account_quotas(lambda service: {"dynamodb": Client()}[service])


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
