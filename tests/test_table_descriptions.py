"""What `keyheat init` takes of a table's description, what it assumes, and what it names as not taken."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session

from keyheat.intake.description import checked_properties
from keyheat.intake.scenario import Demand, scenario_text
from keyheat.intake.sources import read_source
from keyheat.intake.tables import NotTaken, SourceTable
from keyheat.words import DONE
from tests.conftest import Golden

KEYS = {
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "p", "AttributeType": "S"}],
}
PLAIN = {"TableName": "orders", "BillingMode": "PAY_PER_REQUEST", **KEYS}
UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 20}
PROVISIONED = {**PLAIN, "BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS}
DESCRIBED = {"TableName": "orders", **KEYS, "ProvisionedThroughput": UNITS}
INDEX = {"IndexName": "by-p", "KeySchema": KEYS["KeySchema"], "Projection": {"ProjectionType": "ALL"}}
DIMENSION = "dynamodb:table:WriteCapacityUnits"
Read = Callable[..., Any]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """What a file of this content is read as."""

    def _read(content: Any) -> Any:
        file = tmp_path / "source"
        file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return read_source(file)

    return _read


def template(properties: Any, kind: str = "Table", **more: Any) -> dict[str, Any]:
    return {"Resources": {"T": {"Type": f"AWS::DynamoDB::{kind}", "Properties": properties}, **more}}


def text_of(table: SourceTable, demand: Demand | None = None) -> str:
    return scenario_text(table, demand or Demand(), "a source", "schema.json")


def refused(read: Read, content: Any) -> str:
    """Why it is not taken, without where it is."""
    with pytest.raises(NotTaken) as error:
        read(content)
    return str(error.value).partition("source: ")[2]


def reads(units: int) -> dict[str, Any]:
    return {"ReadProvisionedThroughputSettings": {"ReadCapacityUnits": units}}


SCALED = {"ResourceId": "table/orders", "ScalableDimension": DIMENSION}
TRACKED = {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": "55"}}
POLICY = {"ScalingTargetId": {"Ref": "S"}, **TRACKED}


def scaled(properties: Any, policy: Any) -> dict[str, Any]:
    kind = "AWS::ApplicationAutoScaling"
    target = {**SCALED, "MinCapacity": 10, "MaxCapacity": "60"}
    more = {"S": {"Type": f"{kind}::ScalableTarget", "Properties": target}}
    more |= {"P": {"Type": f"{kind}::ScalingPolicy", "Properties": policy}} if policy else {}
    return template(properties, **more)


def plan(values: Any, *more: Any, changes: Any = ()) -> dict[str, Any]:
    table = {
        "type": "aws_dynamodb_table", "address": "aws_dynamodb_table.o", "name": "o",
        "values": {"name": "orders", "hash_key": "p", "attribute": [{"name": "p", "type": "S"}], **values},
    }  # fmt: skip
    root = {"root_module": {"resources": [table, *more]}}
    return {"terraform_version": "1.7.0", "planned_values": root, "resource_changes": list(changes)}


ON_DEMAND = {"billing_mode": "PAY_PER_REQUEST"}
COPY = {"type": "aws_dynamodb_table_replica", "address": "aws_dynamodb_table_replica.us", "name": "us"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Table", "GlobalTable"])
def test_every_property_of_cloudformation_is_known(kind: str) -> None:
    from cfnlint.schema import PROVIDER_SCHEMA_MANAGER  # half a second, which only this test waits for

    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", f"AWS::DynamoDB::{kind}").schema

    def full(part: Any) -> Any:
        part = schema["definitions"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
        if "items" in part:
            return [full(part["items"])]
        return {name: full(one) for name, one in part.get("properties", {}).items()}

    assert checked_properties(full(schema), "T")[1] == []


def test_every_member_of_describe_table_is_known() -> None:
    model = get_session().get_service_model("dynamodb")

    def full(shape: Any) -> Any:
        if shape.type_name == "list":
            return [full(shape.member)]
        return {name: full(one) for name, one in getattr(shape, "members", {}).items()}

    for name in ("TableDescription", "CreateTableInput"):
        assert checked_properties(full(model.shape_for(name)), "T")[1] == []


AMISS = {
    **PLAIN,
    "GlobalSecondaryIndexes": [
        {**INDEX, "Projection": {"ProjectionType": "INCLUDE"}},
        {"IndexName": "by-z", "KeySchema": [{"AttributeName": "zz", "KeyType": "HASH"}],
         "Projection": {"ProjectionType": "SOME"}},
    ],
}  # fmt: skip


def test_a_table_is_named_by_its_logical_id_too(
    verb: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    last = template({**PLAIN, "TableName": "last"})["Resources"]["T"]
    Path("several.json").write_text(json.dumps(template(AMISS, T2=last)), encoding="utf-8")
    said = verb("init", "several.json", "--only", "T2")
    assert said.code == DONE, said.err
    assert "its index by-p" not in said.out, "nothing of another table"
    assert tomllib.loads(Path("last.toml").read_text(encoding="utf-8"))["table"]["name"] == "keyheat-last"


IDLE = {"resource_id": "table/orders", "scalable_dimension": DIMENSION, "min_capacity": 1, "max_capacity": 9}
IN_US_EAST_1 = {"Replicas": [{"RegionName": "us-east-1"}]}
OVERRIDE = {"RegionName": "us-east-1", "ProvisionedThroughputOverride": {"ReadCapacityUnits": 50}}
CLASS = "STANDARD_INFREQUENT_ACCESS"
NOTHING = {"ReadCapacityUnits": 0, "WriteCapacityUnits": 0}
UNKNOWN_TARGET = {"ScalingTargetId": {"Ref": "S"}, "TargetTrackingScalingPolicyConfiguration": {}}
MAPPED = {"ReadCapacityUnits": {"Fn::FindInMap": ["M", "eu", "r"]}, "WriteCapacityUnits": "5"}
MAXIMA = {
    **PLAIN, "WriteOnDemandThroughputSettings": {"MaxWriteRequestUnits": "700"},
    "Replicas": [{"Region": "eu-west-1", "ReadOnDemandThroughputSettings": {"MaxReadRequestUnits": 90}}],
}  # fmt: skip
OFF = {"TimeToLiveSpecification": {"AttributeName": "until", "Enabled": "false"}}
MADE_ANEW = {
    "type": "aws_dynamodb_table", "address": "aws_dynamodb_table.o",
    "change": {"actions": ["delete", "create"]},
}  # fmt: skip
OF_WRITES = {
    "WriteProvisionedThroughputSettings": {
        "WriteCapacityAutoScalingSettings": {
            "MinCapacity": 5, "MaxCapacity": 9,
            "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 60},
        },
    },
}  # fmt: skip
FLEET = {
    **PLAIN, **OF_WRITES, "BillingMode": "PROVISIONED", "GlobalSecondaryIndexes": [{**INDEX, **OF_WRITES}],
    "Replicas": [
        {"Region": region, **reads(units), "GlobalSecondaryIndexes": [{"IndexName": "by-p", **reads(few)}]}
        for region, units, few in (("eu-west-1", 300, 100), ("us-east-1", 50, 20), ("us-west-2", 300, 100))
    ],
}  # fmt: skip
PART = {"PartitionKey": {"AttributeName": "p", "AttributeType": "S"}}
MODEL = {
    "TableName": "Ledger", "KeyAttributes": PART, "BillingMode": "PROVISIONED",
    "GlobalSecondaryIndexes": [
        {"IndexName": "by-p", "KeyAttributes": PART, "Projection": {"ProjectionType": "ALL"}}
    ],
    "ProvisionedCapacitySettings": {
        "ProvisionedThroughput": {"ReadCapacityUnits": 1000, "WriteCapacityUnits": 1200},
        "AutoScalingRead": {
            "ScalableTargetRequest": {"MinCapacity": 1, "MaxCapacity": 10},
            "ScalingPolicyConfiguration": {"TargetValue": 60},
        },
    },
}  # fmt: skip
TAKEN: dict[str, Any] = {
    "a replica": {
        **DESCRIBED, "TableArn": "arn:aws:dynamodb:eu-west-1:123456789012:table/orders", **IN_US_EAST_1,
    },
    "a replica of a table in a Region that is not said": {**DESCRIBED, **IN_US_EAST_1},
    "a replica's override": {**DESCRIBED, "Replicas": [OVERRIDE]},
    "a Region that reads less, and one that reads as the first": template(FLEET, "GlobalTable"),
    "replicas of a plan, of its table and as a resource": plan(
        {**ON_DEMAND, "replica": [{"region_name": "us-east-2"}]}, COPY
    ),
    "on-demand maxima": template(MAXIMA, "GlobalTable"),
    "a policy that names its target": scaled(PROVISIONED, POLICY),
    "a policy that names what it scales": scaled(PROVISIONED, {**TRACKED, **SCALED}),
    "capacity outside of its scaling": scaled(
        {
            **PROVISIONED, "GlobalSecondaryIndexes": [INDEX],
            "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 1_000},
        },
        POLICY,
    ),
    "a policy of a target that is there": scaled(
        PROVISIONED, {**TRACKED, "ScalingTargetId": f"table/orders|{DIMENSION}|dynamodb"}
    ),
    "a target without a policy": scaled(PROVISIONED, None),
    "one of Terraform": plan(
        {"billing_mode": "PROVISIONED", "read_capacity": 5, "write_capacity": 5},
        {"type": "aws_appautoscaling_target", "address": "a.w", "values": IDLE},
    ),
    "scaling on demand": scaled(PLAIN, POLICY),
    "a policy without a target value": scaled(PROVISIONED, UNKNOWN_TARGET),
    "numbers as text": template({**PROVISIONED, "ProvisionedThroughput": MAPPED})
    | {"Mappings": {"M": {"eu": {"r": "25"}}}},
    "a misspelt property": template({**PLAIN, "TableClas": "STANDARD"}),
    "a size that no item has": {"Table": {**DESCRIBED, "TableSizeBytes": 1e40, "ItemCount": 1}},
    "a maximum that AWS keeps of an on-demand time": {
        **DESCRIBED, "OnDemandThroughput": {"MaxReadRequestUnits": 90, "MaxWriteRequestUnits": 700},
    },
    "small items": {**DESCRIBED, "TableSizeBytes": 600, "ItemCount": 10},
    "a short name": template({**PLAIN, "TableName": "t"}),
    "a described class": {**DESCRIBED, "TableClassSummary": {"TableClass": CLASS}},
    "a template's class": template({**PLAIN, "TableClass": CLASS}),
    "a replica's class": template(
        {**PLAIN, "Replicas": [{"Region": "eu-west-1", "TableClass": CLASS}]}, "GlobalTable"
    ),
    "a plan's class": plan({"billing_mode": "PAY_PER_REQUEST", "table_class": CLASS}),
    "no mode and no capacity": {**DESCRIBED, "ProvisionedThroughput": NOTHING},
    "what is switched off": template({**PLAIN, **OFF}),
    "a table that goes": {**DESCRIBED, "TableStatus": "DELETING"},
    "a table that a plan makes anew": plan(ON_DEMAND, changes=[MADE_ANEW]),
    "a model that disagrees with itself": {"DataModel": [MODEL]},
    "a name that refers to itself": template({**PLAIN, "TableName": {"Ref": "T"}}),
    "a name that joins nothing": template({**PLAIN, "TableName": {"Fn::Join": "x"}}),
}  # fmt: skip


def test_what_is_taken_and_what_is_named_as_not_taken(read: Read, golden: Golden) -> None:
    """Golden: each line of a scenario that one of the plainest table does not have."""
    plain = set(text_of(read(template(PLAIN)).tables[0]).splitlines())
    said = []
    for name, source in TAKEN.items():
        found = read(source)
        (table,) = found.tables
        lines = [line for line in text_of(table).splitlines() if line not in plain]
        said += [f"== {name}", *found.notes, *found.others, *lines]
    golden("table-descriptions.txt", "".join(f"{line}\n" for line in said))


def test_auto_scaling_is_of_the_table_that_it_names(read: Read) -> None:
    both = scaled(PROVISIONED, POLICY)
    both["Resources"]["Other"] = template({**PROVISIONED, "TableName": "other"})["Resources"]["T"]
    assert [(table.name, bool(table.scaling)) for table in read(both).tables] == [
        ("orders", True), ("other", False),
    ]  # fmt: skip


def test_a_name_of_which_a_part_is_unknown_is_not_made_up(read: Read) -> None:
    unknown = {"Fn::Join": ["-", ["orders", {"Fn::GetAtt": ["Stage", "Name"]}]]}
    (table,) = read(template({**PLAIN, "TableName": unknown})).tables
    assert table.name == "T"
    (note,) = table.notes
    assert note.startswith("T.TableName: Fn::Join of")


HUGE = {"ReadCapacityUnits": 99999999999999999999, "WriteCapacityUnits": 1e30}
BY_P = {"GlobalSecondaryIndexes": [{**INDEX, "IndexName": "i"}]}
WITHOUT_READS = {"WriteCapacityUnits": 20, "ReadCapacityUnit": 5}
STREAM = {"StreamSpecification": {"StreamViewType": "ALL"}}
REGIONS = {**STREAM, "Replicas": [{"Region": "mars"}, {"Region": "x"}]}
SHAPES = {"GlobalSecondaryIndexes": [{**INDEX, "Projection": "ALL"}], "Replicas": "eu-west-1"}
HUSH = [{"AttributeName": "p", "KeyType": "HUSH"}]
WORDS = {"ReadCapacityUnits": "many", "WriteCapacityUnits": {}}
REFUSED = {
    "huge": {"Table": {**DESCRIBED, "ProvisionedThroughput": HUGE}},
    "misspelt": template({**PROVISIONED, "BilingMode": "x", "ProvisionedThroughput": WITHOUT_READS}),
    "no properties": template(["x"]),
    "other shapes": template({**PLAIN, **SHAPES}),
    "a name that a terminal obeys": {"Table": {**DESCRIBED, "TableName": "x\x1bred"}},
    "indexes": template(AMISS),
    "an index of one letter": template({**PLAIN, **BY_P}),
    "an index without keys": template({**PLAIN, "GlobalSecondaryIndexes": [{"IndexName": "one"}]}),
    "no such mode or key type": template({**PLAIN, "BillingMode": "FREE", "KeySchema": HUSH}),
    "text for a list": template({**PLAIN, "KeySchema": "p"}),
    "throughput of words": template({**PROVISIONED, "ProvisionedThroughput": WORDS}),
    "no such Region or stream": template({**PLAIN, **REGIONS}, "GlobalTable"),
}


def test_what_is_wrong_is_said_once_in_the_words_of_the_source(read: Read, golden: Golden) -> None:
    said = "".join(f"== {name}\n{refused(read, source)}\n" for name, source in REFUSED.items())
    golden("table-faults.txt", said)
    assert "$." not in said
    assert "TOML" not in said
