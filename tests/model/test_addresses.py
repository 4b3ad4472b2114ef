"""Whose machine a host is of, held against the partitions that botocore knows; and who agrees to a host.

A host that only a file names: somebody on a terminal is asked about it, and nobody else can agree.
"""

import pytest
from botocore.loaders import create_loader

from keyheat.addresses import (
    UnknownEndpoint,
    endpoint_of,
    in_aws,
    known_host,
    on_this_machine,
    region_of,
    without_account,
)
from keyheat.cli.guards import SafetyRefusal, at_known_endpoint

PARTITIONS = create_loader().load_data("partitions")["partitions"]
SUFFIXES = sorted(
    {one["outputs"][part] for one in PARTITIONS for part in ("dnsSuffix", "dualStackDnsSuffix")}
)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_partition_is_aws(suffix: str) -> None:
    assert region_of(f"dynamodb.some-region-1.{suffix}") == "some-region-1"
    assert in_aws(f"dynamodb-fips.some-region-1.{suffix}")
    assert not in_aws(f"dynamodb.some-region-1.not{suffix}")


def test_a_host_that_names_an_account_is_that_of_its_region() -> None:
    assert without_account("123456789012.ddb.cn-north-1.amazonaws.com.cn") == (
        "dynamodb.cn-north-1.amazonaws.com.cn"
    )
    assert without_account("123456789012.ddb.eu-west-1.example") == "123456789012.ddb.eu-west-1.example"


@pytest.mark.parametrize(
    ("host", "here"),
    [
        *(("127.0.0.1", True), ("127.8.9.10", True), ("::1", True), ("localhost", True)),
        *(("0.0.0.0", False), ("10.0.0.1", False), ("localhost.example", False)),
    ],
)
def test_this_machine_is_loopback_alone(host: str, here: bool) -> None:
    assert on_this_machine(host) == here


@pytest.mark.parametrize("host", ["localhost", "tables.localhost"])
@pytest.mark.parametrize(
    ("addresses", "here"),
    [
        ([], False),
        (["127.0.0.1"], True),
        (["127.0.0.1", "::1"], True),
        (["203.0.113.5"], False),
        (["127.0.0.1", "203.0.113.5"], False),
        (["::1", "fe80::1%eth0"], False),
    ],
)
def test_a_name_is_what_it_resolves_to(host: str, addresses: list[str], here: bool) -> None:
    assert on_this_machine(host, lambda _host: addresses) == here


def test_only_names_of_this_machine_are_looked_up() -> None:
    def resolve(host: str) -> list[str]:
        raise AssertionError(host)

    assert not on_this_machine("tables.example", resolve)


@pytest.mark.parametrize(
    ("url", "known"),
    [
        *((f"https://dynamodb.eu-west-1.{suffix}", True) for suffix in SUFFIXES),
        ("https://vpce-1a2b.dynamodb.eu-west-1.vpce.amazonaws.com", True),
        ("https://dynamodb.eu-west-1.amazonaws.com/", True),
        ("http://127.0.0.1:8000", True),
        ("http://[::1]:8000", True),
        ("http://dynamodb.eu-west-1.amazonaws.com", False),
        ("https://dynamodb.eu-west-1.s3.amazonaws.com", False),
        ("https://a.dynamodb.eu-west-1.my-bucket.s3.amazonaws.com", False),
        ("https://dynamodb.eu-west-1.notamazonaws.com", False),
        ("https://dynamodb.eu-west-1.amazonaws.com.example", False),
        ("https://dynamodb.eu-west-1.amazonaws.com@example", False),
        ("https://example\\@dynamodb.eu-west-1.amazonaws.com", False),
        ("https://example#@dynamodb.eu-west-1.amazonaws.com", False),
        ("http://127.0.0.1:8000@example", False),
        ("http://127.0.0.1:8000/path", False),
        ("http://169.254.169.254", False),
        ("ftp://127.0.0.1", False),
        ("dynamodb.eu-west-1.amazonaws.com", False),
        ("", False),
    ],
)
def test_whom_nobody_needs_to_be_asked_about(url: str, known: bool) -> None:
    assert known_host(url) == known


URL = "http://collector.example:8000"


def asked_at(given: str | None) -> str | None:
    return endpoint_of(URL, given, file="run.json", option="--endpoint-url")


def test_what_somebody_gives_goes_before_the_file() -> None:
    assert at_known_endpoint(asked_at, "http://other.example") == "http://other.example"
    assert endpoint_of("http://127.0.0.1:1", None, file="run.json", option="--o") == "http://127.0.0.1:1"
    assert endpoint_of(None, None, file="run.json", option="--o") is None


def test_a_yes_is_enough_and_a_no_or_nobody_there_is_a_refusal() -> None:
    assert at_known_endpoint(asked_at, None, person=lambda: lambda _question: "y") == URL
    with pytest.raises(SafetyRefusal, match="say --endpoint-url"):
        at_known_endpoint(asked_at, None, person=lambda: None)
    for answer in ("n", "", "no"):
        with pytest.raises(SafetyRefusal, match="no request was sent"):
            at_known_endpoint(asked_at, None, person=lambda: lambda _question: answer)  # noqa: B023


def test_a_name_of_this_machine_that_a_file_gives_is_asked_about() -> None:
    """What it leads to is somebody's answer, and may be another one when it is asked."""
    with pytest.raises(UnknownEndpoint):
        endpoint_of("http://tables.localhost:8000", None, file="run.json", option="--endpoint-url")


def test_what_a_file_names_is_shown_plainly() -> None:
    with pytest.raises(UnknownEndpoint) as caught:
        endpoint_of(f"http://\x1b[2J{'x' * 10_000}", None, file="run.json", option="--endpoint-url")
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 600
