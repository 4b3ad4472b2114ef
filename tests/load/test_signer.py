"""The signer agrees with botocore's, byte for byte, on any request."""

from datetime import UTC, datetime

import pytest
from botocore.auth import SIGV4_TIMESTAMP, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from hypothesis import example, given
from hypothesis import strategies as st

from keyheat.load.transport.signer import AccessKeys, Signer

MIDNIGHT_S = datetime(2026, 11, 21, tzinfo=UTC).timestamp()

ascii_words = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/+=", min_size=1)
hosts = st.sampled_from(
    [
        "dynamodb.eu-west-1.amazonaws.com",
        "localhost:8000",
        "127.0.0.1:65535",
        "[::1]:8000",
        "xn--bcher-kva.example",
    ]
)
moments = st.floats(0, 4_102_444_800) | st.builds(
    lambda day, offset: day * 86_400 + offset,
    st.integers(0, 40_000),
    st.sampled_from([-1, -0.001, 0, 0.5, 1]),
).filter(lambda at: at >= 0)


def signed_by_botocore(
    keys: AccessKeys, region: str, host: str, operation: str, body: bytes, at_s: float
) -> dict[str, str]:
    request = AWSRequest(
        "POST",
        f"http://{host}/",
        headers={
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        },
        data=body,
    )
    auth = SigV4Auth(ReadOnlyCredentials(keys.access_key, keys.secret_key, keys.token), "dynamodb", region)
    # The steps of `add_auth`, with the moment handed in.
    request.context["timestamp"] = datetime.fromtimestamp(int(at_s), UTC).strftime(SIGV4_TIMESTAMP)
    auth._modify_request_before_signing(request)
    to_sign = auth.string_to_sign(request, auth.canonical_request(request))
    auth._inject_signature_to_request(request, auth.signature(to_sign, request))
    return dict(request.headers.items())


def headers_of(head: bytes) -> dict[str, str]:
    lines = head.decode().removesuffix("\r\n\r\n").split("\r\n")
    assert lines[0] == "POST / HTTP/1.1"
    return dict(line.split(": ", 1) for line in lines[1:])


@given(
    keys=st.builds(AccessKeys, ascii_words, st.text(min_size=1), st.none() | ascii_words),
    region=st.sampled_from(["us-east-1", "eu-central-1", "cn-north-1"]),
    host=hosts,
    operations=st.lists(st.sampled_from(["PutItem", "Query", "GetItem"]), min_size=1, max_size=4),
    body=st.binary() | st.text().map(str.encode),
    at_s=moments,
)
@example(
    AccessKeys("AKID", "секрет", "token=="),
    "us-east-1",
    "localhost:8000",
    ["PutItem"],
    "ключ 鍵".encode(),
    MIDNIGHT_S - 0.001,
)
@example(
    AccessKeys("AKID", "secret", None),
    "us-east-1",
    "localhost:8000",
    ["PutItem"] * 2,
    b"{}",
    MIDNIGHT_S - 0.5,
)  # the signing key changes at midnight
def test_signed_requests_are_those_of_botocore(
    keys: AccessKeys, region: str, host: str, operations: list[str], body: bytes, at_s: float
) -> None:
    signer = Signer(keys, region=region, host=host)
    for step, operation in enumerate(operations):
        now_s = at_s + step * 0.7  # the same signer goes on through seconds and days
        ours = headers_of(signer.head(operation, body, now_s))
        theirs = signed_by_botocore(keys, region, host, operation, body, now_s)
        assert {name: ours[name] for name in theirs} == theirs
        assert ours["Content-Length"] == str(len(body))
        assert ours["Host"] == host


@pytest.mark.parametrize("word", ["secret_key", "token"])
def test_secrets_are_not_shown(word: str) -> None:
    assert word not in repr(AccessKeys("AKID", "hidden", "hidden"))
