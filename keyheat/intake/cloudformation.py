"""Tables of a CloudFormation, SAM or synthesized CDK template, with functions as far as they are literal.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from keyheat.intake.description import table_of
from keyheat.intake.tables import SCALED, SIDES, Source, SourceTable, described, lacks, left_out, tracked

TABLE, GLOBAL, SIMPLE = "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable", "AWS::Serverless::SimpleTable"
SCALABLE, POLICY = (
    "AWS::ApplicationAutoScaling::ScalableTarget", "AWS::ApplicationAutoScaling::ScalingPolicy"
)  # fmt: skip
VARIABLE: Final = re.compile(r"\$\{([^!}][^}]*)\}")


MALFORMED: Final = (
    AttributeError, IndexError, KeyError, RecursionError, TypeError, UnicodeError, ValueError,
)  # fmt: skip
"""What comes of a resource that is not written as its format asks for: it is not taken, and named."""


class _Open(Exception):
    """An intrinsic function of which nobody can say here what it gives."""


class Template:
    """A template with its parameters at their defaults."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.resources: Mapping[str, Any] = raw.get("Resources") or {}
        self._parameters = raw.get("Parameters") or {}
        self._conditions = raw.get("Conditions") or {}
        self._mappings = raw.get("Mappings") or {}
        self.open: list[str] = []  # where a function could not be resolved

    def resolved(self, value: Any, path: str) -> Any:
        """The value with its functions carried out; what cannot be is left out, and noted with its path."""
        if isinstance(value, Mapping):
            if len(value) == 1 and (name := next(iter(value))) in FUNCTIONS:
                try:
                    return self._called(name, value[name])
                except (*MALFORMED, _Open):
                    self.open.append(f"{path}: {name} of {_short(value[name])} is not known here")
                    return None
            found = {key: self.resolved(one, f"{path}.{key}") for key, one in value.items()}
            return {key: one for key, one in found.items() if one is not None}
        if isinstance(value, list):
            listed = [self.resolved(one, f"{path}[{number}]") for number, one in enumerate(value)]
            return [one for one in listed if one is not None]
        return value

    def makes(self, resource: Mapping[str, Any]) -> bool:
        """Whether a resource is made: its condition holds, or it has none."""
        if "Condition" not in resource:
            return True
        try:
            return self._holds(self._conditions.get(resource["Condition"]))
        except (*MALFORMED, _Open):
            return False

    def _called(self, name: str, argument: Any) -> Any:
        if name == "Ref":
            return self._parameter(str(argument))
        if name == "Fn::Sub":
            return self._substituted(argument)
        if name == "Fn::Join":
            separator, parts = argument
            return str(separator).join(str(self._literal(part)) for part in self._literal(parts))
        if name == "Fn::If":
            condition, yes, no = argument
            return self._literal(yes if self._holds(self._conditions.get(condition)) else no)
        if name == "Fn::FindInMap":
            first, second, third = (self._literal(part) for part in argument[:3])
            try:
                return self._mappings[first][second][third]
            except (KeyError, TypeError) as error:
                raise _Open from error
        raise _Open

    def _literal(self, value: Any) -> Any:
        """A value without functions. Raises `_Open`."""
        if isinstance(value, Mapping) and len(value) == 1 and (name := next(iter(value))) in FUNCTIONS:
            return self._called(name, value[name])
        if isinstance(value, Mapping):
            return {key: self._literal(one) for key, one in value.items()}
        return [self._literal(one) for one in value] if isinstance(value, list) else value

    def _parameter(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return None
        parameter = self._parameters.get(name)
        if isinstance(parameter, Mapping) and "Default" in parameter:
            default = parameter["Default"]
            return _number(default) if parameter.get("Type") == "Number" else default
        resource = self.resources.get(name)
        if isinstance(resource, Mapping) and resource.get("Type") in (TABLE, GLOBAL, SIMPLE):
            named = (resource.get("Properties") or {}).get("TableName")
            return name if named is None else self._literal(named)
        raise _Open

    def _substituted(self, argument: Any) -> str:
        text, given = argument if isinstance(argument, list) else (argument, {})
        return VARIABLE.sub(
            lambda found: str(
                self._literal(given[found[1]]) if found[1] in given else self._parameter(found[1])
            ),
            str(text),
        )

    def _holds(self, condition: Any) -> bool:
        if not isinstance(condition, Mapping) or len(condition) != 1:
            raise _Open
        name, argument = next(iter(condition.items()))
        if name == "Fn::Equals":
            left, right = (self._literal(part) for part in argument)
            return bool(left == right)
        if name == "Fn::Not":
            return not self._holds(argument[0])
        if name in ("Fn::And", "Fn::Or"):
            return (all if name == "Fn::And" else any)(self._holds(part) for part in argument)
        if name == "Condition":
            return self._holds(self._conditions.get(argument))
        raise _Open


KNOWN: Final = (
    "Sub Join If FindInMap GetAtt ImportValue Select Split Base64 GetAZs Transform Cidr Length ToJsonString"
)
FUNCTIONS: Final = frozenset({"Ref", "Condition", *(f"Fn::{name}" for name in KNOWN.split())})


def is_template(raw: Mapping[str, Any]) -> bool:
    """Whether it is a template: what it makes is under `Resources`, each with a type."""
    resources = raw.get("Resources")
    return isinstance(resources, Mapping) and any(
        isinstance(one, Mapping) and "Type" in one for one in resources.values()
    )


def read_template(raw: Mapping[str, Any]) -> Source:
    """The tables of a template, with their scaling."""
    template, tables, notes = Template(raw), list[SourceTable](), list[str]()
    targets = {
        name: template.resolved(one.get("Properties") or {}, name)
        for name, one in template.resources.items()
        if isinstance(one, Mapping) and one.get("Type") == SCALABLE
    }
    notes += [line for line in template.open if line.partition(":")[0].endswith(NEEDED)]
    template.open.clear()
    rates = dict(_policies(template))
    template.open.clear()
    for name, resource in template.resources.items():
        kind = resource.get("Type") if isinstance(resource, Mapping) else None
        if kind not in (TABLE, GLOBAL, SIMPLE):
            if str(kind).startswith("AWS::DynamoDB") or str(name).startswith("Fn::"):
                notes.append(f"{name}: {f'a resource of type {kind}' if kind else 'it'} is not read")
        elif not template.makes(resource):
            notes.append(f"{name}: its condition {resource['Condition']} does not hold, or is not known here")
        else:
            try:
                tables += _taken(template, name, resource, targets, rates, notes)
            except MALFORMED as error:
                template.open.clear()
                notes.append(f"{name}: it is not written as a {kind} is ({type(error).__name__}: {error})")
    return Source("a CloudFormation template", tuple(tables), tuple(notes))


NEEDED: Final = (".ResourceId", ".ScalableDimension", ".MinCapacity", ".MaxCapacity")
"""Of a scalable target: without these nobody knows what is scaled, or how far."""


def _taken(
    template: Template,
    name: str,
    resource: Mapping[str, Any],
    targets: Mapping[str, dict[str, Any]],
    rates: Mapping[str, dict[str, float]],
    notes: list[str],
) -> Iterator[SourceTable]:
    """The table of a resource; nothing where it lacks what every table has, which is noted."""
    found = _table(name, str(resource["Type"]), template.resolved(resource.get("Properties") or {}, name))
    said = tuple(template.open)
    template.open.clear()
    if wrong := [f"{name}: {one}" for one in lacks(found)]:
        notes += [*wrong, *said]
        return
    scaling = {**_own_scaling(found), **_scaling(found, targets, rates)}
    table_of(found)  # raises where it is not written as a table is
    yield SourceTable(found, scaling, (*said, *left_out(found)))


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
        _as_table(properties)
    if stream := properties.get("StreamSpecification"):
        properties["StreamSpecification"] = {"StreamEnabled": True, **stream}
    return described(properties)


def _as_table(properties: dict[str, Any]) -> None:
    """A global table: writes are said for all Regions, reads for each; the first Region's are taken.

    It is described as that Region would: the others are its replicas.
    """
    replicas = properties.get("Replicas") or [{}]
    here = {one["IndexName"]: one for one in replicas[0].get("GlobalSecondaryIndexes") or ()}
    owners = [(properties, replicas[0])]
    owners += [
        (one, here.get(one["IndexName"], {})) for one in properties.get("GlobalSecondaryIndexes") or ()
    ]
    for owner, replica in owners:
        writes = (owner.pop("WriteProvisionedThroughputSettings", None) or {}).get(
            "WriteCapacityAutoScalingSettings"
        )
        reads = replica.get("ReadProvisionedThroughputSettings") or {}
        scaled = {
            "WriteCapacityUnits": writes,
            "ReadCapacityUnits": reads.get("ReadCapacityAutoScalingSettings"),
        }
        owner["Scaling"] = {SIDES[side]: one for side, one in scaled.items() if one}
        units = {
            side: one["SeedCapacity" if "SeedCapacity" in one else "MinCapacity"]
            for side, one in scaled.items()
            if one
        }
        if "ReadCapacityUnits" in reads:
            units["ReadCapacityUnits"] = reads["ReadCapacityUnits"]
        if units:
            owner["ProvisionedThroughput"] = units
    properties["Replicas"] = [{"RegionName": one.get("Region")} for one in replicas[1:]]
    if len(replicas) > 1 and isinstance(region := replicas[0].get("Region"), str):
        properties["TableArn"] = f"arn:aws:dynamodb:{region}:000000000000:table/{properties.get('TableName')}"


def _own_scaling(found: Mapping[str, Any]) -> dict[tuple[str | None, str], dict[str, float]]:
    """The scaling that a global table states itself."""
    owners = [(None, found), *((one["IndexName"], one) for one in found["GlobalSecondaryIndexes"])]
    return {
        (index, side): {
            "min": float(one["MinCapacity"]),
            "max": float(one["MaxCapacity"]),
            **tracked(one.get("TargetTrackingScalingPolicyConfiguration") or {}),
        }
        for index, owner in owners
        for side, one in (owner.get("Scaling") or {}).items()
    }


def _policies(template: Template) -> Iterator[tuple[str, dict[str, float]]]:
    """What each policy says, by the logical id of what it scales."""
    for one in template.resources.values():
        if isinstance(one, Mapping) and one.get("Type") == POLICY:
            properties = one.get("Properties") or {}
            scaled = properties.get("ScalingTargetId") or {}
            tracking = template.resolved(properties.get("TargetTrackingScalingPolicyConfiguration") or {}, "")
            if isinstance(scaled, Mapping) and "Ref" in scaled:
                yield str(scaled["Ref"]), tracked(tracking)


def _scaling(
    found: Mapping[str, Any], targets: Mapping[str, dict[str, Any]], rates: Mapping[str, dict[str, float]]
) -> dict[tuple[str | None, str], dict[str, float]]:
    """The scalable targets that name the table or one of its indexes."""
    scaling: dict[tuple[str | None, str], dict[str, float]] = {}
    for name, one in targets.items():
        named = SCALED.fullmatch(str(one.get("ResourceId", "")))
        side = SIDES.get(str(one.get("ScalableDimension", "")).rpartition(":")[2])
        if (
            named
            and named[1] == found["TableName"]
            and side
            and "MinCapacity" in one
            and "MaxCapacity" in one
        ):
            bounds = {"min": float(one["MinCapacity"]), "max": float(one["MaxCapacity"])}
            scaling[named[2], side] = bounds | rates.get(name, {})
    return scaling


def _number(text: object) -> float | int:
    number = float(str(text))
    return int(number) if number.is_integer() else number


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
