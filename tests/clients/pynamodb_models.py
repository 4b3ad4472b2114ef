"""PynamoDB: a table as a class."""

from collections.abc import Callable
from typing import Any

from botocore.exceptions import ClientError
from lowlevel import reasons_of
from pynamodb.attributes import (
    BinaryAttribute,
    BooleanAttribute,
    ListAttribute,
    MapAttribute,
    NullAttribute,
    NumberAttribute,
    NumberSetAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
)
from pynamodb.connection import Connection
from pynamodb.exceptions import PutError, PynamoDBException, TransactWriteError
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model
from pynamodb.transactions import TransactGet, TransactWrite
from told import FILLING, SLOW_URL, URL, WHERE, attempts_of, tell

CREDENTIALS = {name: WHERE[name] for name in ("aws_access_key_id", "aws_secret_access_key")}
LACKS = {"streams": "it enables a stream, and reads none", "partiql": "it has none"}
ERRORS: list[PynamoDBException] = []


def meta(table: str, url: str, **more: Any) -> type:
    billing = {} if "write_capacity_units" in more else {"billing_mode": "PAY_PER_REQUEST"}
    where = {"table_name": table, "host": url, "region": WHERE["region_name"], **CREDENTIALS}
    return type("Meta", (), {**where, **billing, **more})


class ByState(GlobalSecondaryIndex[Any]):
    class Meta:
        index_name = "by-state"
        projection = AllProjection()

    state = UnicodeAttribute(hash_key=True)
    at = NumberAttribute(range_key=True)


class Order(Model):
    Meta = meta("orders-pynamodb", URL, stream_view_type="NEW_AND_OLD_IMAGES")
    customer = UnicodeAttribute(hash_key=True)
    at = NumberAttribute(range_key=True)
    state = UnicodeAttribute(null=True)
    by_state = ByState()
    bytes = BinaryAttribute(null=True, legacy_encoding=False)
    exact = NumberAttribute(null=True)
    yes = BooleanAttribute(null=True)
    nothing = NullAttribute(null=True)
    words = UnicodeSetAttribute(null=True)
    numbers = NumberSetAttribute(null=True)
    list = ListAttribute(null=True)
    deep = MapAttribute(null=True)
    amount = NumberAttribute(null=True)
    gone_after = TTLAttribute(null=True)


def connection() -> Connection:
    return Connection(host=URL, region=WHERE["region_name"], **CREDENTIALS)


def slow_model(table: str, **more: Any) -> Any:
    class Slow(Model):
        Meta = meta(f"slow-pynamodb-{table}", SLOW_URL, **more)
        customer = UnicodeAttribute(hash_key=True)
        at = NumberAttribute(range_key=True)
        filling = UnicodeAttribute(null=True)

    Slow.create_table()
    return Slow


def create() -> None:
    Order.create_table(wait=True)
    table = Order.describe_table()
    assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["by-state"]
    assert table["StreamSpecification"]["StreamEnabled"]
    assert Order.Meta.table_name in connection().list_tables()["TableNames"]


def waiters() -> str:
    class Waited(Model):
        Meta = meta("waited-for-pynamodb", URL)
        customer = UnicodeAttribute(hash_key=True)

    Waited.create_table(wait=True)
    Waited.delete_table()
    assert not Waited.exists()
    return "for a new table alone (`wait=True`)"


def items() -> None:
    item = Order(
        "ann", 1, bytes=b"\x00\xff", exact=-1.5e-3, yes=True, words={"a", "b"}, numbers={1, 2},
        list=["x", {"deep": 1}], deep={"x": 1},
    )  # fmt: skip
    item.save()
    got = Order.get("ann", 1, consistent_read=True)
    assert (got.bytes, got.exact, got.yes, got.deep.as_dict()) == (b"\x00\xff", -1.5e-3, True, {"x": 1})
    assert (got.words, got.numbers, got.list) == ({"a", "b"}, {1, 2}, ["x", {"deep": 1}])
    item.update(actions=[Order.state.set("sent"), Order.amount.add(1)])
    assert (item.state, item.amount) == ("sent", 1)
    item.delete()
    assert list(Order.query("ann")) == []


def query() -> None:
    for at in range(7):
        Order("bob", at, state="sent").save()
    read = Order.query("bob", Order.at >= 2, page_size=2)
    assert ats(read) == [2, 3, 4, 5, 6]
    backwards = Order.query("bob", Order.at >= 2, scan_index_forward=False, limit=2)
    assert ats(backwards) == [6, 5]
    assert backwards.last_evaluated_key == {"customer": {"S": "bob"}, "at": {"N": "5"}}
    assert ats(Order.by_state.query("sent", page_size=3)) == list(range(7))


def scan() -> None:
    assert len(ats(Order.scan(page_size=3))) == 7
    segments = [ats(Order.scan(segment=segment, total_segments=4)) for segment in range(4)]
    assert sorted(at for found in segments for at in found) == list(range(7))
    assert sorted(ats(Order.scan(Order.at.between(2, 4)))) == [2, 3, 4]


def batches() -> None:
    with Order.batch_write() as batch:
        for at in range(100):
            batch.save(Order("cleo", at))
    assert len(list(Order.batch_get([("cleo", at) for at in range(100)]))) == 100


def unprocessed() -> str:
    table = slow_model("batch", max_retry_attempts=50)
    with table.batch_write() as batch:
        for at in range(25):
            batch.save(table("hot", at, filling="x" * 900))
    assert table.count("hot") == 25
    return "sent again by `batch_write`, at once; `PutError` after `max_retry_attempts`, 3 unless set"


def transactions() -> str:
    with TransactWrite(connection=connection()) as transaction:
        transaction.save(Order("dan", 1))

    def again() -> None:
        with TransactWrite(connection=connection()) as transaction:
            transaction.save(Order("dan", 1), condition=Order.customer.does_not_exist())
            transaction.delete(Order("dan", 2))

    error = refused_by(again, "TransactionCanceledException", TransactWriteError)
    codes = [reason and reason.code for reason in error.cancellation_reasons]
    assert codes == [None, "ConditionalCheckFailed"], "it sends deletes before puts"
    with TransactGet(connection=connection()) as reading:
        found = reading.get(Order, "dan", 1)
    assert found.get().at == 1
    return "`TransactWriteError.cancellation_reasons`, deletes before puts"


def conditions() -> str:
    error = refused_by(
        lambda: Order("dan", 1).save(condition=Order.customer.does_not_exist()),
        "ConditionalCheckFailedException",
        PutError,
    )
    return f"`{type(error).__name__}.cause_response_code`; the item is not shown"


def ttl() -> None:
    """It is set as the table is created, for the model has a `TTLAttribute`."""
    found = connection().client.describe_time_to_live(TableName=Order.Meta.table_name)
    assert found["TimeToLiveDescription"] == {"TimeToLiveStatus": "ENABLED", "AttributeName": "gone_after"}


def throttle() -> str:
    hot = slow_model("hot", max_retry_attempts=0)
    units = slow_model(
        "units", max_retry_attempts=0, billing_mode="PROVISIONED", read_capacity_units=1,
        write_capacity_units=1,
    )  # fmt: skip
    for table, code in ((hot, "ThrottlingException"), (units, "ProvisionedThroughputExceededException")):

        def put_many(table: Any = table) -> None:
            for _ in range(200):
                table("hot", 1, filling="x" * 4_000).save()

        ERRORS.append(refused_by(put_many, code, PutError))
    return "`PutError`, whose `cause_response_code` is the exception's name"


def reasons() -> str:
    found = []
    for error in ERRORS:
        assert error.cause is not None
        cause = error.cause.__cause__
        assert isinstance(cause, ClientError)
        _name, (one,) = reasons_of(cause.response)
        found.append(one["reason"])
    assert found == ["TableWriteKeyRangeThroughputExceeded", "TableWriteProvisionedThroughputExceeded"]
    return "in the `response` of `error.cause.__cause__`, which is botocore's"


def retries() -> str:
    table = slow_model("full")
    table("hot", 1, filling="x" * FILLING).save()
    return attempts_of(table("hot", 2).save, PutError)


def ats(found: Any) -> list[int]:
    return [int(item.at) for item in found]


def refused_by(attempt: Callable[[], object], code: str, kind: type[Exception]) -> Any:
    try:
        attempt()
    except kind as error:
        if getattr(error, "cause_response_code", None) == code:
            return error
        raise
    raise AssertionError(f"it was not refused with {code}")


if __name__ == "__main__":
    made = (
        create, waiters, items, query, scan, batches, unprocessed, transactions, conditions, ttl, throttle,
        reasons, retries,
    )  # fmt: skip
    tell("pynamodb", "botocore", checks={one.__name__: one for one in made}, lacks=LACKS)
