"""Each service is asked where it is: in AWS at an address of its own, elsewhere all at one."""

import pytest

from keyheat.evidence.clients import boto3_clients
from keyheat.load.transport.target import target_at

pytestmark = pytest.mark.usefixtures("some_account")
IN_AWS = "https://dynamodb.eu-west-1.amazonaws.com"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "service", "asked"),
    [
        (IN_AWS, "dynamodb", IN_AWS),
        (IN_AWS, "cloudwatch", "https://monitoring.eu-west-1.amazonaws.com"),
        (None, "cloudwatch", "https://monitoring.eu-west-1.amazonaws.com"),
        ("http://db.example:8000", "cloudwatch", "http://db.example:8000"),
    ],
)
def test_where_a_service_is_asked(given: str | None, service: str, asked: str) -> None:
    factory = boto3_clients(region="eu-west-1", endpoint_url=given)
    assert factory(service).meta.endpoint_url == asked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "set_to", "region"),
    [
        ("ap-south-1", {"AWS_REGION": "eu-west-1"}, "ap-south-1"),
        (None, {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-2"}, "eu-west-1"),
        (None, {"AWS_DEFAULT_REGION": "eu-west-2"}, "eu-west-2"),
        (None, {}, "us-east-1"),
    ],
)
def test_a_local_table_is_looked_for_in_the_region_that_a_load_signs_for(
    said: str | None, set_to: dict[str, str], region: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "none")
    for name, value in set_to.items():
        monkeypatch.setenv(name, value)
    url = "http://127.0.0.1:8000"
    asked = boto3_clients(region=said, endpoint_url=url, local=True)("dynamodb").meta.region_name
    assert asked == target_at(url, region=said).region == region
