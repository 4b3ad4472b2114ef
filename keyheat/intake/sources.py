"""Read tables from files of any format, detected by content, and from models of NoSQL Workbench.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/workbench.Modeler.ImportExisting.html
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from keyheat.inputs import MOST_DEPTH, NotAccepted, parsed_json, text_of
from keyheat.intake.cloudformation import MALFORMED, read_template
from keyheat.intake.description import check_name, checked_properties
from keyheat.intake.scaling import SIDES, TRACKING, Side, bounds_of, parse_policy
from keyheat.intake.tables import (
    NotTaken,
    Source,
    SourceTable,
    accept_table,
    as_description,
    attributes_of,
    printable_line,
)
from keyheat.intake.terraform import read_terraform
from keyheat.validation import table_in

OF_A_TABLE: Final = {"KeySchema", "GlobalTableSourceArn"}
"""Properties of a CreateTable request besides its name."""
FORMATS: Final = (
    "output of `aws dynamodb describe-table` or `create-table`, JSON input of the latter, a CloudFormation, "
    "SAM or CDK template (JSON or YAML), `terraform show -json` output of a plan or a state, or a NoSQL "
    "Workbench model"
)
SERVERLESS: Final = (
    "a Serverless Framework file has variables: run `serverless package`, then use the template that it "
    "writes, .serverless/cloudformation-template-update-stack.json"
)

TOO_DEEP: Final = "too deep: brackets, indentation, or an alias within itself"
MOST_VALUES: Final = 200_000  # of YAML with aliases expanded: a megabyte without aliases has fewer
NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
MOST_DIGITS: Final = 1_000


def read_source(path: Path) -> Source:
    """Read the tables of a file. Raises `NotTaken` with every reason."""
    try:
        raw = _parse(text_of(path))
    except (OSError, NotAccepted) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise NotTaken(f"{path}: {reason or error}") from error
    if raw is None:
        raise NotTaken(f"{path}: an empty file; accepted: {FORMATS}")
    if not isinstance(raw, Mapping):
        raise NotTaken(f"{path}: unknown format; accepted: {FORMATS}")
    try:
        source = _detect(raw)
    except MALFORMED as error:
        raise NotTaken(f"{path}: malformed content") from error
    if source is None:
        serverless = {"service", "provider"} <= raw.keys()
        raise NotTaken(f"{path}: {SERVERLESS if serverless else f'unknown format; accepted: {FORMATS}'}")
    if not source.tables:
        why = "".join(f"\n  {note}" for note in (*source.notes, *source.others)) or "\n  no table"
        raise NotTaken(f"{path}: {source.format} without a usable table:{why}")
    return source


def source_of(description: Mapping[str, Any]) -> Source:
    """Read one table from a DescribeTable response."""
    name = printable_line(str(description.get("TableName")))
    whole, problems, notes = checked_properties(description, name)
    problems += check_name(f"{name}: its TableName", description.get("TableName"))
    tables = () if notes else tuple(accept_table(name, whole, notes, problems))
    described = description.keys() & {"TableStatus", "TableArn", "CreationDateTime"}
    format_ = "a DescribeTable response" if described else "a CreateTable request"
    return Source(format_, tables, others=tuple(notes))


def _detect(raw: Mapping[str, Any]) -> Source | None:
    table, resources = table_in(raw), raw.get("Resources")
    if (
        isinstance(table, Mapping)
        and "TableName" in table
        and (table is not raw or OF_A_TABLE & table.keys())
    ):
        return source_of(table)
    if isinstance(resources, Mapping) and any(
        isinstance(resource, Mapping) and "Type" in resource for resource in resources.values()
    ):
        return read_template(raw)
    if "terraform_version" in raw and ("planned_values" in raw or "values" in raw):
        return read_terraform(raw)
    return read_model(raw) if isinstance(raw.get("DataModel"), list) else None


def _parse(text: str) -> Any:
    """Parse JSON, or YAML with CloudFormation's short forms. Raises `NotAccepted`."""
    if text.lstrip().startswith(("{", "[")):
        return parsed_json(text.encode())
    import yaml  # only templates are YAML

    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is many times faster

    class Loader(safe):  # type: ignore[misc]
        """YAML in which `!Sub x` is `{"Fn::Sub": x}`."""

    def function(loader: Any, suffix: str, node: yaml.Node) -> dict[str, Any]:
        name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
        if isinstance(node, yaml.ScalarNode):
            return {name: loader.construct_scalar(node)}
        if isinstance(node, yaml.SequenceNode):
            return {name: loader.construct_sequence(node, deep=True)}
        assert isinstance(node, yaml.MappingNode)
        return {name: loader.construct_mapping(node, deep=True)}

    Loader.add_multi_constructor("!", function)
    try:
        _check_depth(yaml.parse(text, Loader=safe))
        loader = Loader(text)
        node = loader.get_single_node()
        if node is not None and _count_values(node, {}) > MOST_VALUES:
            raise NotAccepted(f"its aliases expand to more than {MOST_VALUES:,} values")
        content = None if node is None else loader.construct_document(node)
        # Dates as text; an escape may be a character that UTF-8 lacks.
        return json.loads(json.dumps(content, default=str, ensure_ascii=False).encode())
    except NotAccepted:
        raise
    except RecursionError as error:
        raise NotAccepted(TOO_DEEP) from error
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise NotAccepted(f"neither JSON nor YAML: {' '.join(str(error).split())}") from error


def _check_depth(events: Iterable[Any]) -> None:
    """Limit the depth, as libyaml's stack has no guard. Raises `NotAccepted`."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        if depth > MOST_DEPTH:
            raise NotAccepted(TOO_DEEP)


def _count_values(node: Any, counts: dict[int, int]) -> int:
    """Number of values in a YAML node. Raises `RecursionError` if it contains itself."""
    if not isinstance(node.value, list):
        if node.tag in NUMBERS and len(node.value) > MOST_DIGITS:  # base 60 takes quadratic time
            raise NotAccepted(f"a number of {len(node.value):,} digits; at most {MOST_DIGITS:,} are accepted")
        return 1
    if id(node) not in counts:
        parts = (
            member for child in node.value for member in (child if isinstance(child, tuple) else (child,))
        )
        counts[id(node)] = 1 + sum(_count_values(member, counts) for member in parts)
    return counts[id(node)]


def read_model(raw: Mapping[str, Any]) -> Source:
    """Read the tables of a model of NoSQL Workbench, with capacity and scaling; indexes have neither."""
    tables, notes = list[SourceTable](), list[str]()
    for model in raw["DataModel"]:
        settings = model.get("ProvisionedCapacitySettings") or {}
        stated, units = settings.get("ProvisionedThroughput") or {}, dict[str, Any]()
        sides = dict[Side, tuple[Any, Any]]()
        for name, side in SIDES.items():
            scaled = settings.get(f"AutoScaling{side.title()}") or {}
            target = scaled.get("ScalableTargetRequest") or {}
            if count := stated.get(name) or target.get("MinCapacity"):
                units[name] = count
            request = scaled.get("ScalingPolicyRequest") or {}
            tracking = scaled.get("ScalingPolicyConfiguration") or request.get(TRACKING)
            if target:
                sides[None, side] = bounds_of(target), parse_policy(tracking) if tracking else None
        provisioned, types = model.get("BillingMode") == "PROVISIONED", dict[str, str]()
        indexes = [
            {
                "IndexName": index["IndexName"],
                "KeySchema": _keys(index, types),
                "Projection": index.get("Projection") or {"ProjectionType": "ALL"},
            }
            for index in model.get("GlobalSecondaryIndexes") or ()
        ]
        description = as_description(
            {
                "TableName": model.get("TableName"),
                "BillingMode": "PROVISIONED" if provisioned else "PAY_PER_REQUEST",
                "KeySchema": _keys(model, types),
                "ProvisionedThroughput": units if provisioned else None,
                "GlobalSecondaryIndexes": indexes,
                "AttributeDefinitions": attributes_of(types),
            }
        )
        for table in accept_table(str(model.get("TableName")), description, notes):
            tables.append(table.scaled_by(sides) if provisioned else table)
    return Source("a model of NoSQL Workbench", tuple(tables), others=tuple(notes))


def _keys(owner: Mapping[str, Any], types: dict[str, str]) -> list[dict[str, str]]:
    """The KeySchema of a table or index; adds the types of its attributes."""
    named = owner.get("KeyAttributes") or {}
    types |= {key["AttributeName"]: key["AttributeType"] for key in named.values()}
    kinds = (("PartitionKey", "HASH"), ("SortKey", "RANGE"))
    return [
        {"AttributeName": named[key]["AttributeName"], "KeyType": kind} for key, kind in kinds if key in named
    ]
