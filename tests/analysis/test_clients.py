"""Each service is asked where it is: in AWS at an address of its own, elsewhere all at one."""

import pytest

from keyheat.evidence.clients import boto3_clients, is_aws


@pytest.fixture(autouse=True)
def _some_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nobody")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "service", "asked"),
    [
        ("https://dynamodb.eu-west-1.amazonaws.com", "dynamodb", "https://dynamodb.eu-west-1.amazonaws.com"),
        (
            "https://dynamodb.eu-west-1.amazonaws.com",
            "cloudwatch",
            "https://monitoring.eu-west-1.amazonaws.com",
        ),
        (None, "cloudwatch", "https://monitoring.eu-west-1.amazonaws.com"),
        ("http://127.0.0.1:8000", "cloudwatch", "http://127.0.0.1:8000"),
        ("http://db.example:8000", "cloudwatch", "http://db.example:8000"),
    ],
)
def test_where_a_service_is_asked(given: str | None, service: str, asked: str) -> None:
    factory = boto3_clients(region="eu-west-1", endpoint_url=given)
    assert factory(service).meta.endpoint_url == asked


def test_what_is_aws() -> None:
    assert is_aws("https://dynamodb.cn-north-1.amazonaws.com.cn")
    assert not is_aws("https://amazonaws.com.example")
