"""Rules of faults: whom they strike, how that is answered, what is done all the same, and what counts it."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from botocore.exceptions import ClientError

from keyheat.endpoint.faultrules import checked_rules
from keyheat.endpoint.faults import Faults
from keyheat.endpoint.http import Connections
from keyheat.endpoint.options import ClientBounds
from tests.endpoint import ordering
from tests.endpoint.account import index, indexed, on_demand, table, units
from tests.endpoint.clients import ServiceApp, service_app_at
from tests.endpoint.ordering import counted
from tests.endpoint.peers import Peer, request

WRITE_HOT, READ_HOT = "TableWriteKeyRangeThroughputExceeded", "TableReadKeyRangeThroughputExceeded"
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
Rule = dict[str, Any]


@pytest.fixture
def app() -> ServiceApp:
    """A table on demand, `orders`, with the index `by_city` and two items."""
    made = service_app_at()
    made.ddb.create_table(**(on_demand() | indexed(index(ProvisionedThroughput=None))))
    for key in ("a", "b"):
        put(made, key)
    return made


def set_rules(app: ServiceApp, *rules: Rule, seed: int = 1) -> None:
    checked = checked_rules("a test", {"seed": seed, "rules": list(rules)})
    app.router.dynamodb.regions.set_faults(Faults(checked, app.clock()))


def rows(app: ServiceApp) -> list[dict[str, Any]]:
    assert app.service.faults is not None
    return list(app.service.faults.report(app.clock())["rules"])


def struck(app: ServiceApp) -> list[int]:
    return [row["struck"] for row in rows(app)]


def put(app: ServiceApp, key: str = "hot", *, to: str = "orders", **more: Any) -> Any:
    item = {"pk": {"S": key}, "city": {"S": "rome"}}
    return app.ddb.put_item(TableName=to, Item=item, **more)


def get(app: ServiceApp, key: str) -> Any:
    return app.ddb.get_item(TableName="orders", Key={"pk": {"S": key}})


def query(app: ServiceApp, key: str, index: str | None = None) -> Any:
    name, more = ("pk", {}) if index is None else ("city", {"IndexName": index})
    return app.ddb.query(
        TableName="orders", KeyConditionExpression=f"{name} = :k",
        ExpressionAttributeValues={":k": {"S": key}}, **more,
    )  # fmt: skip


def there(app: ServiceApp, key: str) -> bool:
    app.router.dynamodb.regions.set_faults(None)
    return "Item" in get(app, key)


def refused(send: Callable[[], Any], code: str) -> dict[str, Any]:
    answer = ordering.refused(send)
    assert answer["Error"]["Code"] == code
    return answer


def header(answer: dict[str, Any]) -> str | None:
    said: str | None = answer["ResponseMetadata"]["HTTPHeaders"].get("x-keyheat-fault")
    return said


def strikes(app: ServiceApp, send: Callable[[], Any]) -> bool:
    try:
        return header(send()) is not None
    except ClientError as error:
        return header(dict(error.response)) is not None


EXCEEDED, THROTTLING = "ProvisionedThroughputExceededException", "ThrottlingException"


@pytest.mark.parametrize(
    ("reason", "mode", "code"),
    [
        ("TableWriteProvisionedThroughputExceeded", "on demand", None),
        ("IndexReadKeyRangeThroughputExceeded", "provisioned", EXCEEDED),
        ("IndexWriteMaxOnDemandThroughputExceeded", "provisioned", None),
        ("IndexWriteMaxOnDemandThroughputExceeded", "on demand", THROTTLING),
        ("TableReadAccountLimitExceeded", "on demand", "RequestLimitExceeded"),
    ],
)
def test_a_reason_comes_as_the_exception_of_the_table_s_mode_if_that_has_it(
    reason: str, mode: str, code: str | None
) -> None:
    app, of_index = service_app_at(), reason.startswith("Index")
    capacity = units(5, 5) if mode == "provisioned" else None
    request = table() if mode == "provisioned" else on_demand()
    app.ddb.create_table(**request | indexed(index(ProvisionedThroughput=capacity)))
    set_rules(app, {"throttle": reason, **({"index": "by_city"} if of_index else {})})

    sends = {
        "Write": lambda: put(app),
        "TableRead": lambda: get(app, "a"),
        "IndexRead": lambda: query(app, "rome", "by_city"),
    }
    send = sends.pop("Write" if "Write" in reason else reason[:9])
    assert [strikes(app, other) for other in sends.values()] == [False, False]
    if code is None:
        assert header(send()) is None
        assert [(row["struck"], row["unfit"]) for row in rows(app)] == [(0, 1)]
        return
    answer = refused(send, code)
    member = "throttlingReasons" if code == THROTTLING else "ThrottlingReasons"
    resource = f"{ARN}/index/by_city" if of_index else ARN
    assert answer[member] == [{"reason": reason, "resource": resource}]
    assert header(answer) == "rule-1"
    assert struck(app) == [1]


def test_items_of_a_batch_are_left_unprocessed_one_by_one(app: ServiceApp) -> None:
    set_rules(app, {"throttle": WRITE_HOT, "key": "hot"}, {"throttle": READ_HOT, "key": "a"})
    puts = [{"PutRequest": {"Item": {"pk": {"S": key}}}} for key in ("cold", "hot")]
    answer = app.ddb.batch_write_item(RequestItems={"orders": puts})
    assert answer["UnprocessedItems"] == {"orders": puts[1:]}
    assert header(answer) == "rule-1"
    keys = [{"pk": {"S": key}} for key in ("a", "b")]
    reads = {"Keys": keys, "ConsistentRead": True}
    answer = app.ddb.batch_get_item(RequestItems={"orders": reads})
    assert answer["UnprocessedKeys"] == {"orders": {**reads, "Keys": keys[:1]}}
    assert [item["pk"]["S"] for item in answer["Responses"]["orders"]] == ["b"]
    refused(lambda: app.ddb.batch_write_item(RequestItems={"orders": puts[1:]}), "ThrottlingException")
    assert there(app, "cold")
    assert not there(app, "hot")


@pytest.mark.parametrize(
    ("rule", "code"),
    [({"throttle": WRITE_HOT}, "ThrottlingError"), ({"conflict": True}, "TransactionConflict")],
)
def test_a_transaction_is_cancelled_and_says_for_which_item(app: ServiceApp, rule: Rule, code: str) -> None:
    set_rules(app, {**rule, "key": "hot", "operations": ["TransactWriteItems"]})
    puts = [{"Put": {"TableName": "orders", "Item": {"pk": {"S": key}}}} for key in ("cold", "hot")]
    answer = refused(lambda: app.ddb.transact_write_items(TransactItems=puts), "TransactionCanceledException")
    assert [reason["Code"] for reason in answer["CancellationReasons"]] == ["None", code]
    assert not there(app, "cold")


def test_a_plain_write_meets_a_conflict_and_a_plain_read_and_a_batch_do_not(app: ServiceApp) -> None:
    set_rules(app, {"conflict": True})
    refused(lambda: put(app), "TransactionConflictException")
    assert header(get(app, "a")) is None
    puts = [{"PutRequest": {"Item": {"pk": {"S": "hot"}}}}]
    assert app.ddb.batch_write_item(RequestItems={"orders": puts})["UnprocessedItems"] == {}
    assert struck(app) == [1]
    reads = [{"Get": {"TableName": "orders", "Key": {"pk": {"S": "a"}}}}]
    refused(lambda: app.ddb.transact_get_items(TransactItems=reads), "TransactionCanceledException")
    assert counted(app, "TransactionConflict", "orders") == 2.0


@pytest.mark.parametrize(
    ("rule", "meant", "others"),
    [
        ({"operations": ["GetItem"]}, ["get a"], ["put hot", "query a"]),
        ({"table": "others"}, [], ["put hot", "get a"]),
        ({"key": "a"}, ["get a", "query a"], ["get b", "put hot", "scan"]),
        ({"key_prefix": "h"}, ["put hot", "get hot"], ["get a", "scan"]),
        ({"index": "by_city"}, ["query rome by_city"], ["query a", "put hot", "get a"]),
        ({}, ["put hot", "get a", "query a", "scan", "describe"], []),
        ({"operations": ["DescribeTable"], "table": "orders"}, ["describe"], ["put hot"]),
    ],
)
def test_a_rule_strikes_those_that_it_is_for(
    app: ServiceApp, rule: Rule, meant: list[str], others: list[str]
) -> None:
    def send(words: str) -> Any:
        verb, *rest = words.split()
        if verb == "scan":
            return app.ddb.scan(TableName="orders")
        if verb == "describe":
            return app.ddb.describe_table(TableName="orders")
        return {"put": put, "get": get, "query": query}[verb](app, *rest)

    set_rules(app, {"error": 500, **rule})
    assert [strikes(app, lambda: send(words)) for words in meant] == [True] * len(meant)  # noqa: B023
    assert [strikes(app, lambda: send(words)) for words in others] == [False] * len(others)  # noqa: B023


def test_a_rule_lasts_for_its_time_and_for_so_many_times(app: ServiceApp) -> None:
    set_rules(app, {"error": 500, "from_s": 10, "to_s": 20, "times": 2})

    def at(now_s: float) -> list[bool]:
        app.clock.advance(now_s - (app.clock.now_s % 1_000))
        return [strikes(app, lambda: get(app, "a")) for _ in range(3)]

    assert at(9.9) == [False] * 3
    assert at(10.0) == [True, True, False]
    set_rules(app, {"error": 500, "to_s": 5})
    assert at(14.9) == [True] * 3
    assert at(15.0) == [False] * 3


def test_the_same_requests_in_the_same_order_meet_the_same_faults(app: ServiceApp) -> None:
    def drawn(seed: int, *before: Rule) -> list[bool]:
        set_rules(app, *before, {"name": "half", "error": 500, "share": 0.5}, seed=seed)
        return [strikes(app, lambda: get(app, "a")) for _ in range(60)]

    first = drawn(1)
    assert 15 < sum(first) < 45
    assert drawn(1) == first
    assert drawn(1, {"error": 503, "share": 0.5, "key": "nobody"}) == first  # each rule draws by itself
    assert drawn(2) != first


def test_what_dynamodb_refuses_as_invalid_is_refused_as_that(app: ServiceApp) -> None:
    set_rules(app, {"throttle": WRITE_HOT}, {"error": 500})
    refused(lambda: app.ddb.put_item(TableName="orders", Item={"city": {"S": "x"}}), "ValidationException")
    refused(lambda: put(app, to="nobody"), "ResourceNotFoundException")
    assert struck(app) == [0, 0]


@pytest.mark.parametrize(
    ("rule", "done"),
    [
        ({"throttle": WRITE_HOT}, False),
        ({"conflict": True}, False),
        ({"error": 500}, False),
        ({"error": 503}, False),
        ({"delay_ms": 1}, True),
    ],
)
@pytest.mark.parametrize("send", ["put", "transaction"])
def test_a_write_is_done_or_not_as_the_rule_says(app: ServiceApp, rule: Rule, done: bool, send: str) -> None:
    sends = {
        "put": lambda: put(app),
        "transaction": lambda: app.ddb.transact_write_items(
            TransactItems=[{"Put": {"TableName": "orders", "Item": {"pk": {"S": "hot"}}}}]
        ),
    }
    set_rules(app, rule)
    assert strikes(app, sends[send])
    assert struck(app) == [1]
    assert there(app, "hot") is done


def test_cloudwatch_counts_what_aws_would_and_the_model_s_own_record_has_nothing_of_it(
    app: ServiceApp,
) -> None:
    model = app.service.catalog.get("orders").model
    before = model.decisions()
    set_rules(app, {"throttle": WRITE_HOT, "times": 3}, {"error": 500, "operations": ["GetItem"]})
    for _ in range(3):
        refused(lambda: put(app), "ThrottlingException")
    refused(lambda: get(app, "a"), "InternalServerError")
    assert model.decisions() == before
    assert counted(app, "WriteKeyRangeThroughputThrottleEvents", "orders") == 3.0
    assert counted(app, "WriteThrottleEvents", "orders") == 3.0
    assert counted(app, "ThrottledRequests", "orders", Operation="PutItem") == 3.0
    assert counted(app, "SystemErrors", "orders", Operation="GetItem") == 1.0
    assert struck(app) == [3, 1]


def test_a_number_is_named_by_its_digits(app: ServiceApp) -> None:
    app.ddb.create_table(
        **on_demand("counted", AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "N"}])
    )
    set_rules(app, {"error": 503, "key": 42})
    read = {number: {"TableName": "counted", "Key": {"pk": {"N": number}}} for number in ("42", "420")}
    assert refused(lambda: app.ddb.get_item(**read["42"]), "ServiceUnavailable")
    assert header(app.ddb.get_item(**read["420"])) is None


MINE = {"name": "mine", "error": 500}
GARBAGE = [
    b"", b"[", b"{}", b"[]", b"null", b'{"rules": [{"error": 500, "sha', b'{"rules":' + b"[" * 5_000,
    b'"\xed\xa0\x80"', orjson.dumps({"rules": [{"error": 404}]}),
]  # fmt: skip


def test_mistakes_are_all_said_and_what_was_set_stays(app: ServiceApp) -> None:
    set_rules(app, MINE)
    status, said = app.page("faults", "PUT", orjson.dumps({"rules": [{"error": 404}, {}]}))
    assert status == 400
    assert [error.rpartition(" @ ")[2] for error in said["errors"]] == ["$.rules[0].error", "$.rules[1]"]
    assert [app.page("faults", "PUT", body)[0] for body in GARBAGE] == [400] * len(GARBAGE)
    assert app.page("faults", "PUT", b" " * (2 << 20))[0] == 413
    assert app.page("faults")[1]["rules"][0]["name"] == "mine"


@pytest.mark.parametrize(("cut", "kept"), [("before", []), ("after", ["first"]), ("middle", ["first"])])
def test_nothing_is_carried_out_behind_a_cut_answer(app: ServiceApp, cut: str, kept: list[str]) -> None:
    set_rules(app, {"cut": cut, "key": "first"})
    peer = Peer(Connections(app.router.answer, ClientBounds()))
    for key in ("first", "second"):
        peer.send(request("PutItem", orjson.dumps({"TableName": "orders", "Item": {"pk": {"S": key}}})))
    assert peer.transport.aborted
    assert bool(peer.transport.written) == (cut == "middle")
    assert not peer.transport.written.endswith(b"{}")
    assert app.page("faults", "DELETE")[1]["rules"][0]["struck"] == 1
    assert {item["pk"]["S"] for item in app.ddb.scan(TableName="orders")["Items"]} == {"a", "b", *kept}
