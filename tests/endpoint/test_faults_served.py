"""Rules of faults over a socket: set, read and taken back by HTTP, by no web page; and what clients get."""

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.testing.local import LocalDynamoDB
from tests.endpoint.account import on_demand
from tests.endpoint.clients import client
from tests.endpoint.ordering import refused

pytestmark = pytest.mark.opens

JSON = {"Content-Type": "application/json"}
RULES = json.dumps({"rules": [{"name": "mine", "error": 500}]})
PUT = {"X-Amz-Target": "DynamoDB_20120810.PutItem", "Authorization": "AWS4-HMAC-SHA256 Credential=a"}
GARBAGE = ["", "[", "{}", "[]", "null", '{"rules": [{"error": 500, "sha', '{"rules":' + "[" * 5_000, "\ud800"]


@pytest.fixture(scope="module")
def local() -> Iterator[LocalDynamoDB]:
    with EndpointProcess.start(more=("--record",)) as process:
        running = LocalDynamoDB(process.url)
        running.begin()
        client("dynamodb", process.url).create_table(**on_demand())
        yield running


@pytest.fixture
def ddb(local: LocalDynamoDB) -> Iterator[Any]:
    yield client("dynamodb", local.url)
    call(local, "DELETE")


def opened(local: LocalDynamoDB) -> http.client.HTTPConnection:
    split = urlsplit(local.url)
    return http.client.HTTPConnection(str(split.hostname), split.port, timeout=600)


def body_of(key: str) -> bytes:
    return json.dumps({"TableName": "orders", "Item": {"pk": {"S": key}}}).encode()


def call(
    local: LocalDynamoDB, method: str, body: str | None = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    connection = opened(local)
    raw = None if body is None else body.encode(errors="surrogatepass")
    connection.request(method, "/_keyheat/faults", raw, headers or {})
    answer = connection.getresponse()
    said = json.loads(answer.read())
    connection.close()
    return answer.status, said


def put(ddb: Any, key: str = "hot") -> Any:
    return ddb.put_item(TableName="orders", Item={"pk": {"S": key}})


def held(ddb: Any, key: str) -> bool:
    return "Item" in ddb.get_item(TableName="orders", Key={"pk": {"S": key}})


def test_rules_are_set_counted_and_taken_back(local: LocalDynamoDB, ddb: Any) -> None:
    assert call(local, "GET") == (200, {"rules": []})
    assert call(local, "PUT", RULES, JSON)[0] == 200
    answer = refused(put, ddb=ddb)
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 500
    assert answer["ResponseMetadata"]["HTTPHeaders"]["x-keyheat-fault"] == "mine"
    rule = {"name": "mine", "error": 500, "asked": 1, "struck": 1, "unfit": 0}
    status, said = call(local, "GET")
    assert (status, said["rules"], said["seed"]) == (200, [rule], 1)
    assert call(local, "DELETE")[1]["rules"] == [rule]
    assert call(local, "GET") == (200, {"rules": []})
    assert "x-keyheat-fault" not in put(ddb)["ResponseMetadata"]["HTTPHeaders"]


def test_mistakes_are_all_said_and_what_was_set_stays(local: LocalDynamoDB, ddb: Any) -> None:
    call(local, "PUT", RULES, JSON)
    status, said = call(local, "PUT", json.dumps({"rules": [{"error": 404}, {}]}), JSON)
    assert status == 400
    assert [error.rpartition(" @ ")[2] for error in said["errors"]] == ["$.rules[0].error", "$.rules[1]"]
    for body in GARBAGE:
        assert call(local, "PUT", body, JSON)[0] == 400
    assert call(local, "PUT", " " * (2 << 20), JSON)[0] == 413
    assert call(local, "GET")[1]["rules"][0]["name"] == "mine"


@pytest.mark.parametrize(
    ("when", "failure", "done"),
    [
        ("before", http.client.RemoteDisconnected, False),
        ("after", http.client.RemoteDisconnected, True),
        ("middle", http.client.IncompleteRead, True),
    ],
)
def test_a_connection_is_cut_and_the_write_is_done_or_not(
    local: LocalDynamoDB, ddb: Any, when: Any, failure: type[Exception], done: bool
) -> None:
    with local.faults(cut=when, key=f"cut {when}") as faults:
        connection = opened(local)
        connection.request("POST", "/", body_of(f"cut {when}"), PUT)
        with pytest.raises(failure):
            connection.getresponse().read()
        connection.close()
        put(ddb, "another")  # on another connection
    assert faults.struck() == 1
    assert held(ddb, f"cut {when}") is done


def test_what_waited_behind_a_cut_answer_is_not_carried_out(local: LocalDynamoDB, ddb: Any) -> None:
    def whole(key: str) -> bytes:
        head = {"Host": "127.0.0.1", **PUT, "Content-Length": len(body_of(key))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        return f"POST / HTTP/1.1\r\n{lines}\r\n".encode() + body_of(key)

    with local.faults(cut="after", key="first", delay_ms=5) as faults:
        connection = opened(local)
        connection.connect()
        connection.sock.sendall(whole("first") + whole("second"))
        assert connection.sock.recv(1) == b""
        connection.close()
    assert faults.struck() == 1
    assert (held(ddb, "first"), held(ddb, "second")) == (True, False)
