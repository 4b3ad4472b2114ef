"""Definitions that DynamoDB does not take, and what it says of them."""

import pytest

from tests.endpoint.account import (
    BOTH,
    HASH,
    Account,
    attributes,
    index,
    indexed,
    on_demand,
    table,
    units,
)

INVALID = "One or more parameter values were invalid: "
RANGE_FIRST = [{"AttributeName": "pk", "KeyType": "RANGE"}]
TWO_HASH = [*HASH, {"AttributeName": "sk", "KeyType": "HASH"}]
SAME = [*HASH, {"AttributeName": "pk", "KeyType": "RANGE"}]
LOCAL = {
    "IndexName": "by_day",
    "KeySchema": [HASH[0], {"AttributeName": "day", "KeyType": "RANGE"}],
    "Projection": {"ProjectionType": "ALL"},
}
WITH_DAY = {"AttributeDefinitions": attributes("pk", "sk", "day"), "KeySchema": BOTH}
CITY_RANGE = [{"AttributeName": "city", "KeyType": "HASH"}, {"AttributeName": "day", "KeyType": "RANGE"}]
BAD_NAME = "Invalid table/index name.  Table/index names must be between 3 and 255 characters long"

REFUSED = [
    (
        "no name",
        table(None),
        "Value null at 'tableName' failed to satisfy constraint: Member must not be null",
    ),
    ("short name", table("ab"), BAD_NAME),
    ("long name", table("a" * 256), BAD_NAME),
    ("name with a slash", table("a/bc"), BAD_NAME),
    ("no keys", table(KeySchema=None), "Value null at 'keySchema'"),
    ("no keys in the list", table(KeySchema=[]), "Member must have length greater than or equal to 1"),
    ("three keys", table(KeySchema=[*BOTH, BOTH[1]]), "Member must have length less than or equal to 2"),
    ("sort key first", table(KeySchema=RANGE_FIRST), "The first KeySchemaElement is not a HASH key type"),
    (
        "two partition keys",
        table(KeySchema=TWO_HASH, AttributeDefinitions=attributes("pk", "sk")),
        "The second KeySchemaElement is not a RANGE key type",
    ),
    ("one name twice", table(KeySchema=SAME), "Both the Hash Key and the Range Key element"),
    (
        "key type unknown",
        table(KeySchema=[{"AttributeName": "pk", "KeyType": "KEY"}]),
        "Value 'KEY' at 'keySchema.1.member.keyType' failed to satisfy constraint: "
        "Member must satisfy enum value set: [HASH, RANGE]",
    ),
    (
        "attribute type unknown",
        table(AttributeDefinitions=attributes("pk", kind="BOOL")),
        "Member must satisfy enum value set: [S, N, B]",
    ),
    ("key not defined", table(KeySchema=BOTH), INVALID + "Some index key attributes are not defined"),
    (
        "attribute not used",
        table(AttributeDefinitions=attributes("pk", "x")),
        INVALID + "Number of attributes in KeySchema does not exactly match",
    ),
    (
        "attribute not used by an index either",
        table(**indexed(AttributeDefinitions=attributes("pk", "city", "x"))),
        INVALID + "Some AttributeDefinitions are not used. "
        "AttributeDefinitions: [pk, city, x], keys used: [pk, city]",
    ),
    (
        "attribute defined twice",
        table(AttributeDefinitions=attributes("pk", "pk")),
        INVALID + "Duplicate AttributeName in AttributeDefinitions: pk",
    ),
    (
        "no throughput in provisioned mode",
        table(ProvisionedThroughput=None),
        INVALID
        + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
    ),
    (
        "throughput in on-demand mode",
        on_demand() | {"ProvisionedThroughput": units(1, 1)},
        INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified",
    ),
    ("no such mode", table(BillingMode="FREE"), "Value 'FREE' at 'billingMode'"),
    (
        "no units",
        table(ProvisionedThroughput=units(0, 1)),
        "Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: "
        "Member must have value greater than or equal to 1",
    ),
    ("half a throughput", table(ProvisionedThroughput={"ReadCapacityUnits": 1}), "writeCapacityUnits"),
    (
        "on-demand maximum in provisioned mode",
        table(OnDemandThroughput={"MaxReadRequestUnits": 1}),
        INVALID + "OnDemandThroughput cannot be specified when BillingMode is PROVISIONED",
    ),
    (
        "on-demand maximum of nothing",
        on_demand(OnDemandThroughput={"MaxReadRequestUnits": 0}),
        INVALID + "MaxReadRequestUnits must be greater than or equal to 1",
    ),
    (
        "warm throughput below what an on-demand table has",
        on_demand(WarmThroughput={"WriteUnitsPerSecond": 3_999}),
        INVALID
        + "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than initial throughput",
    ),
    (
        "warm throughput of millions of partitions",
        on_demand(WarmThroughput={"WriteUnitsPerSecond": 10**10}),
        "is above 10000000, the most that the local endpoint can hold",
    ),
    (
        "warm throughput below the provisioned",
        table(WarmThroughput={"ReadUnitsPerSecond": 4}),
        "for table is lower than ReadCapacityUnits of ProvisionedThroughput",
    ),
    (
        "warm throughput of an index below the provisioned",
        table(**indexed(index(WarmThroughput={"WriteUnitsPerSecond": 4}))),
        "for index by_city is lower than WriteCapacityUnits of ProvisionedThroughput",
    ),
    (
        "empty list of indexes",
        table(GlobalSecondaryIndexes=[]),
        INVALID + "List of GlobalSecondaryIndexes is empty",
    ),
    (
        "empty list of local indexes",
        table(LocalSecondaryIndexes=[]),
        INVALID + "List of LocalSecondaryIndexes is empty",
    ),
    (
        "index without throughput",
        table(**indexed(index(ProvisionedThroughput=None))),
        INVALID + "ProvisionedThroughput is not specified for index: by_city",
    ),
    (
        "index with throughput in on-demand mode",
        on_demand(**indexed()),
        INVALID + "ProvisionedThroughput should not be specified for index: by_city",
    ),
    ("index name", table(**indexed(index("a!"))), "globalSecondaryIndexes.1.member.indexName"),
    ("two indexes of a name", table(**indexed(index(), index())), INVALID + "Duplicate index name: by_city"),
    (
        "too many indexes",
        table(**indexed(*(index(f"by_{number:02}") for number in range(21)))),
        INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20",
    ),
    (
        "too many local indexes",
        table(
            **WITH_DAY, LocalSecondaryIndexes=[LOCAL | {"IndexName": f"by_{number}"} for number in range(6)]
        ),
        INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5",
    ),
    (
        "local index of a table without sort key",
        table(AttributeDefinitions=attributes("pk", "day"), LocalSecondaryIndexes=[LOCAL]),
        INVALID + "Table KeySchema does not have a range key",
    ),
    (
        "local index without sort key",
        table(
            AttributeDefinitions=attributes("pk", "sk"),
            KeySchema=BOTH,
            LocalSecondaryIndexes=[LOCAL | {"KeySchema": HASH}],
        ),
        INVALID + "Index KeySchema does not have a range key for index: by_day",
    ),
    (
        "local index with a partition key of its own",
        table(
            AttributeDefinitions=attributes("pk", "sk", "day", "city"),
            KeySchema=BOTH,
            LocalSecondaryIndexes=[LOCAL | {"KeySchema": CITY_RANGE}],
        ),
        INVALID
        + "Index KeySchema does not have the same leading hash key as table KeySchema for index: by_day. "
        "index hash key: city, table hash key: pk",
    ),
    ("no projection type", table(**indexed(index(Projection={}))), INVALID + "Unknown ProjectionType: null"),
    (
        "INCLUDE of nothing",
        table(**indexed(index(Projection={"ProjectionType": "INCLUDE"}))),
        INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
    ),
    (
        "ALL with attributes",
        table(**indexed(index(Projection={"ProjectionType": "ALL", "NonKeyAttributes": ["x"]}))),
        INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified",
    ),
    (
        "too many projected attributes",
        table(
            **indexed(
                *(
                    index(
                        f"by_{i}",
                        Projection={
                            "ProjectionType": "INCLUDE",
                            "NonKeyAttributes": [f"{i}-{n}" for n in range(17)],
                        },
                    )
                    for i in range(6)
                )
            )
        ),
        INVALID + "Number of NonKeyAttributes exceeds the per-table limit of 100",
    ),
    ("tag twice", table(Tags=[{"Key": "a", "Value": "b"}] * 2), INVALID + "Duplicate tag key: a"),
]


@pytest.mark.parametrize(
    ("request_", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_definition_is_refused_with_the_reason(request_, message):
    account = Account()
    refusal = account.refusal("CreateTable", **request_)
    assert refusal.code == "ValidationException"
    assert message in refusal.message
    assert account.call("ListTables")["TableNames"] == []


def test_every_broken_constraint_is_listed():
    refusal = Account().refusal("CreateTable", TableName="", ProvisionedThroughput={})
    assert refusal.message.startswith("3 validation errors detected: ")
    assert refusal.message.count("; ") == 2


WRONG_TYPES = [
    ({"TableName": 3}, "NUMBER_VALUE cannot be converted to String"),
    ({"TableName": ["orders"]}, "Start of list found where not expected"),
    ({"TableName": {}}, "Start of structure or map found where not expected."),
    ({"KeySchema": {}}, "Unexpected field type"),
    ({"ProvisionedThroughput": "5"}, "Unexpected value type in payload"),
    ({"ProvisionedThroughput": units("5", 5)}, "STRING_VALUE cannot be converted to Long"),
    ({"DeletionProtectionEnabled": "true"}, "STRING_VALUE cannot be converted to Boolean"),
    ({"TableClass": True}, "TRUE_VALUE cannot be converted to String"),
]


@pytest.mark.parametrize(("members", "message"), WRONG_TYPES)
def test_a_wrong_json_type_is_a_serialization_exception(members, message):
    refusal = Account().refusal("CreateTable", **table(**members))
    assert (refusal.code, refusal.message) == ("SerializationException", message)


OVER_THE_QUOTA = [
    ("a table", table(ProvisionedThroughput=units(1, 40_001)), "for the table"),
    (
        "a table with its index",
        table(ProvisionedThroughput=units(1, 39_996), **indexed()),
        "WriteCapacityUnits of 40001 for the table",
    ),
]


@pytest.mark.parametrize(("request_", "words"), [row[1:] for row in OVER_THE_QUOTA], ids=["table", "index"])
def test_more_than_the_table_quota_is_a_limit_exceeded(request_, words):
    refusal = Account().refusal("CreateTable", **request_)
    assert refusal.code == "LimitExceededException"
    assert words in refusal.message


def test_all_provisioned_tables_together_have_a_quota():
    account = Account()
    for name in ("aaa", "bbb"):
        account.create(name, ProvisionedThroughput=units(40_000, 1))
    refusal = account.refusal("CreateTable", **table("ccc", ProvisionedThroughput=units(1, 1)))
    assert refusal.code == "LimitExceededException"
    assert "ReadCapacityUnits of 80001 for the account" in refusal.message


@pytest.mark.parametrize(
    ("operation", "request_", "member"),
    [
        ("CreateTable", table(ResourcePolicy="{}"), "ResourcePolicy"),
        ("CreateTable", table(VectorIndexes=[]), "VectorIndexes"),
        (
            "UpdateTable",
            {"TableName": "orders", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]},
            "ReplicaUpdates",
        ),
    ],
)
def test_what_the_local_table_cannot_be_is_refused_by_name(operation, request_, member):
    refusal = Account().refusal(operation, **request_)
    assert refusal.code == "ValidationException"
    assert refusal.message == f"The local endpoint does not support {member}"
