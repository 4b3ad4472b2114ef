"""Nothing on this machine is asked through a proxy; elsewhere only the SDK goes through one."""

from collections.abc import Iterator

import pytest
from botocore.exceptions import BotoCoreError

from keyheat.evidence.clients import boto3_clients
from keyheat.load.transport.boto import PageUnavailable, endpoint_at, make_client, partitions_of, scale_at
from keyheat.load.transport.target import TargetError, target_at
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


pytestmark = pytest.mark.usefixtures("some_account")


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
def test_nothing_on_this_machine_is_asked_through_the_proxy(proxy: ScriptedServer) -> None:
    with serving(OK, OK, LISTED, LISTED, *[HEALTH] * 4) as server:
        target = target_at(server.url, region="us-east-1")
        for kind in ("signed", "boto3"):
            transport = a_transport(kind, target)
            assert transport.send("PutItem", REQUEST).accepted
            transport.close()
        for client in (make_client(target), boto3_clients(endpoint_url=server.url, local=True)("dynamodb")):
            assert client.list_tables()["TableNames"] == []
            client.close()
        assert (scale_at(target), endpoint_at(target)) == (0.5, "keyheat")
        with pytest.raises(PageUnavailable):
            partitions_of(target, "t", 0.0, 1.0)
        assert LocalDynamoDB(server.url)._page("health") == {"scale": 0.5}
    assert b"AKIA" not in b"".join(server.requests)
    assert (len(server.requests), proxy.connections) == (8, 0)
    assert [scale_at(target_at(url)) for url in (server.url, AWS)] == [None, None], "of nobody who says it"


@pytest.mark.opens
def test_a_load_elsewhere_goes_through_the_proxy_with_boto3_alone(proxy: ScriptedServer) -> None:
    target = target_at(ELSEWHERE, region="us-east-1")
    with pytest.raises(TargetError, match="HTTP_PROXY names a proxy for tables"):
        a_transport("signed", target)
    transport = a_transport("boto3", target)
    assert transport.send("PutItem", REQUEST).accepted
    transport.close()
    assert proxy.requests[0].startswith(f"POST {ELSEWHERE}/ HTTP/1.1\r\n".encode())


@pytest.mark.opens
def test_control_calls_and_metrics_of_an_account_go_through_a_tunnel_that_sees_no_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _s: None)  # between attempts
    with serving(*[TUNNEL + HANG_UP] * 10) as server:
        proxied(monkeypatch, server.url.replace("//", "//me:pass%40word@"))
        tables = make_client(target_at(AWS, region="eu-west-1"))
        metrics = boto3_clients(region="eu-west-1", endpoint_url=AWS)("cloudwatch")
        for call in (tables.list_tables, metrics.list_metrics):
            with pytest.raises(BotoCoreError) as caught:
                call()
            assert "pass" not in str(caught.value)
    hosts = {request.split()[1] for request in server.requests}
    assert hosts == {f"{name}.eu-west-1.amazonaws.com:443".encode() for name in ("dynamodb", "monitoring")}
    assert b"AKIA" not in b"".join(server.requests)


def test_a_program_under_test_goes_past_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "tables.example")
    said = LocalDynamoDB("http://127.0.0.1:8000").environment()
    assert said["NO_PROXY"] == said["no_proxy"] == "tables.example,127.0.0.1"


def test_a_host_that_no_proxy_names_is_reached_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    proxied(monkeypatch, "http://proxy.example:3128", past="tables.example")
    for url in (ELSEWHERE, IN_TLS):
        a_transport("signed", target_at(url, region="us-east-1")).close()
