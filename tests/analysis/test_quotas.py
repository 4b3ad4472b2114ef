"""Quotas of an account that does not tell them: what is said instead."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from keyheat.evidence.table import account_quotas


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDeniedException", "may not call dynamodb:DescribeLimits"),
        ("UnknownOperationException", "the target does not know DescribeLimits"),
        ("ThrottlingException", "ThrottlingException"),
    ],
)
def test_quotas_that_are_not_told_are_unknown(code: str, words: str) -> None:
    error = ClientError({"Error": {"Code": code, "Message": "no"}}, "DescribeLimits")
    found = account_quotas(lambda _service: SimpleNamespace(describe_limits=Mock(side_effect=error)))
    assert found.source == "unknown"
    assert words in str(found.problem)
