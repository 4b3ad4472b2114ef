"""Files that tables are described in, told apart by what they say and not by their names."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from keyheat.bounds import MOST_DEPTH, NotAccepted, parsed_json, text_of
from keyheat.intake.cloudformation import MALFORMED, is_template, read_template
from keyheat.intake.faults import ill_named
from keyheat.intake.tables import NotTaken, Source, in_a_line, taken
from keyheat.intake.terraform import is_terraform, read_terraform
from keyheat.intake.vocabulary import misshapen, misspelt, with_numbers
from keyheat.intake.workbench import is_model, read_model
from keyheat.validation import table_in

OF_A_TABLE: Final = {"KeySchema", "GlobalTableSourceArn"}
"""What a CreateTable request has, beside a name."""
FORMATS: Final = (
    "what `aws dynamodb describe-table` or `create-table` printed, or what the latter takes as JSON, a "
    "CloudFormation, SAM or CDK template (JSON or YAML), what `terraform show -json` printed of a plan or a "
    "state, or a model that NoSQL Workbench exported"
)
SERVERLESS: Final = (
    "the Serverless Framework fills in this file: run `serverless package`, then take the template that it "
    "writes, .serverless/cloudformation-template-update-stack.json"
)


def read_source(path: Path) -> Source:
    """The tables of a file. Raises `NotTaken` where it has none that can be read, with every reason."""
    try:
        raw = _parsed(text_of(path))
    except (OSError, NotAccepted) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise NotTaken(f"{path}: {reason or error}") from error
    if not isinstance(raw, Mapping):
        raise NotTaken(f"{path}: this is none of these: {FORMATS}")
    try:
        found = _recognised(raw)
    except MALFORMED as error:
        raise NotTaken(f"{path}: it is not written as its format asks for") from error
    if found is None:
        serverless = {"service", "provider"} <= raw.keys()
        raise NotTaken(f"{path}: {SERVERLESS if serverless else f'this is none of these: {FORMATS}'}")
    if not found.tables:
        why = "".join(f"\n  {note}" for note in found.notes) or "\n  it has no table"
        raise NotTaken(f"{path}: {found.format}, and no table of it can be taken:{why}")
    return found


def source_of(description: Mapping[str, Any]) -> Source:
    """One table as DescribeTable answers it."""
    name = in_a_line(str(description.get("TableName")))
    notes = list(misshapen(description, name))
    said = [*misspelt(description, name), *ill_named(f"{name}: its TableName", description.get("TableName"))]
    tables = () if notes else tuple(taken(name, with_numbers(description), notes, said))
    return Source("what DescribeTable answers", tables, tuple(notes))


def _recognised(raw: Mapping[str, Any]) -> Source | None:
    table = table_in(raw)
    if (
        isinstance(table, Mapping)
        and "TableName" in table
        and (table is not raw or OF_A_TABLE & table.keys())
    ):
        return source_of(table)
    if is_template(raw):
        return read_template(raw)
    if is_terraform(raw):
        return read_terraform(raw)
    return read_model(raw) if is_model(raw) else None


def _parsed(text: str) -> Any:
    """JSON, or else YAML with CloudFormation's short forms. Raises `NotAccepted`."""
    if text.lstrip().startswith(("{", "[")):
        return parsed_json(text.encode())
    import yaml  # only templates are YAML

    safe: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's is many times faster

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
        if node is not None and _values(node, {}) > MOST_VALUES:
            raise NotAccepted(f"its aliases stand for more than {MOST_VALUES:,} values, which are not read")
        found = None if node is None else loader.construct_document(node)
        # Dates and the like as text; an escape can name a sign that is none of UTF-8.
        return json.loads(json.dumps(found, default=str, ensure_ascii=False).encode())
    except NotAccepted:
        raise
    except RecursionError as error:
        raise NotAccepted(TOO_DEEP) from error
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise NotAccepted(f"neither JSON nor YAML: {' '.join(str(error).split())}") from error


TOO_DEEP: Final = "too deep: brackets, indentation, or an alias within itself"


def _check_depth(events: Iterable[Any]) -> None:
    """Raises `NotAccepted`: libyaml composes level by level on a stack that nobody guards."""
    depth = 0
    for event in events:
        kind = type(event).__name__
        depth += kind.endswith("StartEvent") - kind.endswith("EndEvent")
        if depth > MOST_DEPTH:
            raise NotAccepted(TOO_DEEP)


MOST_VALUES: Final = 200_000
"""Of a YAML file, each as often as aliases repeat it: a megabyte has fewer of its own."""


NUMBERS: Final = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
MOST_DIGITS: Final = 1_000


def _values(node: Any, known: dict[int, int]) -> int:
    """How many values a node of YAML stands for. Raises `RecursionError` where it is a part of itself."""
    if not isinstance(node.value, list):
        if node.tag in NUMBERS and len(node.value) > MOST_DIGITS:  # those to base 60 take time by its square
            raise NotAccepted(f"a number of {len(node.value):,} digits; at most {MOST_DIGITS:,} are read")
        return 1
    if id(node) not in known:
        parts = (part for one in node.value for part in (one if isinstance(one, tuple) else (one,)))
        known[id(node)] = 1 + sum(_values(part, known) for part in parts)
    return known[id(node)]
