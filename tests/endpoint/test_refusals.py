"""Requests that DynamoDB refuses, operation by operation, with its words; what a refusal leaves unchanged.

The first test derives its cases from the service model. The rows below it are what no model states.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel, Shape

from keyheat.endpoint.dynamodb import CONTROL, DATA
from keyheat.endpoint.stream_operations import STREAMS
from tests.endpoint.account import (
    BOTH,
    HASH,
    attributes,
    index,
    indexed,
    local,
    on_demand,
    schema,
    table,
    units,
)
from tests.endpoint.clients import ServiceApp, refusal

Request = dict[str, Any]
OPERATIONS = [("dynamodb", name) for name in (*CONTROL, *DATA)]
OPERATIONS += [("dynamodbstreams", name) for name in STREAMS]


# Derived from the service model, as botocore reads it.

MODELS = {
    api: ServiceModel(Loader().load_service_model(api, "service-2"), api)
    for api in ("dynamodb", "dynamodbstreams")
}

WRONG_TYPE = {
    "string": 3, "list": {}, "map": [], "structure": "5", "boolean": "true", "integer": "5", "long": "5",
}  # fmt: skip
NULL = "Member must not be null"


def fitting(shape: Shape) -> Any:
    """The least value that the model permits."""
    least = max(1, shape.metadata.get("min", 1))
    if shape.type_name == "structure":
        return {name: fitting(shape.members[name]) for name in shape.required_members}
    if shape.type_name == "list":
        return [fitting(shape.member)] * least
    if shape.type_name == "map":
        return {"x" * (number + 3): fitting(shape.value) for number in range(least)}
    if shape.type_name == "string":
        return shape.metadata.get("enum", ["x" * max(3, least)])[0]
    return least if shape.type_name in ("integer", "long") else True


def broken(shape: Shape, path: str, whole: bool) -> Iterator[tuple[Any, str, str]]:
    """Values that break a rule of the model: value, code of the error, and a part of its message.

    `whole`: also what is below, and the lengths of texts.
    """
    if shape.type_name in WRONG_TYPE:
        yield WRONG_TYPE[shape.type_name], "SerializationException", ""
    invalid, rules = "ValidationException", shape.metadata
    if "enum" in rules:
        yield "no such word", invalid, f"at '{path}' failed to satisfy constraint: Member must satisfy enum"
    least, most = rules.get("min", 0), rules.get("max", 10**9)
    if shape.type_name == "list" and least > 0:
        yield [], invalid, f"at '{path}' failed to satisfy constraint: Member must have length greater"
    if shape.type_name == "list" and most < 1_000:
        yield [fitting(shape.member)] * (most + 1), invalid, f"length less than or equal to {most}"
    if shape.type_name in ("integer", "long") and "min" in rules:
        yield least - 1, invalid, f"at '{path}' failed to satisfy constraint: Member must have value greater"
    if shape.type_name in ("integer", "long") and "max" in rules:
        yield most + 1, invalid, f"at '{path}' failed to satisfy constraint: Member must have value less"
    if whole and shape.type_name == "string" and most < 10_000 and "enum" not in rules:
        yield "x" * (most + 1), invalid, f"at '{path}' failed to satisfy constraint: Member must have length"
    if whole and shape.type_name == "list":
        for value, code, words in broken(shape.member, f"{path}.1.member", whole):
            yield [value], code, words
    if whole and shape.type_name == "structure":
        yield from broken_members(shape, path, whole)


def broken_members(shape: Shape, path: str, whole: bool) -> Iterator[tuple[Any, str, str]]:
    """Structures of which one member is wrong, or missing where it is required."""
    good = fitting(shape)
    for name, member in shape.members.items():
        at = f"{path}.{name[0].lower()}{name[1:]}".removeprefix(".")
        if name in shape.required_members:
            absent = {other: value for other, value in good.items() if other != name}
            yield absent, "ValidationException", f"Value null at '{at}' failed to satisfy constraint: {NULL}"
        for value, code, words in broken(member, at, whole and at.count(".") < 4):
            yield {**good, name: value}, code, words


@pytest.mark.parametrize(("api", "operation"), OPERATIONS)
def test_what_the_service_model_rules_out_is_refused(refusing: ServiceApp, api: str, operation: str) -> None:
    shape = MODELS[api].operation_model(operation).input_shape
    if shape is None or not shape.members:
        return
    cases = list(broken_members(shape, "", whole=operation not in DATA))
    assert cases
    for request, code, words in cases:
        answer = refusal(refusing, operation, request, api)
        assert answer[0] == code, (request, answer)
        assert words in answer[1], (request, answer)


# What no model states.

INVALID = "One or more parameter values were invalid: "
BAD_NAME = "Invalid table/index name.  Table/index names must be between 3 and 255 characters long"
DAY = {"AttributeDefinitions": attributes("pk", "sk", "day"), "KeySchema": BOTH}
WITH_CITY = attributes("pk", "sk", "day", "city")
NO_SORT = {"AttributeDefinitions": attributes("pk", "day")}


def warm(units_per_s: int, direction: str = "Write") -> Request:
    return {"WarmThroughput": {f"{direction}UnitsPerSecond": units_per_s}}


def projecting(kind: str | None, *names: str) -> Request:
    projection = {"ProjectionType": kind, "NonKeyAttributes": list(names)}
    return index(Projection={member: value for member, value in projection.items() if value})


def locals_(*indexes: Request, **changes: Any) -> Request:
    return table(**DAY | changes, LocalSecondaryIndexes=list(indexes))


def keyed(*kinds: str) -> Request:
    """A table with an index of so many key attributes, of these kinds."""
    keys = [{"AttributeName": f"a{number}", "KeyType": kind} for number, kind in enumerate(kinds)]
    return table(**indexed(index(KeySchema=keys)))


CREATE = [
    (table("ab"), BAD_NAME),
    (table("a/bc"), BAD_NAME),
    (table(KeySchema=[BOTH[1]]), "The first KeySchemaElement is not a HASH key type"),
    (table(KeySchema=[*HASH, *schema("sk")]), "The second KeySchemaElement is not a RANGE key type"),
    (table(KeySchema=schema("pk", "pk")), "Both the Hash Key and the Range Key element"),
    (table(KeySchema=BOTH), INVALID + "Some index key attributes are not defined"),
    (table(AttributeDefinitions=attributes("pk", "x")),
     INVALID + "Number of attributes in KeySchema does not exactly match"),
    (table(**indexed(AttributeDefinitions=attributes("pk", "city", "x"))),
     INVALID + "Some AttributeDefinitions are not used. "
     "AttributeDefinitions: [pk, city, x], keys used: [pk, city]"),
    (table(AttributeDefinitions=attributes("pk", "pk")),
     INVALID + "Duplicate AttributeName in AttributeDefinitions: pk"),
    (table(ProvisionedThroughput=None), INVALID
     + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED"),
    (on_demand() | {"ProvisionedThroughput": units(1, 1)},
     INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified"),
    (table(OnDemandThroughput={"MaxReadRequestUnits": 1}),
     INVALID + "OnDemandThroughput cannot be specified when BillingMode is PROVISIONED"),
    (on_demand(OnDemandThroughput={"MaxReadRequestUnits": 0}),
     INVALID + "MaxReadRequestUnits must be greater than or equal to 1"),
    (on_demand(**warm(3_999)), INVALID
     + "Requested WriteUnitsPerSecond for WarmThroughput for table is lower than initial throughput"),
    (on_demand(**warm(10**10)), "is above 10000000, the most that the local endpoint can hold"),
    (table(**warm(4, "Read")), "for table is lower than ReadCapacityUnits of ProvisionedThroughput"),
    (table(**indexed(index(**warm(4)))),
     "for index by_city is lower than WriteCapacityUnits of ProvisionedThroughput"),
    (table(GlobalSecondaryIndexes=[]), INVALID + "List of GlobalSecondaryIndexes is empty"),
    (table(**indexed(index(ProvisionedThroughput=None))),
     INVALID + "ProvisionedThroughput is not specified for index: by_city"),
    (on_demand(**indexed()), INVALID + "ProvisionedThroughput should not be specified for index: by_city"),
    (table(**indexed(index("a!"))), "globalSecondaryIndexes.1.member.indexName"),
    (table(**indexed(index(), index())), INVALID + "Duplicate index name: by_city"),
    (table(**indexed(*(index(f"by_{number:02}") for number in range(21)))),
     INVALID + "GlobalSecondaryIndex count exceeds the per-table limit of 20"),
    (locals_(*(local(f"by_{number}") for number in range(6))),
     INVALID + "Number of LocalSecondaryIndexes exceeds per-table limit of 5"),
    (locals_(local(), KeySchema=HASH, **NO_SORT), INVALID + "Table KeySchema does not have a range key"),
    (locals_(local(KeySchema=HASH), AttributeDefinitions=attributes("pk", "sk")),
     INVALID + "Index KeySchema does not have a range key for index: by_day"),
    (locals_(local(KeySchema=schema("city", "day")), AttributeDefinitions=WITH_CITY),
     INVALID + "Index KeySchema does not have the same leading hash key as table KeySchema for index: "
     "by_day. index hash key: city, table hash key: pk"),
    (table(**indexed(projecting("INCLUDE"))),
     INVALID + "ProjectionType is INCLUDE, but NonKeyAttributes is not specified"),
    (table(**indexed(projecting("ALL", "x"))),
     INVALID + "ProjectionType is ALL, but NonKeyAttributes is specified"),
    (table(**indexed(*(projecting("INCLUDE", *(f"{i}-{n}" for n in range(17))) | {"IndexName": f"by_{i}"}
                       for i in range(6)))),
     INVALID + "Number of NonKeyAttributes exceeds the per-table limit of 100"),
    (table(Tags=[{"Key": "a", "Value": "b"}] * 2), INVALID + "Duplicate tag key: a"),
    (table(ResourcePolicy="{}"), "The local endpoint does not support ResourcePolicy"),
    (keyed("HASH", "RANGE", "HASH"), "HASH key elements must come before RANGE"),
    (keyed(*["HASH"] * 5), "at most 4 HASH key elements"),
    (keyed(*["HASH"] * 9), "less than or equal to 8"),
    (table("paid"), "ResourceInUseException: Table already exists: paid"),
    (table(ProvisionedThroughput=units(1, 39_996), **indexed()),
     "LimitExceededException: WriteCapacityUnits of 40001 for the table"),
]  # fmt: skip


def updating(*updates: Request, **more: Any) -> Request:
    return {"TableName": "paid", "GlobalSecondaryIndexUpdates": list(updates), **more}


MORE_UNITS = {"ProvisionedThroughput": units(1, 1)}
UPDATE = [
    ({"TableName": "paid"}, "At least one of"),
    ({"TableName": "paid", "ProvisionedThroughput": units(5, 5)},
     "The provisioned throughput for the table will not change."),
    ({"TableName": "paid", "ProvisionedThroughput": units(40_001, 5)},
     "LimitExceededException: for the table"),
    ({"TableName": "orders", "ReplicaUpdates": [{"Create": {"RegionName": "eu-west-1"}}]},
     "The local endpoint does not support ReplicaUpdates"),
    ({"TableName": "paid", "StreamSpecification": {"StreamEnabled": True}}, "StreamViewType"),
    ({"TableName": "paid", "StreamSpecification": {"StreamEnabled": False, "StreamViewType": "NEW_IMAGE"}},
     "StreamViewType"),
    (updating({}), "must not be null"),
    (updating({"Create": index("new"), "Delete": {"IndexName": "by_city"}}), "One of"),
    (updating({"Delete": {"IndexName": "by_none"}}), "ResourceNotFoundException: not found"),
    (updating({"Create": index()}), "index which already exists"),
    (updating({"Create": index("new")}, {"Delete": {"IndexName": "by_city"}}),
     "LimitExceededException: Only 1 online index can be created or deleted simultaneously per table"),
    (updating(*[{"Update": {"IndexName": "by_city", **MORE_UNITS}}] * 2),
     "Only one global secondary index update per index is allowed simultaneously. Index: by_city"),
    (updating({"Create": index("new", "never_defined")}),
     "Some index key attributes are not defined in AttributeDefinitions. Keys: [never_defined]"),
    (updating({"Delete": {"IndexName": "local"}}, TableName="orders"),
     "ResourceNotFoundException: not found"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "request_", "message"),
    [*(("CreateTable", *row) for row in CREATE), *(("UpdateTable", *row) for row in UPDATE)],
)
def test_a_definition_is_refused_with_the_reason(
    refusing: ServiceApp, operation: str, request_: Request, message: str
) -> None:
    if operation == "CreateTable" and request_["TableName"] == "orders":
        request_ = request_ | {"TableName": "another"}
    code, text = refusal(refusing, operation, request_)
    expected, _, words = message.rpartition("Exception: ")
    assert code == f"{expected or 'Validation'}Exception"
    assert words in text
    assert refusing.service.catalog.names() == ["music", "orders", "paid"]


WRONG_TYPES = [
    ({"TableName": 3}, "NUMBER_VALUE cannot be converted to String"),
    ({"TableName": {}}, "Start of structure or map found where not expected."),
    ({"KeySchema": {}}, "Unexpected field type"),
    ({"ProvisionedThroughput": "5"}, "Unexpected value type in payload"),
    ({"DeletionProtectionEnabled": "true"}, "STRING_VALUE cannot be converted to Boolean"),
    ({"TableClass": True}, "TRUE_VALUE cannot be converted to String"),
]


@pytest.mark.parametrize(("members", "message"), WRONG_TYPES)
def test_a_wrong_json_type_is_a_serialization_exception(
    refusing: ServiceApp, members: Request, message: str
) -> None:
    assert refusal(refusing, "CreateTable", table("new", **members)) == ("SerializationException", message)


def test_every_broken_constraint_is_listed(refusing: ServiceApp) -> None:
    _, message = refusal(refusing, "CreateTable", {"TableName": "", "ProvisionedThroughput": {}})
    assert message.startswith("3 validation errors detected: ")
    assert message.count("; ") == 2
