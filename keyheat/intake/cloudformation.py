"""Read tables from a CloudFormation, SAM or synthesized CDK template, resolving literal functions.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from keyheat.intake.description import check_name, checked_properties
from keyheat.intake.scaling import (
    TRACKING,
    Side,
    Sides,
    as_number,
    bounds_of,
    parse_policy,
    scaled_side,
    scaled_sides,
)
from keyheat.intake.tables import Source, SourceTable, accept_table, as_description
from keyheat.words import enumerated

TABLE, GLOBAL, SIMPLE = "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable", "AWS::Serverless::SimpleTable"
SCALABLE, POLICY = (
    "AWS::ApplicationAutoScaling::ScalableTarget", "AWS::ApplicationAutoScaling::ScalingPolicy"
)  # fmt: skip
VARIABLE: Final = re.compile(r"\$\{([^!}][^}]*)\}")


MALFORMED: Final = (
    AttributeError, IndexError, KeyError, RecursionError, TypeError, UnicodeError, ValueError,
)  # fmt: skip
"""Errors from a malformed resource, which is skipped and reported."""


class _Open(Exception):
    """An intrinsic function whose value is unknown."""


class Template:
    """A template with its parameters at their defaults."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.resources: Mapping[str, Any] = raw.get("Resources") or {}
        self._parameters = raw.get("Parameters") or {}
        self._conditions = raw.get("Conditions") or {}
        self._mappings = raw.get("Mappings") or {}
        self.open: list[str] = []  # unresolved functions

    def resolved(self, value: Any, path: str | None = None) -> Any:
        """Resolve the functions in a value; record the path of an unresolved one.

        Without a path, raises `_Open` for it.
        """
        if isinstance(value, Mapping):
            if len(value) == 1 and (name := next(iter(value))) in FUNCTIONS:
                try:
                    return self._called(name, value[name])
                except (*MALFORMED, _Open):
                    if path is None:
                        raise
                    self.open.append(f"{path}: {name} of {value[name]!s:.60} is unknown")
                    return None
            members = {key: self.resolved(member, path and f"{path}.{key}") for key, member in value.items()}
            return {key: member for key, member in members.items() if member is not None}
        if isinstance(value, list):
            items = [self.resolved(item, path and f"{path}[{number}]") for number, item in enumerate(value)]
            return [item for item in items if item is not None]
        return value

    def take_open(self) -> list[str]:
        """Return the unresolved functions since the last call."""
        lines, self.open = self.open, []
        return lines

    def of_type(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The created resources of a type: logical id and properties."""
        for name, resource in self.resources.items():
            if isinstance(resource, Mapping) and resource.get("Type") == kind and self.makes(resource):
                properties = resource.get("Properties")
                yield name, properties if isinstance(properties, Mapping) else {}

    def makes(self, resource: Mapping[str, Any]) -> bool:
        """Whether a resource is created: it has no condition, or a true one."""
        if "Condition" not in resource:
            return True
        try:
            return self._holds(self._conditions.get(resource["Condition"]))
        except (*MALFORMED, _Open):
            return False

    def why_not_made(self, resource: Mapping[str, Any]) -> str:
        """Why a resource is not created, with the parameters' defaults that decide it."""
        conditions, parameters = [resource["Condition"]], set[str]()
        for name in conditions:  # grows by the conditions that each refers to
            stated = str(self._conditions.get(name))
            conditions += [
                other for other in re.findall(r"'Condition': '(\w+)'", stated) if other not in conditions
            ]
            parameters |= self._parameters.keys() & set(re.findall(r"'Ref': '(\w+)'", stated))
        defaults = [
            f"{name} ({self._parameters[name]['Default']})" if "Default" in self._parameters[name] else name
            for name in sorted(parameters)
        ]
        cure = f": change the Default of {enumerated(defaults)} to include it" if defaults else ""
        return f"its condition {conditions[0]} is false or unknown{cure}"

    def _called(self, name: str, argument: Any) -> Any:
        match name, argument:
            case "Ref", _:
                return self._parameter(str(argument))
            case "Fn::Sub", _:
                return self._substituted(argument)
            case "Fn::Join", [separator, parts]:
                return str(separator).join(str(self.resolved(item)) for item in self.resolved(parts))
            case "Fn::If", [condition, yes, no]:
                return self.resolved(yes if self._holds(self._conditions.get(condition)) else no)
            case "Fn::FindInMap", [name, first, second, *_]:
                mapping = self._mappings[self.resolved(name)]
                return mapping[self.resolved(first)][self.resolved(second)]
        raise _Open

    def _parameter(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return None
        parameter = self._parameters.get(name)
        if isinstance(parameter, Mapping) and "Default" in parameter:
            default = parameter["Default"]
            return as_number(default) if parameter.get("Type") == "Number" else default
        resource = self.resources.get(name)
        if isinstance(resource, Mapping) and resource.get("Type") in (TABLE, GLOBAL, SIMPLE):
            named = (resource.get("Properties") or {}).get("TableName")
            return name if named is None else self.resolved(named)
        raise _Open

    def _substituted(self, argument: Any) -> str:
        text, given = argument if isinstance(argument, list) else (argument, {})
        return VARIABLE.sub(
            lambda match: str(
                self.resolved(given[match[1]]) if match[1] in given else self._parameter(match[1])
            ),
            str(text),
        )

    def _holds(self, condition: Any) -> bool:
        match condition:
            case {"Fn::Equals": [first, second]}:
                return bool(self.resolved(first) == self.resolved(second))
            case {"Fn::Not": [operand]}:
                return not self._holds(operand)
            case {"Fn::And": operands}:
                return all(map(self._holds, operands))
            case {"Fn::Or": operands}:
                return any(map(self._holds, operands))
            case {"Condition": name}:
                return self._holds(self._conditions.get(name))
        raise _Open


KNOWN: Final = (
    "Sub Join If FindInMap GetAtt ImportValue Select Split Base64 GetAZs Transform Cidr Length ToJsonString"
)
FUNCTIONS: Final = frozenset({"Ref", "Condition", *(f"Fn::{name}" for name in KNOWN.split())})


def read_template(raw: Mapping[str, Any]) -> Source:
    """Read the tables of a template, with their scaling."""
    template, tables = Template(raw), list[SourceTable]()
    notes, others = list[str](), list[str]()
    targets = {name: template.resolved(properties, name) for name, properties in template.of_type(SCALABLE)}
    notes += [line for line in template.take_open() if line.partition(":")[0].endswith(NEEDED)]
    policies = list(_policies(template, targets, notes))
    notes += [
        f"{name}.ScheduledActions: not simulated"
        for name, target in targets.items()
        if target.get("ScheduledActions") and scaled_side(target)
    ]
    for name, resource in template.resources.items():
        kind = resource.get("Type") if isinstance(resource, Mapping) else None
        if kind not in (TABLE, GLOBAL, SIMPLE):
            if str(kind).startswith("AWS::DynamoDB") or str(name).startswith("Fn::"):
                others.append(f"{name}: {f'a resource of type {kind}' if kind else 'it'} is skipped")
        elif not template.makes(resource):
            others.append(f"{name}: {template.why_not_made(resource)}")
        else:
            try:
                for table, scaled in _read_resource(template, name, resource, others):
                    sides = {**scaled, **scaled_sides(table.name, targets.values(), policies)}
                    tables.append(table.scaled_by(sides))
            except MALFORMED:
                template.take_open()
                others.append(f"{name}: malformed resource of type {kind}")
    return Source("a CloudFormation template", tuple(tables), tuple(notes), tuple(others))


NEEDED: Final = (".ResourceId", ".ScalableDimension", ".MinCapacity", ".MaxCapacity")
"""Of a scalable target: without these, its resource or bounds are unknown."""


def _read_resource(
    template: Template, name: str, resource: Mapping[str, Any], notes: list[str]
) -> Iterator[tuple[SourceTable, Sides]]:
    """Yield a resource's table with its own scaling; yield nothing and add a note if it is unusable."""
    properties = template.resolved(resource.get("Properties") or {}, name)
    whole, unknown, wrong = checked_properties(properties, name)
    unresolved = [*template.take_open(), *unknown]
    if wrong:
        notes += [*wrong, *unresolved]
        return
    if "TableName" in properties:
        unresolved += check_name(f"{name}: its TableName", properties["TableName"])
    description = _table(name, str(resource["Type"]), whole)
    for table in accept_table(name, description, notes, unresolved):
        yield table, dict(_own_scaling(description))


def _table(name: str, kind: str, properties: dict[str, Any]) -> dict[str, Any]:
    properties.setdefault("TableName", name)
    if kind == SIMPLE:
        key = properties.get("PrimaryKey") or {"Name": "id", "Type": "String"}
        properties |= {
            "KeySchema": [{"AttributeName": key["Name"], "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": key["Name"], "AttributeType": key["Type"][0]}],
        }
        if "ProvisionedThroughput" not in properties:
            properties["BillingMode"] = "PAY_PER_REQUEST"
    if kind == GLOBAL:
        _convert_global_table(properties)
    if stream := properties.get("StreamSpecification"):
        properties["StreamSpecification"] = {"StreamEnabled": True, **stream}
    return as_description(properties)


def _convert_global_table(properties: dict[str, Any]) -> None:
    """Describe a global table as its first Region sees it, with the others as replicas.

    A template states writes for all Regions, and reads for each.
    """
    first, *others = properties.get("Replicas") or [{}]
    here = {index.get("IndexName"): index for index in first.get("GlobalSecondaryIndexes") or ()}
    _set_capacity(properties, first)
    for index in properties.get("GlobalSecondaryIndexes") or ():
        _set_capacity(index, here.get(index.get("IndexName"), {}))
    properties |= {name: first[name] for name in OF_A_REPLICA if name in first}
    properties["Replicas"] = [
        {
            "RegionName": replica["Region"],
            **{name: replica[name] for name in replica if replica[name] != first.get(name)},
        }
        for replica in others
        if "Region" in replica
    ]
    if others and isinstance(region := first.get("Region"), str):
        properties["TableArn"] = f"arn:aws:dynamodb:{region}:000000000000:table/{properties.get('TableName')}"


OF_A_REPLICA: Final = (
    "TableClass", "PointInTimeRecoverySpecification", "KinesisStreamSpecification",
    "ContributorInsightsSpecification",
)  # fmt: skip
"""Properties that a global table states per Region, and a table for itself."""


def _set_capacity(owner: dict[str, Any], replica: Mapping[str, Any]) -> None:
    """Set the capacity of a table or index in a replica's Region."""
    stated = {**owner, **replica}
    scaled, units, most = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for side in ENDS:
        settings = stated.get(f"{side}ProvisionedThroughputSettings") or {}
        if scaling := settings.get(f"{side}CapacityAutoScalingSettings"):
            scaled[side.lower()] = scaling
            units[f"{side}CapacityUnits"] = scaling.get("SeedCapacity", scaling.get("MinCapacity"))
        if count := settings.get(f"{side}CapacityUnits"):
            units[f"{side}CapacityUnits"] = count
        maxima = stated.get(f"{side}OnDemandThroughputSettings") or {}
        if count := maxima.get(f"Max{side}RequestUnits"):
            most[f"Max{side}RequestUnits"] = count
    owner["Scaling"] = scaled
    owner |= {"ProvisionedThroughput": units} if units else {}
    owner |= {"OnDemandThroughput": most} if most else {}


ENDS: Final = ("Read", "Write")


def _own_scaling(table: Mapping[str, Any]) -> Iterator[tuple[Side, tuple[Any, Any]]]:
    """Bounds and policies in a global table's own settings."""
    indexes = table["GlobalSecondaryIndexes"]
    for index, owner in [(None, table), *((index["IndexName"], index) for index in indexes)]:
        for side, settings in (owner.get("Scaling") or {}).items():
            yield (index, side), (bounds_of(settings), parse_policy(settings.get(TRACKING) or {}))


def _policies(
    template: Template, targets: Mapping[str, Mapping[str, Any]], notes: list[str]
) -> Iterator[dict[str, Any]]:
    """Each policy with the resource and dimension of itself or of its target."""
    for name, properties in template.of_type(POLICY):
        target = properties.get("ScalingTargetId")
        named = targets.get(str(target.get("Ref"))) if isinstance(target, Mapping) else None
        policy = template.resolved(properties, name)
        scaled = policy if named is None else named
        if isinstance(target, str):  # of an existing target: resource, dimension and service
            scaled = dict(zip(("ResourceId", "ScalableDimension"), target.split("|"), strict=False))
        policy |= {key: scaled.get(key) for key in ("ResourceId", "ScalableDimension")}
        unknown = [line for line in template.take_open() if f".{TRACKING}." in line]
        notes += unknown if scaled_side(policy) else []
        yield policy | ({TRACKING: policy.get(TRACKING)} if TRACKING in properties else {})
