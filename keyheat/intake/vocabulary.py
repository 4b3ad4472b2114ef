"""Properties of a table description that are read: mappings, lists and numbers.

CloudFormation templates, CreateTable and DescribeTable share this vocabulary. Sources:
https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/AWS_DynamoDB.html
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TableDescription.html
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

Attributes = Mapping[str, Any]
"""A table in DescribeTable's properties, the common form of all formats."""
Shape = Any
"""A mapping by properties, a list by its one member; `int` for a number; what is not named is anything."""


UNITS: Final[Shape] = {"ReadCapacityUnits": int, "WriteCapacityUnits": int}
SCALED: Final[Shape] = {
    **dict.fromkeys(("MinCapacity", "MaxCapacity", "SeedCapacity"), int),
    "TargetTrackingScalingPolicyConfiguration": dict.fromkeys(
        ("TargetValue", "ScaleInCooldown", "ScaleOutCooldown"), int
    ),
}
CAPACITY: Final[Shape] = {
    "ProvisionedThroughput": UNITS,
    "OnDemandThroughput": {"MaxReadRequestUnits": int, "MaxWriteRequestUnits": int},
    "WarmThroughput": {"ReadUnitsPerSecond": int, "WriteUnitsPerSecond": int},
}
"""Of tables and indexes."""
SETTINGS: Final[Shape] = {
    f"{side}{kind}ThroughputSettings": shape
    for side in ("Read", "Write")
    for kind, shape in (
        ("Provisioned", {"ReadCapacityUnits": int, f"{side}CapacityAutoScalingSettings": SCALED}),
        ("OnDemand", {f"Max{side}RequestUnits": int}),
    )
}
"""Of a global table in CloudFormation: reads per replica, writes for all replicas."""
KEYS: Final[Shape] = [{}]
INDEX: Final[Shape] = {"KeySchema": KEYS, "Projection": {}, **CAPACITY, **SETTINGS}
TABLE: Final[Shape] = {
    "AttributeDefinitions": [{}],
    "KeySchema": KEYS,
    "LocalSecondaryIndexes": [INDEX],
    "GlobalSecondaryIndexes": [INDEX],
    "Replicas": [{**SETTINGS, "GlobalSecondaryIndexes": [SETTINGS]}],
    "BillingModeSummary": {},
    "StreamSpecification": {},
    "TableClassSummary": {},
    "PrimaryKey": {},
    **CAPACITY,
    **SETTINGS,
}


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
