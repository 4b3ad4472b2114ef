"""The checks of a client that speaks DynamoDB's own requests: `call("PutItem", TableName=..., ...)`."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from told import FILLING, NAMES, NotServed, attempts_of

Body = dict[str, Any]
KEYS = [{"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]
TYPES = [{"AttributeName": "customer", "AttributeType": "S"}, {"AttributeName": "at", "AttributeType": "N"}]
STATE = {"AttributeName": "state", "AttributeType": "S"}
BY_STATE = [{"AttributeName": "state", "KeyType": "HASH"}, {"AttributeName": "at", "KeyType": "RANGE"}]
LOCAL = [{"AttributeName": "customer", "KeyType": "HASH"}, {"AttributeName": "state", "KeyType": "RANGE"}]
ALL = {"ProjectionType": "ALL"}


class Refused(Exception):
    """An operation was refused: what the client raised, in words, and what it knows of it."""

    def __init__(self, shown: str, code: str, answer: Body) -> None:
        self.shown, self.code, self.answer = shown, code, answer
        super().__init__(f"{shown}: {answer}")


class Client(Protocol):
    """What differs between clients."""

    again: bool
    """Whether what is refused is tried again, as the client does it when nobody says otherwise."""

    def call(self, operation: str, **request: Any) -> Body: ...
    def pages(self, operation: str, page: int, **request: Any) -> list[Body]:
        """The items of all pages of so many items, one list."""

    def wait(self, until: str, table: str) -> None: ...


class LowLevel:
    """The checks, on an endpoint as it is (`fast`), and on one where little is much (`once`, `again`)."""

    def __init__(self, name: str, fast: Client, once: Client, again: Client, streams: Client) -> None:
        self.table = f"orders-{name}"
        self.slow = f"slow-{name}"
        self.fast, self.once, self.again, self.streams_client = fast, once, again, streams

    def checks(self) -> dict[str, Callable[[], str | None]]:
        return {name: getattr(self, name) for name in NAMES}

    def create(self) -> None:
        self.fast.call(
            "CreateTable", TableName=self.table, KeySchema=KEYS, AttributeDefinitions=[*TYPES, STATE],
            BillingMode="PAY_PER_REQUEST",
            LocalSecondaryIndexes=[{"IndexName": "own-state", "KeySchema": LOCAL, "Projection": ALL}],
            GlobalSecondaryIndexes=[{"IndexName": "by-state", "KeySchema": BY_STATE, "Projection": ALL}],
            StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        )  # fmt: skip
        self.fast.call("UpdateTable", TableName=self.table, TableClass="STANDARD_INFREQUENT_ACCESS")
        table = self.fast.call("DescribeTable", TableName=self.table)["Table"]
        assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["by-state"]
        assert table["TableClassSummary"]["TableClass"] == "STANDARD_INFREQUENT_ACCESS"
        assert self.table in self.fast.call("ListTables")["TableNames"]

    def waiters(self) -> None:
        name = f"{self.table}-waited-for"
        plain(self.fast, name)
        self.fast.wait("table_exists", name)
        self.fast.call("DeleteTable", TableName=name)
        self.fast.wait("table_not_exists", name)

    def items(self) -> None:
        item = order("ann", 1) | {
            "bytes": {"B": b"\x00\xff"}, "exact": {"N": "-1.5E+30"}, "yes": {"BOOL": True},
            "nothing": {"NULL": True}, "words": {"SS": ["a", "b"]}, "numbers": {"NS": ["1", "2"]},
            "list": {"L": [{"S": "x"}, {"M": {"deep": {"N": "1"}}}]},
        }  # fmt: skip
        self.fast.call("PutItem", TableName=self.table, Item=item)
        got = self.fast.call("GetItem", TableName=self.table, Key=key("ann", 1), ConsistentRead=True)["Item"]
        assert got["list"] == item["list"]
        assert sorted(got["words"]["SS"]) == ["a", "b"]
        assert float(got["exact"]["N"]) == -1.5e30
        assert set(got) == set(item)
        new = self.fast.call(
            "UpdateItem", TableName=self.table, Key=key("ann", 1), ReturnValues="UPDATED_NEW",
            UpdateExpression="SET #s = :s ADD amount :one", ExpressionAttributeNames={"#s": "state"},
            ExpressionAttributeValues={":s": {"S": "sent"}, ":one": {"N": "1"}},
        )  # fmt: skip
        assert new["Attributes"] == {"state": {"S": "sent"}, "amount": {"N": "1"}}
        gone = self.fast.call(
            "DeleteItem", TableName=self.table, Key=key("ann", 1), ReturnValues="ALL_OLD",
            ReturnConsumedCapacity="TOTAL",
        )  # fmt: skip
        assert gone["Attributes"]["state"] == {"S": "sent"}
        assert gone["ConsumedCapacity"]["CapacityUnits"] >= 1
        assert "Item" not in self.fast.call("GetItem", TableName=self.table, Key=key("ann", 1))

    def query(self) -> None:
        for at in range(7):
            self.fast.call("PutItem", TableName=self.table, Item=order("bob", at, "sent"))
        asked = {
            "TableName": self.table, "KeyConditionExpression": "customer = :c AND #at >= :at",
            "ExpressionAttributeNames": {"#at": "at"},
            "ExpressionAttributeValues": {":c": {"S": "bob"}, ":at": {"N": "2"}},
        }  # fmt: skip
        assert ats(self.fast.pages("Query", 2, **asked)) == [2, 3, 4, 5, 6]
        backwards = self.fast.call("Query", **asked, ScanIndexForward=False, Limit=2)
        assert ats(backwards["Items"]) == [6, 5]
        assert backwards["LastEvaluatedKey"] == key("bob", 5)
        found = self.fast.pages(
            "Query", 3, TableName=self.table, IndexName="by-state", KeyConditionExpression="#s = :s",
            ExpressionAttributeNames={"#s": "state"}, ExpressionAttributeValues={":s": {"S": "sent"}},
        )  # fmt: skip
        assert ats(found) == list(range(7))

    def scan(self) -> None:
        assert len(self.fast.pages("Scan", 3, TableName=self.table)) == 7
        segments = [
            self.fast.call("Scan", TableName=self.table, Segment=segment, TotalSegments=4)["Items"]
            for segment in range(4)
        ]
        assert sorted(at for items in segments for at in ats(items)) == list(range(7))
        found = self.fast.call(
            "Scan", TableName=self.table, FilterExpression="#at BETWEEN :a AND :b", Select="COUNT",
            ExpressionAttributeNames={"#at": "at"},
            ExpressionAttributeValues={":a": {"N": "2"}, ":b": {"N": "4"}},
        )  # fmt: skip
        assert (found["Count"], found["ScannedCount"]) == (3, 7)

    def batches(self) -> None:
        puts = [{"PutRequest": {"Item": order("cleo", at)}} for at in range(100)]
        for first in range(0, 100, 25):
            done = self.fast.call("BatchWriteItem", RequestItems={self.table: puts[first : first + 25]})
            assert not done["UnprocessedItems"]
        asked = {self.table: {"Keys": [key("cleo", at) for at in range(100)]}}
        found = self.fast.call("BatchGetItem", RequestItems=asked)
        assert len(found["Responses"][self.table]) == 100
        assert not found["UnprocessedKeys"]

    def unprocessed(self) -> str:
        name = f"{self.slow}-batch"
        plain(self.once, name)
        left: Any = {name: [{"PutRequest": {"Item": order("hot", at) | kilobyte()}} for at in range(25)]}
        handed_out = 0
        while left:
            try:
                left = self.again.call("BatchWriteItem", RequestItems=left)["UnprocessedItems"]
                handed_out += bool(left)
            except Refused as error:  # the whole batch
                if error.code != "ThrottlingException":
                    raise
        assert handed_out, "none was refused"
        stored = self.once.call(
            "Query", TableName=name, Select="COUNT", KeyConditionExpression="customer = :c",
            ExpressionAttributeValues={":c": {"S": "hot"}},
        )  # fmt: skip
        assert stored["Count"] == 25
        return "handed out as `UnprocessedItems`, to be sent again"

    def transactions(self) -> str:
        put = {"TableName": self.table, "Item": order("dan", 1)}
        self.fast.call("TransactWriteItems", TransactItems=[{"Put": put}])
        again = {"Put": {**put, "ConditionExpression": "attribute_not_exists(customer)"}}
        other = {"Delete": {"TableName": self.table, "Key": key("dan", 2)}}
        error = refused_by(
            lambda: self.fast.call("TransactWriteItems", TransactItems=[again, other]),
            "TransactionCanceledException",
        )
        read = self.fast.call(
            "TransactGetItems", TransactItems=[{"Get": {"TableName": self.table, "Key": key("dan", 1)}}]
        )
        assert ats([read["Responses"][0]["Item"]]) == [1]
        reasons = error.answer.get("CancellationReasons")
        if reasons is None:
            assert "[ConditionalCheckFailed, None]" in error.answer["message"]
            return "reasons in the message"
        assert [reason["Code"] for reason in reasons] == ["ConditionalCheckFailed", "None"]
        return "`CancellationReasons`"

    def conditions(self) -> str:
        error = refused_by(
            lambda: self.fast.call(
                "PutItem", TableName=self.table, Item=order("dan", 1, "new"),
                ConditionExpression="attribute_not_exists(customer)",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            ),
            "ConditionalCheckFailedException",
        )  # fmt: skip
        item = error.answer.get("Item")
        assert item is None or ats([item]) == [1]
        return error.shown if item else f"{error.shown}; the item is not shown"

    def ttl(self) -> None:
        said = {"Enabled": True, "AttributeName": "gone_after"}
        self.fast.call("UpdateTimeToLive", TableName=self.table, TimeToLiveSpecification=said)
        found = self.fast.call("DescribeTimeToLive", TableName=self.table)["TimeToLiveDescription"]
        assert found == {"TimeToLiveStatus": "ENABLED", "AttributeName": "gone_after"}

    def streams(self) -> None:
        arn = self.fast.call("DescribeTable", TableName=self.table)["Table"]["LatestStreamArn"]
        call = self.streams_client.call
        assert arn in [one["StreamArn"] for one in call("ListStreams", TableName=self.table)["Streams"]]
        events: list[str] = []
        for shard in call("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"]:
            place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = call("GetShardIterator", **place)["ShardIterator"]
            events += [
                record["eventName"]
                for record in call("GetRecords", ShardIterator=iterator)["Records"]
                if record["dynamodb"]["Keys"] == key("ann", 1)
            ]
        assert events == ["INSERT", "MODIFY", "REMOVE"]

    def throttle(self) -> str:
        self._errors = list(self._refusals())
        codes = [error.code for error in self._errors]
        assert codes == ["ThrottlingException", "ProvisionedThroughputExceededException"], codes
        return ", ".join(error.shown for error in self._errors)

    def reasons(self) -> str:
        spelled: list[str] = []
        for error, reason in zip(
            self._errors, ("KeyRangeThroughputExceeded", "ProvisionedThroughputExceeded"), strict=True
        ):
            name, found = reasons_of(error.answer)
            (one,) = found
            assert one["reason"] == f"TableWrite{reason}", one
            assert ":table/slow-" in one["resource"], one
            spelled.append(f"`{name}`")
        return " and ".join(dict.fromkeys(spelled))

    def retries(self) -> str:
        name = f"{self.slow}-full"
        plain(self.once, name)
        self.once.call("PutItem", TableName=name, Item=order("hot", 1) | {"filling": {"S": "x" * FILLING}})
        return attempts_of(lambda: self.again.call("PutItem", TableName=name, Item=order("hot", 2)), Refused)

    def partiql(self) -> None:
        try:
            found = self.fast.call(
                "ExecuteStatement", Parameters=[{"S": "dan"}],
                Statement=f'SELECT * FROM "{self.table}" WHERE customer = ?',
            )  # fmt: skip
        except Refused as error:
            if error.code == "UnknownOperationException":
                raise NotServed from error
            raise
        assert ats(found["Items"]) == [1]

    def _refusals(self) -> Iterator[Refused]:
        """A hot key of a table on demand, and a provisioned table with one unit a second."""
        for kind, code in (
            ("hot", "ThrottlingException"),
            ("units", "ProvisionedThroughputExceededException"),
        ):
            name = f"{self.slow}-{kind}"
            plain(self.once, name, provisioned=kind == "units")
            item = order("hot", 1) | {"filling": {"S": "x" * 4_000}}

            def put_many(name: str = name, item: Body = item) -> None:
                for _ in range(200):
                    self.once.call("PutItem", TableName=name, Item=item)

            yield refused_by(put_many, code)


def plain(client: Client, name: str, *, provisioned: bool = False) -> None:
    units = {"ProvisionedThroughput": {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}}
    client.call(
        "CreateTable", TableName=name, KeySchema=KEYS, AttributeDefinitions=TYPES,
        **(units if provisioned else {"BillingMode": "PAY_PER_REQUEST"}),
    )  # fmt: skip


def key(customer: str, at: int) -> Body:
    return {"customer": {"S": customer}, "at": {"N": str(at)}}


def order(customer: str, at: int, state: str = "") -> Body:
    return key(customer, at) | ({"state": {"S": state}} if state else {})


def kilobyte() -> Body:
    return {"filling": {"S": "x" * 900}}


def ats(items: list[Body]) -> list[int]:
    return [int(item["at"]["N"]) for item in items]


def reasons_of(answer: Body) -> tuple[str, list[Body]]:
    """The reasons of a throttle and what they are called: the service's model spells them in two ways."""
    for name in ("throttlingReasons", "ThrottlingReasons"):
        if name in answer:
            return name, answer[name]
    raise AssertionError(f"no reasons in {answer}")


def refused_by(attempt: Callable[[], object], code: str) -> Refused:
    try:
        attempt()
    except Refused as error:
        if error.code == code:
            return error
        raise
    raise AssertionError(f"it was not refused with {code}")
