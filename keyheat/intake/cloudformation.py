"""Tables of a CloudFormation, SAM or synthesized CDK template, with functions as far as they are literal.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from keyheat.intake.tables import SCALED, SIDES, Source, SourceTable, described, lacks, left_out

TABLE, GLOBAL, SIMPLE = "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable", "AWS::Serverless::SimpleTable"
SCALABLE, POLICY = (
    "AWS::ApplicationAutoScaling::ScalableTarget", "AWS::ApplicationAutoScaling::ScalingPolicy"
)  # fmt: skip
VARIABLE: Final = re.compile(r"\$\{([^!}][^}]*)\}")


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
                except _Open:
                    self.open.append(f"{path}: {name} of {_short(value[name])} is not known here")
                    return None
            found = {key: self.resolved(one, f"{path}.{key}") for key, one in value.items()}
            return {key: one for key, one in found.items() if one is not None}
        if isinstance(value, list):
            listed = [self.resolved(one, f"{path}[{number}]") for number, one in enumerate(value)]
            return [one for one in listed if one is not None]
        return value

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
            first, second, third = (self._literal(part) for part in argument)
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
            return float(default) if parameter.get("Type") == "Number" else default
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
    template, tables, notes = Template(raw), [], list[str]()
    targets = {
        name: template.resolved(one.get("Properties") or {}, name)
        for name, one in template.resources.items()
        if one.get("Type") == SCALABLE
    }
    template.open.clear()  # of scaling: what is not known of it is said with the table
    rates = dict(_policies(template))
    template.open.clear()
    for name, resource in template.resources.items():
        kind = resource.get("Type")
        if kind not in (TABLE, GLOBAL, SIMPLE):
            if str(kind).startswith("AWS::DynamoDB"):
                notes.append(f"{name}: a resource of type {kind} is not read")
            continue
        found = _table(name, kind, template.resolved(resource.get("Properties") or {}, name))
        said = tuple(template.open)
        template.open.clear()
        if wrong := [f"{name}: {one}" for one in lacks(found)]:
            notes += [*wrong, *said]
            continue
        scaling = {**_own_scaling(found), **_scaling(found, targets, rates)}
        tables.append(SourceTable(found, scaling, (*said, *left_out(found))))
    return Source("a CloudFormation template", tuple(tables), tuple(notes))


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
    """A global table: writes are said for all Regions, reads for each; the first Region's are taken."""
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
    properties["Replicas"] = replicas[1:]


def _own_scaling(found: Mapping[str, Any]) -> dict[tuple[str | None, str], dict[str, float]]:
    """The scaling that a global table states itself."""
    owners = [(None, found), *((one["IndexName"], one) for one in found["GlobalSecondaryIndexes"])]
    return {
        (index, side): {
            "min": float(one["MinCapacity"]),
            "max": float(one["MaxCapacity"]),
            **_target(one.get("TargetTrackingScalingPolicyConfiguration") or {}),
        }
        for index, owner in owners
        for side, one in (owner.get("Scaling") or {}).items()
    }


def _target(policy: Mapping[str, Any]) -> dict[str, float]:
    return {"target": float(policy["TargetValue"]) / 100} if "TargetValue" in policy else {}


def _policies(template: Template) -> Iterator[tuple[str, dict[str, float]]]:
    """The target of each policy, by the logical id of what it scales."""
    for one in template.resources.values():
        if one.get("Type") == POLICY:
            properties = one.get("Properties") or {}
            scaled = properties.get("ScalingTargetId") or {}
            tracking = template.resolved(properties.get("TargetTrackingScalingPolicyConfiguration") or {}, "")
            if isinstance(scaled, Mapping) and "Ref" in scaled:
                yield str(scaled["Ref"]), _target(tracking)


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


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
