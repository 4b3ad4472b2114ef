"""What names an account or signs a request is shown to nobody, and everything else is left as it was."""

import logging
import re
from time import process_time

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from keyheat.masking import ACCOUNT, mask_errors, masked
from tests.endpoint.clients import Direct, service_app_at, unasked_client


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
        ("sftp://me:s3cr3t@host:22/runs", "sftp://me@host:22/runs"),
        ("sftp://me:s3@cr3t@host/runs/a@b", "sftp://me@host/runs/a@b"),
        ("cannot reach 'sftp://me:s3/cr#3t@host/x'", "cannot reach 'sftp://me@host/x'"),
        ("redis://:s3cr3t@host", "redis://@host"),
        ("https://ghp_s3cr3t@host/x and http://me:s3cr3t@127.0.0.1:4318/v1",
         "https://host/x and http://127.0.0.1:4318/v1"),
        ("https://h/x?sv=2&sig=s3cr3t%3D&se=1", "https://h/x?sv=2&sig=(secret)&se=1"),
        ("url: /v1/metrics?api_key=s3cr3t (Caused", "url: /v1/metrics?api_key=(secret) (Caused"),
        ("?X-Amz-Credential=AK/1&X-Amz-Security-Token=s3cr3t&X-Amz-Signature=00ff",
         "?X-Amz-Credential=(secret)&X-Amz-Security-Token=(session token)&X-Amz-Signature=(secret)"),
        ("{'X-Amz-Security-Token': b'FwoG/s3cr3t==', 'x': 1}",
         "{'X-Amz-Security-Token': b'(session token)', 'x': 1}"),
        ("Credential=ASIAIOSFODNN7EXAMPLE/2026, Signature=" + "0a" * 32,
         "Credential=(access key)/2026, Signature=(secret)"),
        ("<SecretAccessKey>s3cr3t/x</SecretAccessKey>", "<SecretAccessKey>(secret)</SecretAccessKey>"),
        ('{"sessionToken": "s3cr3t==", "expiration": 1}', '{"sessionToken": "(secret)", "expiration": 1}'),
        (r'"{\"secretAccessKey\":\"s3cr3t\"}"', r'"{\"secretAccessKey\":\"(secret)\"}"'),
        ("Authorization: Bearer abcdefghij0123456789", "Authorization: Bearer (secret)"),
    ],
)  # fmt: skip
def test_masked(text: str, shown: str) -> None:
    assert masked(text) == shown
    assert masked(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "table orders-123456789012 took 123456789012 units",
        "2026-11-20T12:00:00Z sha256:123456789012abcd",
        "arn:aws:s3:::bucket/key",
        "s3://bucket/runs/a@b:c@d",
        "http://127.0.0.1:8000/table@home and http://[::1]:8000/x@y",
        '{"target":"http://127.0.0.1:8000","mail":"me@example.com"}',
        "file:///home/me/run?table=orders&tokens=3",
        "the session token has expired; what is the secret key?",
    ],
)
def test_what_only_looks_like_it_is_left(text: str) -> None:
    assert masked(text) == text


def test_an_error_of_a_service_is_masked_before_anybody_reads_it() -> None:
    client = mask_errors(unasked_client("dynamodb"))
    with Stubber(client) as stub:
        message = "arn:aws:iam::123456789012:user/me is not authorized"
        stub.add_client_error("describe_table", "AccessDeniedException", message)
        with pytest.raises(ClientError) as caught:
            client.describe_table(TableName="orders")
    assert "123456789012" not in str(caught.value)
    assert "is not authorized" in str(caught.value)


def test_the_sdk_logs_no_secret_however_much_it_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = mask_errors(
        boto3.client(
            "dynamodb", region_name="us-east-1", endpoint_url="http://in.process",
            aws_access_key_id="ASIAIOSFODNN7EXAMPLE",
            aws_secret_access_key="s3cr3t-key", aws_session_token="FwoGZXIvYXdzE//s3cr3t-token==",
        )
    )  # fmt: skip
    client._endpoint.http_session = Direct(service_app_at().router)
    client.list_tables()
    assert "x-amz-security-token:(session token)" in caplog.text.lower(), "it does log what it signs"
    assert not re.search(r"s3cr3t|ASIAIOSFODNN7EXAMPLE|signature\W+[0-9a-f]{32}", caplog.text, re.IGNORECASE)


@pytest.mark.parametrize("text", ["://a:x", "a.", "?token", "http://a@", "&a-"])
def test_a_long_text_takes_no_long_time(text: str) -> None:
    """Each pattern looks a bounded way ahead: a summary of a megabyte is masked when it is made."""
    long = text * 20_000
    began = process_time()
    masked(long)
    assert process_time() - began < 5.0
