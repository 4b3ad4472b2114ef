"""Nothing on this machine is asked through a proxy; everything else, with either transport, is."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from botocore.exceptions import BotoCoreError

from keyheat.evidence.clients import boto3_clients
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.endpoint_pages import NotTold, endpoint_at, partitions_of, scale_at
from keyheat.load.transport.target import TargetError, proxy_in_words, proxy_of, target_at
from keyheat.testing.local import LocalDynamoDB
from tests.load.scripted import HANG_UP, ScriptedServer, answered, serving
from tests.make import a_transport

ELSEWHERE, IN_TLS = "http://tables.example:8000", "https://tables.example"
AWS = "https://dynamodb.eu-west-1.amazonaws.com"
REQUEST = b'{"TableName":"t","Item":{"pk":{"S":"k"}}}'
OK = answered("200 OK", b"{}")
HEALTH = answered("200 OK", b'{"scale":0.5}', "Connection: close")
LISTED = answered("200 OK", b'{"TableNames":[]}', "Connection: close")
TUNNEL = b"HTTP/1.1 200 Connection established\r\n\r\n"


both = pytest.mark.parametrize("make", ["signed", "boto3"])


@pytest.fixture(autouse=True)
def _keys_of_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


def proxied(monkeypatch: pytest.MonkeyPatch, url: str, *, past: str = "") -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name.lower(), url)
        monkeypatch.setenv(name, url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, past)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    with serving(OK, OK, OK) as server:
        proxied(monkeypatch, server.url)
        yield server


@pytest.mark.opens
@both
def test_a_local_load_goes_past_the_proxy(make: str, proxy: ScriptedServer) -> None:
    with serving(OK) as server:
        transport = a_transport(make, target_at(server.url, region="us-east-1"))
        assert transport.send("PutItem", REQUEST).accepted
        transport.close()
    assert b"AKIA" not in server.requests[0]
    assert proxy.connections == 0


@pytest.mark.opens
def test_local_control_calls_go_past_the_proxy(proxy: ScriptedServer) -> None:
    with serving(LISTED, LISTED) as server:
        target = target_at(server.url, region="us-east-1")
        for client in (make_client(target), boto3_clients(endpoint_url=server.url, local=True)("dynamodb")):
            assert client.list_tables()["TableNames"] == []
            client.close()
    assert not any(b"AKIA" in request for request in server.requests)
    assert proxy.connections == 0


@pytest.mark.opens
def test_looks_at_a_local_endpoint_go_past_the_proxy(proxy: ScriptedServer) -> None:
    with serving(*[HEALTH] * 4) as server:
        target = target_at(server.url)
        assert scale_at(target) == 0.5
        assert endpoint_at(target) == "keyheat"
        with pytest.raises(NotTold):
            partitions_of(target, "t", 0.0, 1.0)
        assert LocalDynamoDB(server.url)._page("health") == {"scale": 0.5}
    assert (server.connections, proxy.connections) == (4, 0)


@pytest.mark.opens
@both
def test_a_load_elsewhere_goes_through_the_proxy(make: str, proxy: ScriptedServer) -> None:
    transport = a_transport(make, target_at(ELSEWHERE, region="us-east-1"))
    assert transport.send("PutItem", REQUEST).accepted
    transport.close()
    assert proxy.requests[0].startswith(f"POST {ELSEWHERE}/ HTTP/1.1\r\n".encode())
    assert b"\r\nHost: tables.example:8000\r\n" in proxy.requests[0]


@pytest.mark.opens
@both
def test_a_load_with_tls_goes_through_a_tunnel(make: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(TUNNEL + HANG_UP) as server:
        proxied(monkeypatch, server.url.replace("//", "//me:pass%40word@"))
        answer = a_transport(make, target_at(IN_TLS, region="us-east-1")).send("PutItem", REQUEST)
    assert server.requests[0].startswith(b"CONNECT tables.example:443 HTTP/1.")
    assert b"basic bwu6cgfzc0b3b3jk" in server.requests[0].lower()
    assert b"AKIA" not in server.requests[0]
    assert not answer.accepted


@pytest.mark.opens
@pytest.mark.parametrize("service", ["dynamodb", "cloudwatch", "dynamodbstreams"])
def test_control_calls_and_metrics_of_an_account_go_through_a_tunnel_that_sees_no_keys(
    service: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {"cloudwatch": "list_metrics", "dynamodb": "list_tables", "dynamodbstreams": "list_streams"}
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _s: None)  # between attempts
    with serving(*[TUNNEL + HANG_UP] * 5) as server:
        proxied(monkeypatch, server.url.replace("//", "//me:pass%40word@"))
        clients = (
            make_client(target_at(AWS, region="eu-west-1"), service=service),
            boto3_clients(region="eu-west-1", endpoint_url=AWS)(service),
        )
        for client in clients:
            with pytest.raises(BotoCoreError) as caught:
                getattr(client, named[service])()
            assert "pass" not in str(caught.value)
            client.close()
    hosts = {"cloudwatch": "monitoring", "dynamodbstreams": "streams.dynamodb"}
    host = f"{hosts.get(service, service)}.eu-west-1.amazonaws.com"
    assert all(request.startswith(f"CONNECT {host}:443".encode()) for request in server.requests)
    assert b"AKIA" not in b"".join(server.requests)


def test_a_host_that_no_proxy_names_is_reached_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    proxied(monkeypatch, "http://proxy.example:3128", past="tables.example")
    assert proxy_of(target_at(ELSEWHERE)) is None
    assert proxy_in_words(target_at(IN_TLS)) is None


def test_the_plan_names_the_proxy_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    proxied(monkeypatch, "http://me:secret@proxy.example:3128")
    words = proxy_in_words(target_at(IN_TLS))
    assert words == (
        "requests to tables.example go through the proxy http://proxy.example:3128, "
        "and their latency is of both"
    )
    assert "secret" not in repr(proxy_of(target_at(IN_TLS)))


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("socks5://proxy.example:1080", "socks5, which only --transport boto3"),
        ("https://me:secret@proxy.example", "https://proxy.example:443 is spoken to by https"),
        ("http://", "HTTPS_PROXY is not the URL"),
        ("http://proxy.example:99999", "HTTPS_PROXY is not the URL"),
    ],
)
def test_a_proxy_that_a_load_cannot_go_through_is_said_before(
    url: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxied(monkeypatch, url)
    with pytest.raises(TargetError, match=why) as caught:
        a_transport("signed", target_at(IN_TLS))
    assert "secret" not in str(caught.value)


def test_a_program_under_test_goes_past_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "tables.example")
    said = LocalDynamoDB("http://127.0.0.1:8000").environment()
    assert said["NO_PROXY"] == said["no_proxy"] == "tables.example,127.0.0.1"


@pytest.mark.opens
@both
def test_a_proxy_that_refuses_is_a_failure_with_a_name(make: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n" + HANG_UP) as server:
        proxied(monkeypatch, server.url)
        answer = a_transport(make, target_at(IN_TLS, region="us-east-1")).send("PutItem", REQUEST)
    assert answer.failure == "connection_failed"


def test_what_counts_as_elsewhere_is_decided_once() -> None:
    assert replace(target_at("http://127.0.0.1:8000"), loopback=False).local is False
