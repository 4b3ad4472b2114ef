"""The words in which a table is described: which properties there are, and what each of them holds.

Those of a CloudFormation template, of CreateTable and of DescribeTable are one vocabulary. Sources:
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_DynamoDB.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, Final

Attributes = Mapping[str, Any]
"""A table in the words of DescribeTable: what every format is brought into."""
Shape = Any
"""A mapping by its properties, a list by its one member; `int` for a number, None for whatever it may be."""


def _open(names: str) -> dict[str, None]:
    """Properties that hold whatever they may."""
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
"""Of a table and of an index alike."""
READS: Final[Shape] = {
    "ReadProvisionedThroughputSettings": {
        "ReadCapacityUnits": int,
        "ReadCapacityAutoScalingSettings": SCALED,
    },
    "ReadOnDemandThroughputSettings": {"MaxReadRequestUnits": int},
}
"""Of a global table in CloudFormation: reads are said for each replica, writes for all of them."""
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


def misspelt(value: Any, path: str, shape: Shape = TABLE) -> Iterator[str]:
    """Properties that nobody knows here, each with the one that may be meant."""
    for name in value if isinstance(value, Mapping) and isinstance(shape, Mapping) else ():
        if name not in shape:
            near = get_close_matches(str(name), shape, n=1)
            yield f"{path}.{name} is not known here" + (f": did you mean {near[0]}?" if near else "")
    for where, one, known in _members(value, path, shape):
        yield from misspelt(one, where, known)


def misshapen(value: Any, path: str, shape: Shape = TABLE) -> Iterator[str]:
    """Mappings and lists that are something else."""
    if isinstance(shape, Mapping) and not isinstance(value, Mapping):
        yield f"{path} is no mapping of properties"
    elif isinstance(shape, list) and not isinstance(value, list | tuple):
        yield f"{path} is no list"
    for where, one, known in _members(value, path, shape):
        yield from misshapen(one, where, known)


def with_numbers(value: Any, shape: Shape = TABLE) -> Any:
    """A description whose numbers are numbers, where it has them as text."""
    if shape is int:
        return as_number(value)
    if isinstance(value, Mapping) and isinstance(shape, Mapping):
        return {name: with_numbers(one, shape.get(name)) for name, one in value.items()}
    if isinstance(value, list) and isinstance(shape, list):
        return [with_numbers(one, shape[0]) for one in value]
    return value


def as_number(value: Any) -> Any:
    """A number, also of text that says one, as templates may; anything else as it is."""
    try:
        number = float(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return int(number) if isinstance(value, str) and number.is_integer() else number


def _members(value: Any, path: str, shape: Shape) -> Iterator[tuple[str, Any, Shape]]:
    """What is in a mapping or a list and has a shape of its own, with its path; None is as absent."""
    if isinstance(value, Mapping) and isinstance(shape, Mapping):
        named = ((f"{path}.{name}", one, shape.get(name)) for name, one in value.items())
        yield from (one for one in named if one[1] is not None)
    elif isinstance(value, list | tuple) and isinstance(shape, list):
        yield from ((f"{path}[{number}]", one, shape[0]) for number, one in enumerate(value))
