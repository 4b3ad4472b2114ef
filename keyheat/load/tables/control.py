"""How a table is asked for: CreateTable's and UpdateTable's parameters and refusals, and its scaling."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.intake.scaling import SERVICE, auto_scaling_of
from keyheat.load.tables.ownership import DENIED, Standing, TableError, look_at
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target
from keyheat.model.resources import capacities_to_aws
from keyheat.runs.scaling import AutoScaling
from keyheat.scenario.spec.tables import IndexSpec, TableSpec

Connect = Callable[[Target], Any]
ATTEMPTS = 4  # of each request: none of them does more when it is sent twice


def control_client(target: Target) -> Any:
    return make_client(target, attempts=ATTEMPTS)


@contextmanager
def table_client(target: Target, what: str, connect: Connect = control_client) -> Iterator[Any]:
    """A client whose failures are a `TableError`."""
    try:
        with closing(connect(target)) as client:
            yield client
    except (ClientError, BotoCoreError) as error:
        raise TableError(f"{what} at {target.url}: {error}") from error


def look_at_tables(
    target: Target, names: Iterable[str], connect: Connect = control_client
) -> dict[str, Standing | None]:
    """Look up tables by name; None if absent. Raises `TableError` if the target does not answer."""
    names = tuple(names)
    with table_client(target, f"table {', '.join(names)}", connect) as client:
        return {name: look_at(client, name) for name in names}


def creation(spec: TableSpec) -> dict[str, Any]:
    """The parameters of CreateTable."""
    stream = {"StreamEnabled": True, "StreamViewType": spec.stream}
    locals_ = [_index(index) for index in spec.indexes if index.local]
    globals_ = [{**_index(index), **capacities_to_aws(index)} for index in spec.indexes if not index.local]
    return {
        "TableName": spec.name,
        "BillingMode": spec.billing_mode,
        "KeySchema": key_schema([spec.partition_key], [spec.sort_key] if spec.sort_key else []),
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": kind} for name, kind in spec.key_types().items()
        ],
        **capacities_to_aws(spec),
        **({"LocalSecondaryIndexes": locals_} if locals_ else {}),
        **({"GlobalSecondaryIndexes": globals_} if globals_ else {}),
        **({"StreamSpecification": stream} if spec.stream else {}),
    }


def key_schema(partition_keys: Sequence[str], sort_keys: Sequence[str]) -> list[dict[str, str]]:
    """The key of a table or an index, as DynamoDB takes and tells it."""
    kinds = ((partition_keys, "HASH"), (sort_keys, "RANGE"))
    return [{"AttributeName": name, "KeyType": kind} for names, kind in kinds for name in names]


def _index(index: IndexSpec) -> dict[str, Any]:
    include = {"NonKeyAttributes": list(index.include)} if index.include else {}
    return {
        "IndexName": index.name,
        "KeySchema": key_schema(index.partition_keys, index.sort_keys),
        "Projection": {"ProjectionType": index.projection, **include},
    }


Tags = Sequence[dict[str, str]]


def create(client: Any, spec: TableSpec, tags: Tags) -> bool:
    """Ask for the table, with its tags; False where there is one of that name by now. Raises `TableError`."""
    try:
        client.create_table(**creation(spec), Tags=list(tags))
    except client.exceptions.ResourceInUseException:
        return False
    except ClientError as error:
        raise TableError(f"table {spec.name} was not made: {_what_to_do(error)}") from error
    return True


def _what_to_do(error: ClientError) -> str:
    info = error.response["Error"]
    if info["Code"] in DENIED:
        return (
            "a permission is missing, dynamodb:CreateTable or dynamodb:TagResource, which its tags need "
            f"({info.get('Message')})"
        )
    if info["Code"] == "LimitExceededException":
        return (
            f"{info.get('Message')}: wait until other tables are made or deleted, delete some, or have the "
            "quota raised (Service Quotas, DynamoDB)"
        )
    return f"{error}"


def auto_scaling_at(target: Target, table: TableSpec) -> AutoScaling:
    """Read what auto scaling may do to a table; if that cannot be read, the result says why."""
    if table.billing_mode != "PROVISIONED":
        return AutoScaling()
    if not target.aws:
        return AutoScaling(why=f"Application Auto Scaling is asked in AWS only, and this is {target.url}")
    indexes = [index.name for index in table.indexes if not index.local]
    return auto_scaling_of(partial(make_client, target, service=SERVICE, attempts=3), table.name, indexes)
