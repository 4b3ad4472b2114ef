"""Every service under one AWS_ENDPOINT_URL: who one is, is answered, and what is not here says so."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from keyheat.endpoint.process import EndpointProcess

pytestmark = pytest.mark.opens


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """A session for which every service is here."""
    with EndpointProcess.start() as endpoint, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", endpoint.url)
        yield boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1")


def test_who_one_is_is_answered(session: Any) -> None:
    assert session.client("sts").get_caller_identity()["Account"] == "000000000000"


@pytest.mark.parametrize(
    ("service", "operation", "asked"),
    [
        ("sts", "get_session_token", {}),
        ("application-autoscaling", "describe_scalable_targets", {"ServiceNamespace": "dynamodb"}),
        ("s3", "list_buckets", {}),
        ("sqs", "list_queues", {}),
        ("sns", "list_topics", {}),
        ("lambda", "list_functions", {}),
        ("kms", "list_keys", {}),
    ],
)
def test_what_is_not_here_says_so_in_the_words_that_its_client_shows(
    session: Any, service: str, operation: str, asked: dict[str, Any]
) -> None:
    client = session.client(service, config=Config(retries={"total_max_attempts": 1}))
    with pytest.raises(ClientError, match="local endpoint has DynamoDB and CloudWatch, and no") as refused:
        getattr(client, operation)(**asked)
    assert refused.value.response["Error"]["Code"] == "ServiceNotServedHere"


def test_its_own_services_are_answered_beside_them(session: Any) -> None:
    assert session.client("dynamodb").list_tables()["TableNames"] == []
    assert session.client("cloudwatch").list_metrics()["Metrics"] == []
    assert session.client("dynamodbstreams").list_streams()["Streams"] == []
