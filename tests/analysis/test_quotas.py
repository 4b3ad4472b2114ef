"""Quotas of an account that does not tell them: what is said instead."""

from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from keyheat.evidence.table import account_quotas


@pytest.mark.parametrize(
    "code", ["AccessDeniedException", "UnknownOperationException", "ThrottlingException"]
)
def test_quotas_that_are_not_told_are_unknown(code: str) -> None:
    error = ClientError({"Error": {"Code": code, "Message": "no"}}, "DescribeLimits")
    found = account_quotas(lambda _service: SimpleNamespace(describe_limits=Mock(side_effect=error)))
    assert found.source == "unknown"
    assert f"({code}) when calling the DescribeLimits operation" in str(found.problem)
