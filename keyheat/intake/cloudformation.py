"""Tables of a CloudFormation, SAM or synthesized CDK template, with functions as far as they are literal.

https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-dynamodb-table.html
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from keyheat.intake.faults import ill_named
from keyheat.intake.scaling import Scaling, Side, bounds_of, scaled_side, tracked
from keyheat.intake.tables import Source, SourceTable, described, taken
from keyheat.intake.vocabulary import as_number, misshapen, misspelt, with_numbers

TABLE, GLOBAL, SIMPLE = "AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable", "AWS::Serverless::SimpleTable"
SCALABLE, POLICY = (
    "AWS::ApplicationAutoScaling::ScalableTarget", "AWS::ApplicationAutoScaling::ScalingPolicy"
)  # fmt: skip
TRACKING: Final = "TargetTrackingScalingPolicyConfiguration"
Scaled = tuple[str, ...]
"""What is scaled, in the template's words: ResourceId and ScalableDimension."""
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

    def said(self) -> list[str]:
        """Where a function could not be resolved since this was asked last."""
        said, self.open = self.open, []
        return said

    def of_type(self, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The resources of a type that are made: logical id and properties."""
        for name, one in self.resources.items():
            if isinstance(one, Mapping) and one.get("Type") == kind and self.makes(one):
                properties = one.get("Properties")
                yield name, properties if isinstance(properties, Mapping) else {}

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
            return as_number(default) if parameter.get("Type") == "Number" else default
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
    targets = {name: template.resolved(properties, name) for name, properties in template.of_type(SCALABLE)}
    notes += [line for line in template.said() if line.partition(":")[0].endswith(NEEDED)]
    policies = dict(_policies(template, targets, notes))
    notes += [
        f"{name}.ScheduledActions: they are not played"
        for name, one in targets.items()
        if one.get("ScheduledActions") and scaled_side(*_scaled(one))
    ]
    for name, resource in template.resources.items():
        kind = resource.get("Type") if isinstance(resource, Mapping) else None
        if kind not in (TABLE, GLOBAL, SIMPLE):
            if str(kind).startswith("AWS::DynamoDB") or str(name).startswith("Fn::"):
                notes.append(f"{name}: {f'a resource of type {kind}' if kind else 'it'} is not read")
        elif not template.makes(resource):
            notes.append(f"{name}: its condition {resource['Condition']} does not hold, or is not known here")
        else:
            try:
                for table in _taken(template, name, resource, notes):
                    tables.append(table.scaled_by(*_scaling(table, targets, policies)))
            except MALFORMED:
                template.said()
                notes.append(f"{name}: it is not written as a resource of type {kind} is")
    return Source("a CloudFormation template", tuple(tables), tuple(notes))


NEEDED: Final = (".ResourceId", ".ScalableDimension", ".MinCapacity", ".MaxCapacity")
"""Of a scalable target: without these nobody knows what is scaled, or how far."""


def _taken(
    template: Template, name: str, resource: Mapping[str, Any], notes: list[str]
) -> Iterator[SourceTable]:
    """The table of a resource; nothing where it cannot be taken, which is noted."""
    properties = template.resolved(resource.get("Properties") or {}, name)
    said = [*template.said(), *misspelt(properties, name)]
    if wrong := list(misshapen(properties, name)):
        notes += [*wrong, *said]
        return
    if "TableName" in properties:
        said += ill_named(f"{name}: its TableName", properties["TableName"])
    yield from taken(name, _table(name, str(resource["Type"]), with_numbers(properties)), notes, said)


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
    first, *others = properties.get("Replicas") or [{}]
    here = {one.get("IndexName"): one for one in first.get("GlobalSecondaryIndexes") or ()}
    _with_capacity(properties, first)
    for index in properties.get("GlobalSecondaryIndexes") or ():
        _with_capacity(index, here.get(index.get("IndexName"), {}))
    properties |= {name: first[name] for name in OF_A_REPLICA if name in first}
    properties["Replicas"] = [{"RegionName": one["Region"], **one} for one in others if "Region" in one]
    if others and isinstance(region := first.get("Region"), str):
        properties["TableArn"] = f"arn:aws:dynamodb:{region}:000000000000:table/{properties.get('TableName')}"


OF_A_REPLICA: Final = (
    "TableClass", "PointInTimeRecoverySpecification", "KinesisStreamSpecification",
    "ContributorInsightsSpecification",
)  # fmt: skip
"""What a global table says for each Region, and a table for itself."""


def _with_capacity(owner: dict[str, Any], replica: Mapping[str, Any]) -> None:
    """The capacity of a table or an index as it is in the Region of a replica."""
    stated = {**owner, **replica}
    said = {side: stated.get(f"{side}ProvisionedThroughputSettings") or {} for side in ENDS}
    maxima = {side: stated.get(f"{side}OnDemandThroughputSettings") or {} for side in ENDS}
    scaled = {side: one for side in ENDS if (one := said[side].get(f"{side}CapacityAutoScalingSettings"))}
    units = {
        f"{side}CapacityUnits": one.get("SeedCapacity", one.get("MinCapacity"))
        for side, one in scaled.items()
    }
    units |= {name: one for side in ENDS if (one := said[side].get(name := f"{side}CapacityUnits"))}
    most = {name: one for side in ENDS if (one := maxima[side].get(name := f"Max{side}RequestUnits"))}
    owner["Scaling"] = {side.lower(): one for side, one in scaled.items()}
    owner |= {"ProvisionedThroughput": units} if units else {}
    owner |= {"OnDemandThroughput": most} if most else {}


ENDS: Final = ("Read", "Write")


def _scaling(
    table: SourceTable, targets: Mapping[str, Mapping[str, Any]], policies: Mapping[Scaled, dict[str, float]]
) -> tuple[Scaling, Scaling]:
    """Bounds and policies of what scales a table: what it states itself, and the targets that name it."""
    bounds: dict[Side, dict[str, float]] = {}
    rules: dict[Side, dict[str, float]] = {}
    owners = [(None, table.description), *((one["IndexName"], one) for one in _indexes(table))]
    for index, owner in owners:
        for side, one in (owner.get("Scaling") or {}).items():
            bounds[index, side] = bounds_of(one.get("MinCapacity"), one.get("MaxCapacity"))
            rules[index, side] = tracked(one.get("TargetTrackingScalingPolicyConfiguration") or {})
    for one in targets.values():
        scaled = _scaled(one)
        match scaled_side(*scaled):
            case table.name, part if "MinCapacity" in one and "MaxCapacity" in one:
                bounds[part] = bounds_of(one["MinCapacity"], one["MaxCapacity"])
                rules |= {part: policies[scaled]} if scaled in policies else {}
    return bounds, rules


def _scaled(properties: Mapping[str, Any]) -> Scaled:
    return str(properties.get("ResourceId")), str(properties.get("ScalableDimension"))


def _indexes(table: SourceTable) -> Iterable[Mapping[str, Any]]:
    found: Iterable[Mapping[str, Any]] = table.description["GlobalSecondaryIndexes"]
    return found


def _policies(
    template: Template, targets: Mapping[str, Mapping[str, Any]], notes: list[str]
) -> Iterator[tuple[Scaled, dict[str, float]]]:
    """What each target tracking policy says, by what it scales: its own words, or those of its target."""
    for name, properties in template.of_type(POLICY):
        target = properties.get("ScalingTargetId")
        named = targets.get(str(target.get("Ref"))) if isinstance(target, Mapping) else None
        found = template.resolved(properties, name)
        scaled = _scaled(found if named is None else named)
        if isinstance(target, str):  # of one that is there: its resource, dimension and service
            scaled = (*target.split("|"), "")[:2]
        unknown = [line for line in template.said() if f".{TRACKING}." in line]
        notes += unknown if scaled_side(*scaled) else []
        if TRACKING in properties:
            yield scaled, tracked(found.get(TRACKING) or {})


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
