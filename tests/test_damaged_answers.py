"""Endpoints whose answers about tables are damaged: each verb says so in a sentence, and none crashes."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug.serving import make_server

from tests.test_clean import RUN_ID, run_at

pytestmark = pytest.mark.opens
Verb = Callable[..., Any]
TABLE = {
    "TableName": "orders",
    "TableStatus": "ACTIVE",
    "TableArn": "arn:aws:dynamodb:us-east-1:000000000000:table/orders",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
    "ItemCount": 1,
    "TableSizeBytes": 100,
}


def described(without: str = "", **fields: Any) -> bytes:
    """What DescribeTable answers of the table, with other fields, or without one."""
    table = {name: value for name, value in (TABLE | fields).items() if name != without}
    return json.dumps({"Table": table}).encode()


DAMAGE: dict[str, bytes] = {
    "no table": b"{}",
    "another type": described(KeySchema=5),
    "without its keys": described(without="KeySchema"),
    "units that are words": described(ProvisionedThroughput={"WriteCapacityUnits": "many"}),
    "no UTF-8": b'{"Table": {"TableName": "\xff"}}',
    "deep": b"[" * 100_000,
}


class Endpoint:
    """Answers each operation with the body that it is given for it; DescribeTable, for a table of its own."""

    def __init__(self) -> None:
        self.url = ""
        self.tables: dict[str, bytes] = {}
        self.answers: dict[str, bytes] = {}

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
        operation = environ["HTTP_X_AMZ_TARGET"].rpartition(".")[2]
        request = json.loads(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])))
        body = self.answers.get(operation, b"{}")
        if operation == "ListTables":
            body = json.dumps({"TableNames": sorted(self.tables)}).encode()
        if operation == "DescribeTable":
            body = self.tables[request["TableName"]]
        start_response("200 OK", [("Content-Type", "application/x-amz-json-1.0")])
        return [body]


@pytest.fixture
def endpoint(some_account: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Endpoint]:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.chdir(tmp_path)
    endpoint = Endpoint()
    with make_server("127.0.0.1", 0, endpoint, threaded=True) as server:
        endpoint.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield endpoint
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_description_is_said_by_each_verb(verb: Verb, endpoint: Endpoint, how: str) -> None:
    endpoint.tables["orders"] = DAMAGE[how]
    said = [
        verb("clean", run_at(endpoint.url), "--yes"),
        verb("init", "--table", "orders", "--endpoint-url", endpoint.url, "--out", "orders.toml"),
    ]
    assert [one.code for one in said] == [3, 2]
    assert ["DescribeTable was answered with something" in one.err for one in said] == [True] * 2


def test_one_table_that_cannot_be_judged_does_not_end_the_search(verb: Verb, endpoint: Endpoint) -> None:
    bad = DAMAGE | {"without an ARN": described(without="TableArn")}
    endpoint.tables = bad | {"good": described()}
    tags = {"keyheat": RUN_ID, "keyheat-owner": "ann", "keyheat-expires": "2020-01-01T00:00:00Z"}
    listed = [{"Key": name, "Value": value} for name, value in tags.items()]
    endpoint.answers["ListTagsOfResource"] = json.dumps({"Tags": listed}).encode()
    endpoint.answers["DescribeContinuousBackups"] = (
        b'{"ContinuousBackupsDescription": {"ContinuousBackupsStatus": "DISABLED"}}'
    )
    said = verb("clean", "--orphans", "--endpoint-url", endpoint.url, "--dry-run", "--json")
    assert said.code == 3
    found = json.loads(said.out)["data"]
    assert [table["name"] for table in found["tables"]] == ["good"]
    assert {name for problem in found["problems"] for name in problem["tables"]} == {*bad}


@pytest.mark.parametrize("content", [{"run_id": 5}, {"table": None}, {"region": []}])
def test_cleaning_says_which_file_is_damaged(verb: Verb, endpoint: Endpoint, content: dict[str, Any]) -> None:
    endpoint.tables["orders"] = described()
    folder = run_at(endpoint.url, **content)
    said = verb("clean", folder, "--yes")
    assert said.code == 3
    assert "run.json" in said.err


def test_cleaning_ends_where_a_scan_tells_no_units(verb: Verb, endpoint: Endpoint) -> None:
    endpoint.tables["orders"] = described()
    endpoint.answers["Scan"] = b'{"Items": [], "Count": 0}'
    said = verb("clean", run_at(endpoint.url), "--yes")
    assert said.code == 3
    assert "CapacityUnits is missing" in said.err
    assert "To go on: keyheat clean mine" in said.err
