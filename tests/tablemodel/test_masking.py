"""What names an account or signs a request is shown to nobody, and everything else is left as it was."""

from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from tablemodel.masking import ACCOUNT, mask_errors, masked


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("arn:aws:dynamodb:eu-west-1:123456789012:table/orders/index/by_day",
         f"arn:aws:dynamodb:eu-west-1:{ACCOUNT}:table/orders/index/by_day"),
        ("User: arn:aws:sts::123456789012:assumed-role/load/me is not authorized to perform: x on resource: "
         "arn:aws-cn:dynamodb:cn-north-1:123456789012:table/t",
         f"User: arn:aws:sts::{ACCOUNT}:assumed-role/load/me is not authorized to perform: x on resource: "
         f"arn:aws-cn:dynamodb:cn-north-1:{ACCOUNT}:table/t"),
        ("https://123456789012.ddb.us-east-1.amazonaws.com", f"https://{ACCOUNT}.ddb.us-east-1.amazonaws.com"),
        ("Account: 123456789012", f"Account: {ACCOUNT}"),
        ("the key AKIAIOSFODNN7EXAMPLE is unknown", "the key (access key) is unknown"),
        ("should have been 'POST\n/\n\nx-amz-security-token:FwoGZXIvYXdzE//abc+d==\nx-amz-target:y'",
         "should have been 'POST\n/\n\nx-amz-security-token:(session token)\nx-amz-target:y'"),
    ],
)  # fmt: skip
def test_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "table orders-123456789012 took 123456789012 units",
        "2026-11-20T12:00:00Z sha256:123456789012abcd",
        "arn:aws:s3:::bucket/key",
    ],
)
def test_what_only_looks_like_it_is_left(text: str) -> None:
    assert masked(text) == text


def test_an_error_of_a_service_is_masked_before_anybody_reads_it() -> None:
    client = boto3.client(
        "dynamodb", region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="y"
    )
    raised: list[Any] = []
    mask_errors(client)
    with Stubber(client) as stub:
        message = "arn:aws:iam::123456789012:user/me is not authorized"
        stub.add_client_error("describe_table", "AccessDeniedException", message)
        with pytest.raises(ClientError) as caught:
            client.describe_table(TableName="orders")
        raised.append(caught.value)
    assert "123456789012" not in str(raised[0])
    assert "is not authorized" in str(raised[0])
