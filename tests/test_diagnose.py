"""`keyheat diagnose`: from a table's name to its limit, the key, since when and what to do."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from keyheat.evidence import target
from keyheat.terminal import console
from tests.endpoint.clients import ServiceApp, service_app_at

CAPACITY = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 4_000}
SMALL = {"ReadCapacityUnits": 50, "WriteCapacityUnits": 15}
PUT = {
    b"host": b"127.0.0.1:8000",
    b"x-amz-target": b"DynamoDB_20120810.PutItem",
    b"authorization": b"AWS4-HMAC-SHA256 Credential=a/20270115/us-east-1/dynamodb/aws4_request",
}
CALM_S, LOAD_S = 300, 300
LARGE_BYTES, SMALL_BYTES = 300_000, 30_000  # 293 and 30 units
Verb = Callable[..., Any]
pytestmark = pytest.mark.xdist_group("diagnose")


@pytest.fixture(autouse=True)
def loud() -> Iterator[None]:
    yield
    console.speak_json(False)


@pytest.fixture(scope="module")
def loaded() -> ServiceApp:
    """Three tables: `orders` with a hot key and an index, `audit` that is too small, `sessions`, healthy.

    Five calm minutes, then five of load, which goes on.
    """
    app = service_app_at()
    create(app, "orders", CAPACITY, index="by_day")
    create(app, "audit", SMALL)
    create(app, "sessions", {"ReadCapacityUnits": 100, "WriteCapacityUnits": 100})
    app.ddb.update_contributor_insights(
        TableName="orders", ContributorInsightsAction="ENABLE", ContributorInsightsMode="THROTTLED_KEYS"
    )
    app.clock.advance(60)
    load(app, CALM_S, hot=1, small=0)
    load(app, LOAD_S, hot=5, small=2)
    return app


@pytest.fixture
def app(loaded: ServiceApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ServiceApp:
    monkeypatch.setattr(target, "boto3_clients", lambda **_options: loaded.client)
    monkeypatch.chdir(tmp_path)
    return loaded


def create(app: ServiceApp, name: str, capacity: dict[str, int], index: str | None = None) -> None:
    keyed = {
        "IndexName": index,
        "KeySchema": [{"AttributeName": "day", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "KEYS_ONLY"},
        "ProvisionedThroughput": capacity,
    }
    app.ddb.create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[
            {"AttributeName": part, "AttributeType": "S"} for part in ("pk", *(["day"] if index else []))
        ],
        ProvisionedThroughput=capacity,
        **({"GlobalSecondaryIndexes": [keyed]} if index else {}),
    )
    app.ddb.describe_table(TableName=name)


def load(app: ServiceApp, seconds: int, *, hot: int, small: int) -> None:
    """So many seconds with `hot` large writes a second to one key, and `small` ones to spread keys."""
    for second in range(seconds):
        for _ in range(hot):
            put(app, "orders", "customer-4711", LARGE_BYTES)
        for number in range(small):
            put(app, "audit", f"{second}-{number}", SMALL_BYTES)
        if not second % 10:
            put(app, "audit", f"{second}", 900)
            put(app, "sessions", f"{second}", SMALL_BYTES)
        app.clock.advance(1)


def put(app: ServiceApp, table: str, key: str, size_bytes: int) -> None:
    """A write as it arrives; boto3 would take longer to sign it than the endpoint to answer."""
    item = {"pk": {"S": key}, "x": {"S": "x" * size_bytes}}
    app.router.answer(b"POST", b"/", PUT, orjson.dumps({"TableName": table, "Item": item}))


def diagnose(verb: Verb, *words: object) -> Any:
    return verb("diagnose", *words, "--endpoint-url", "http://127.0.0.1:8000", "--out", "found")


@pytest.mark.usefixtures("app")
def test_a_hot_key_stands_in_the_first_sentence_with_its_demand(verb: Verb) -> None:
    said = diagnose(verb, "orders")
    assert said.code == 1
    first = "Writes were throttled by a partition limit: one key, “customer-4711”, asked for 1,460 WCU/s"
    assert said.says(first)
    assert said.says("still going on at")
    assert said.says("more capacity would change nothing")
    assert said.says("Shard the hot key (3 shards)")
    assert {path.name for path in Path("found").iterdir()} == {
        "evidence.json", "diagnosis.json", "report.html",
    }  # fmt: skip
    page = Path("found/report.html").read_text(encoding="utf-8")
    assert "customer-4711" in page
    assert "still going on at" in page
    assert "Requesting 114 metrics" in said.err


@pytest.mark.usefixtures("app")
def test_a_small_table_is_eased_by_a_command_that_can_be_pasted(verb: Verb) -> None:
    said = diagnose(verb, "audit", "--last", "15m")
    assert said.code == 1
    assert (
        "aws dynamodb update-table --table-name audit --endpoint-url http://127.0.0.1:8000 \\\n" in said.out
    )
    assert "--provisioned-throughput ReadCapacityUnits=50,WriteCapacityUnits=" in said.out
    assert said.says("$11.86 → $")


@pytest.mark.usefixtures("app")
def test_a_healthy_table_is_no_alarm_though_it_is_younger_than_the_window(verb: Verb) -> None:
    said = diagnose(verb, "sessions")
    assert said.code == 0
    assert said.says("Nothing was throttled")


@pytest.mark.usefixtures("app")
def test_programs_and_tickets_are_told_the_same(verb: Verb) -> None:
    words, ticket = diagnose(verb, "orders"), diagnose(verb, "orders", "--markdown")
    told = json.loads(diagnose(verb, "orders", "--json").out)
    assert told["data"]["exit_code"] == 1
    assert words.says(told["sentence"])
    assert f"**{told['sentence']}**" in ticket.out
    for fact in told["facts"]:
        assert words.says(fact["value"])
    assert told["data"]["diagnosis"]["verdict"]["constraint"] == "partition"
