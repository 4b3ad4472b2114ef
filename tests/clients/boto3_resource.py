"""boto3's resource: tables as objects, Python's own types for attributes."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import boto3
from boto3.dynamodb.conditions import Attr, Key
from botocore.config import Config
from botocore.exceptions import ClientError
from lowlevel import BY_STATE, KEYS, STATE, TYPES, reasons_of
from told import FILLING, SLOW_URL, URL, WHERE, NotServed, attempts_of, tell

ONCE = Config(retries={"total_max_attempts": 1})
FAST = boto3.resource("dynamodb", endpoint_url=URL, **WHERE)
SLOW = boto3.resource("dynamodb", endpoint_url=SLOW_URL, config=ONCE, **WHERE)
AGAIN = boto3.resource("dynamodb", endpoint_url=SLOW_URL, **WHERE)
ORDERS = FAST.Table("orders-resource")
LACKS = {"streams": "boto3's client has them", "ttl": "boto3's client has it"}
ERRORS: list[ClientError] = []


def plain(resource: Any, name: str, **more: Any) -> Any:
    billing = more or {"BillingMode": "PAY_PER_REQUEST"}
    return resource.create_table(TableName=name, KeySchema=KEYS, AttributeDefinitions=TYPES, **billing)


def create() -> None:
    index = {"IndexName": "by-state", "KeySchema": BY_STATE, "Projection": {"ProjectionType": "ALL"}}
    table = FAST.create_table(
        TableName=ORDERS.name, KeySchema=KEYS, AttributeDefinitions=[*TYPES, STATE],
        BillingMode="PAY_PER_REQUEST", GlobalSecondaryIndexes=[index],
    )  # fmt: skip
    table = table.update(TableClass="STANDARD_INFREQUENT_ACCESS")
    table.load()
    assert table.global_secondary_indexes[0]["IndexName"] == "by-state"
    assert ORDERS.name in [one.name for one in FAST.tables.all()]


def waiters() -> None:
    table = plain(FAST, "waited-for-resource")
    table.wait_until_exists()
    table.delete()
    table.wait_until_not_exists()


def items() -> None:
    item = order("ann", 1) | {
        "bytes": b"\x00\xff", "exact": Decimal("-1.5E+30"), "yes": True, "nothing": None,
        "words": {"a", "b"}, "numbers": {Decimal(1), Decimal(2)}, "list": ["x", {"deep": Decimal(1)}],
    }  # fmt: skip
    ORDERS.put_item(Item=item)
    assert ORDERS.get_item(Key=order("ann", 1), ConsistentRead=True)["Item"] == item
    new = ORDERS.update_item(
        Key=order("ann", 1), ReturnValues="UPDATED_NEW", UpdateExpression="SET #s = :s ADD amount :one",
        ExpressionAttributeNames={"#s": "state"}, ExpressionAttributeValues={":s": "sent", ":one": 1},
    )  # fmt: skip
    assert new["Attributes"] == {"state": "sent", "amount": 1}
    gone = ORDERS.delete_item(Key=order("ann", 1), ReturnValues="ALL_OLD", ReturnConsumedCapacity="TOTAL")
    assert gone["Attributes"]["state"] == "sent"
    assert gone["ConsumedCapacity"]["CapacityUnits"] >= 1


def query() -> None:
    for at in range(7):
        ORDERS.put_item(Item=order("bob", at, "sent"))
    asked = {"KeyConditionExpression": Key("customer").eq("bob") & Key("at").gte(2)}
    assert ats(pages(ORDERS.query, Limit=2, **asked)) == [2, 3, 4, 5, 6]
    backwards = ORDERS.query(**asked, ScanIndexForward=False, Limit=2)
    assert ats(backwards["Items"]) == [6, 5]
    found = pages(ORDERS.query, IndexName="by-state", KeyConditionExpression=Key("state").eq("sent"), Limit=3)
    assert ats(found) == list(range(7))


def scan() -> None:
    assert len(pages(ORDERS.scan, Limit=3)) == 7
    segments = [ORDERS.scan(Segment=segment, TotalSegments=4)["Items"] for segment in range(4)]
    assert sorted(at for found in segments for at in ats(found)) == list(range(7))
    found = ORDERS.scan(FilterExpression=Attr("at").between(2, 4))
    assert (found["Count"], found["ScannedCount"]) == (3, 7)


def batches() -> None:
    with ORDERS.batch_writer() as batch:
        for at in range(100):
            batch.put_item(Item=order("cleo", at))
    asked = {ORDERS.name: {"Keys": [order("cleo", at) for at in range(100)]}}
    found = FAST.batch_get_item(RequestItems=asked)
    assert len(found["Responses"][ORDERS.name]) == 100


def unprocessed() -> str:
    table = plain(AGAIN, "slow-resource-batch")
    with table.batch_writer() as batch:
        for at in range(25):
            batch.put_item(Item=order("hot", at) | {"filling": "x" * 900})
    stored = table.query(KeyConditionExpression=Key("customer").eq("hot"), Select="COUNT")
    assert stored["Count"] == 25
    return "sent again by `batch_writer`; handed out by `batch_write_item`"


def transactions() -> str:
    client = FAST.meta.client
    put = {"TableName": ORDERS.name, "Item": order("dan", 1)}
    client.transact_write_items(TransactItems=[{"Put": put}])
    again = {"Put": {**put, "ConditionExpression": "attribute_not_exists(customer)"}}
    other = {"Delete": {"TableName": ORDERS.name, "Key": order("dan", 2)}}
    error = refused_by(
        lambda: client.transact_write_items(TransactItems=[again, other]), "TransactionCanceledException"
    )
    codes = [reason["Code"] for reason in error.response["CancellationReasons"]]
    assert codes == ["ConditionalCheckFailed", "None"]
    get = {"Get": {"TableName": ORDERS.name, "Key": order("dan", 1)}}
    read = client.transact_get_items(TransactItems=[get])
    assert ats([read["Responses"][0]["Item"]]) == [1]
    return "by `meta.client`, `CancellationReasons`"


def conditions() -> str:
    error = refused_by(
        lambda: ORDERS.put_item(
            Item=order("dan", 1), ConditionExpression=Attr("customer").not_exists(),
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        ),
        "ConditionalCheckFailedException",
    )  # fmt: skip
    assert error.response["Item"]["customer"] == {"S": "dan"}, "as DynamoDB writes it, not as Python's types"
    return f"`{type(error).__name__}`; the item in DynamoDB's own types"


def throttle() -> str:
    hot, units = plain(SLOW, "slow-resource-hot"), plain(SLOW, "slow-resource-units", **ONE_UNIT)
    for table, code in ((hot, "ThrottlingException"), (units, "ProvisionedThroughputExceededException")):
        ERRORS.append(refused_by(lambda table=table: put_many(table), code))
    return ", ".join(f"`{type(error).__name__}`" for error in ERRORS)


ONE_UNIT = {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}


def reasons() -> str:
    spelled = [reasons_of(error.response) for error in ERRORS]
    found = [one["reason"] for _name, (one,) in spelled]
    assert found == ["TableWriteKeyRangeThroughputExceeded", "TableWriteProvisionedThroughputExceeded"]
    return " and ".join(f"`{name}`" for name, _found in spelled)


def retries() -> str:
    name = "slow-resource-full"
    plain(SLOW, name).put_item(Item=order("hot", 1) | {"filling": "x" * FILLING})
    return attempts_of(lambda: AGAIN.Table(name).put_item(Item=order("hot", 2)), ClientError)


def partiql() -> str:
    statement = f'SELECT * FROM "{ORDERS.name}" WHERE customer = ?'
    try:
        found = FAST.meta.client.execute_statement(Statement=statement, Parameters=["dan"])
    except ClientError as error:
        if error.response["Error"]["Code"] == "UnknownOperationException":
            raise NotServed from error
        raise
    assert ats(found["Items"]) == [1]
    return "by `meta.client`"


def put_many(table: Any) -> None:
    for _ in range(200):
        table.put_item(Item=order("hot", 1) | {"filling": "x" * 4_000})


def pages(read: Callable[..., Any], **asked: Any) -> list[Any]:
    """All items, page by page, as `LastEvaluatedKey` says."""
    found: list[Any] = []
    while True:
        answer = read(**asked)
        found += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return found
        asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def order(customer: str, at: int, state: str = "") -> dict[str, Any]:
    return {"customer": customer, "at": at} | ({"state": state} if state else {})


def ats(found: list[Any]) -> list[int]:
    return [int(item["at"]) for item in found]


def refused_by(attempt: Callable[[], object], code: str) -> ClientError:
    try:
        attempt()
    except ClientError as error:
        if error.response["Error"]["Code"] == code:
            return error
        raise
    raise AssertionError(f"it was not refused with {code}")


if __name__ == "__main__":
    made = (
        create, waiters, items, query, scan, batches, unprocessed, transactions, conditions, throttle,
        reasons, retries, partiql,
    )  # fmt: skip
    tell("boto3", "botocore", checks={one.__name__: one for one in made}, lacks=LACKS)
