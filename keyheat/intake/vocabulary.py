"""Properties of a table description: their names and types.

CloudFormation templates, CreateTable and DescribeTable share this vocabulary. Sources:
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_DynamoDB.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

Attributes = Mapping[str, Any]
"""A table in DescribeTable's properties, the common form of all formats."""
Shape = Any
"""A mapping by properties, a list by its one member; `int` for a number, None for anything."""


def _open(names: str) -> dict[str, None]:
    """Properties with any value."""
    return dict.fromkeys(names.split())


SCALED: Final[Shape] = {
    **dict.fromkeys(("MinCapacity", "MaxCapacity", "SeedCapacity"), int),
    "TargetTrackingScalingPolicyConfiguration": {
        **dict.fromkeys(("TargetValue", "ScaleInCooldown", "ScaleOutCooldown"), int),
        "DisableScaleIn": None,
    },
}
CAPACITY: Final[Shape] = {
    "ProvisionedThroughput": {
        "ReadCapacityUnits": int,
        "WriteCapacityUnits": int,
        **_open("LastIncreaseDateTime LastDecreaseDateTime NumberOfDecreasesToday"),
    },
    "OnDemandThroughput": {"MaxReadRequestUnits": int, "MaxWriteRequestUnits": int},
    "WarmThroughput": {"ReadUnitsPerSecond": int, "WriteUnitsPerSecond": int, "Status": None},
}
"""Of tables and indexes."""
READS: Final[Shape] = {
    "ReadProvisionedThroughputSettings": {
        "ReadCapacityUnits": int,
        "ReadCapacityAutoScalingSettings": SCALED,
    },
    "ReadOnDemandThroughputSettings": {"MaxReadRequestUnits": int},
}
"""Of a global table in CloudFormation: reads per replica, writes for all replicas."""
WRITES: Final[Shape] = {
    "WriteProvisionedThroughputSettings": {"WriteCapacityAutoScalingSettings": SCALED},
    "WriteOnDemandThroughputSettings": {"MaxWriteRequestUnits": int},
}
OVERRIDES: Final[Shape] = {
    "ProvisionedThroughputOverride": {"ReadCapacityUnits": int},
    "OnDemandThroughputOverride": {"MaxReadRequestUnits": int},
}
LOCAL: Final[Shape] = {
    "KeySchema": [_open("AttributeName KeyType")],
    "Projection": _open("ProjectionType NonKeyAttributes"),
    **_open("IndexName IndexArn IndexSizeBytes ItemCount"),
}
INDEX: Final[Shape] = {
    **LOCAL, **CAPACITY, **READS, **WRITES,
    **_open("IndexStatus Backfilling ContributorInsightsSpecification"),
}  # fmt: skip
REPLICA: Final[Shape] = {
    **READS,
    **OVERRIDES,
    **_open(
        "Region RegionName ReplicaStatus ReplicaArn ReplicaStatusDescription ReplicaStatusPercentProgress "
        "KMSMasterKeyId WarmThroughput ReplicaInaccessibleDateTime ReplicaTableClassSummary TableClass "
        "GlobalTableSettingsReplicationMode ContributorInsightsSpecification DeletionProtectionEnabled "
        "DisassociationProtectionEnabled KinesisStreamSpecification PointInTimeRecoverySpecification "
        "ReplicaStreamSpecification ResourcePolicy SSESpecification Tags"
    ),
    "GlobalSecondaryIndexes": [
        {**READS, **OVERRIDES, **_open("IndexName WarmThroughput ContributorInsightsSpecification")}
    ],
}
TABLE: Final[Shape] = {
    "AttributeDefinitions": [_open("AttributeName AttributeType")],
    "KeySchema": [_open("AttributeName KeyType")],
    "LocalSecondaryIndexes": [LOCAL],
    "GlobalSecondaryIndexes": [INDEX],
    "Replicas": [REPLICA],
    "BillingModeSummary": _open("BillingMode LastUpdateToPayPerRequestDateTime"),
    "StreamSpecification": _open("StreamEnabled StreamViewType ResourcePolicy Tags"),
    "TableClassSummary": _open("TableClass LastUpdateDateTime"),
    "PrimaryKey": _open("Name Type"),
    **CAPACITY, **READS, **WRITES,
    **_open(
        "TableName TableArn TableId TableStatus TableType TableSizeBytes ItemCount CreationDateTime Arn "
        "StreamArn LatestStreamArn LatestStreamLabel BillingMode TableClass GlobalTableVersion "
        "GlobalTableWitnesses GlobalTableSettingsReplicationMode GlobalTableSourceArn MultiRegionConsistency "
        "RestoreSummary SSEDescription SSESpecification ArchivalSummary DeletionProtectionEnabled "
        "DisassociationProtectionEnabled ContributorInsightsSpecification ImportSourceSpecification "
        "KinesisStreamSpecification PointInTimeRecoverySpecification ResourcePolicy Tags "
        "TimeToLiveSpecification VectorIndexes"
    ),
}  # fmt: skip


def find_unknown(value: Any, path: str, shape: Shape = TABLE) -> Iterator[str]:
    """Unknown properties, each with the likely correct one."""
    for name in value if isinstance(value, Mapping) and isinstance(shape, Mapping) else ():
        if name not in shape:
            near = get_close_matches(str(name), shape, n=1)
            yield f"{path}.{name} is unknown" + (f": did you mean {near[0]}?" if near else "")
    for where, member, inner in _members(value, path, shape):
        yield from find_unknown(member, where, inner)


def find_malformed(value: Any, path: str, shape: Shape = TABLE) -> Iterator[str]:
    """Values that should be mappings or lists."""
    if isinstance(shape, Mapping) and not isinstance(value, Mapping):
        yield f"{path} is not a mapping of properties"
    elif isinstance(shape, list) and not isinstance(value, list | tuple):
        yield f"{path} is not a list"
    for where, member, inner in _members(value, path, shape):
        yield from find_malformed(member, where, inner)


def with_numbers(value: Any, shape: Shape = TABLE) -> Any:
    """Convert numbers that a description has as text."""
    if shape is int:
        return as_number(value)
    if isinstance(value, Mapping) and isinstance(shape, Mapping):
        return {name: with_numbers(member, shape.get(name)) for name, member in value.items()}
    if isinstance(value, list) and isinstance(shape, list):
        return [with_numbers(member, shape[0]) for member in value]
    return value


def as_number(value: Any) -> Any:
    """Convert text to a number if it is one; return anything else unchanged."""
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return int(number) if isinstance(value, str) and number.is_integer() else number


def _members(value: Any, path: str, shape: Shape) -> Iterator[tuple[str, Any, Shape]]:
    """Members of a mapping or list with their paths and shapes; None is absent."""
    if isinstance(value, Mapping) and isinstance(shape, Mapping):
        named = ((f"{path}.{name}", member, shape.get(name)) for name, member in value.items())
        yield from (item for item in named if item[1] is not None)
    elif isinstance(value, list | tuple) and isinstance(shape, list):
        yield from ((f"{path}[{number}]", member, shape[0]) for number, member in enumerate(value))
