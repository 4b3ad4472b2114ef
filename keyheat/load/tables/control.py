"""Requests about tables: create, describe, wait for and find out how one scales.

Clock and sleep are passed in: a run waits in gevent's time, a command in its own, a test in none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.answers import WORD_AFTER_S
from keyheat.intake.scaling import SERVICE, auto_scaling_of
from keyheat.load.options import TableError
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target
from keyheat.model.resources import capacities_to_aws
from keyheat.runs.table_facts import AutoScaling
from keyheat.scenario.spec.tables import IndexSpec, TableSpec

Connect = Callable[[Target], Any]
Result = TypeVar("Result")
ATTEMPTS = 4  # of each request: none of them does more when it is sent twice
DENIED = ("AccessDeniedException", "AccessDenied", "UnauthorizedOperation")
WORD_EVERY_S = 5.0
LOOKS, LOOK_S = 5, 2.0


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


def create(client: Any, spec: TableSpec, tags: Sequence[dict[str, str]]) -> bool:
    """Ask for the table, with its tags; False where there is one of that name by now. Raises `TableError`."""
    try:
        client.create_table(**creation(spec), Tags=list(tags))
    except client.exceptions.ResourceInUseException:
        return False
    except ClientError as error:
        code, message = (error.response["Error"].get(name) for name in ("Code", "Message"))
        why = str(error)
        if code in DENIED:
            why = (
                "a permission is missing, dynamodb:CreateTable or dynamodb:TagResource, which its tags need "
                f"({message})"
            )
        elif code == "LimitExceededException":
            why = (
                f"{message}: wait until other tables are made or deleted, delete some, or have the quota "
                "raised (Service Quotas, DynamoDB)"
            )
        raise TableError(f"table {spec.name} was not made: {why}") from error
    return True


def auto_scaling_at(target: Target, table: TableSpec) -> AutoScaling:
    """Read what auto scaling may do to a table; if that cannot be read, the result says why."""
    if table.billing_mode != "PROVISIONED":
        return AutoScaling()
    if not target.aws:
        return AutoScaling(why=f"Application Auto Scaling is asked in AWS only, and this is {target.url}")
    indexes = [index.name for index in table.indexes if not index.local]
    return auto_scaling_of(partial(make_client, target, service=SERVICE, attempts=3), table.name, indexes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePatience:
    """How something is waited for; `show` is told what it is and how many seconds are left at most."""

    sleep: Callable[[float], None]
    poll_s: float = 1.0
    limit_s: float = 600.0
    clock: Callable[[], float] = monotonic
    show: Callable[[str, float], None] = lambda _what, _left_s: None

    def until(self, look: Callable[[], Result | None], what: str) -> Result | None:
        """Return what `look` finds, which is asked again and again; None if the limit is reached."""
        ends_s = self.clock() + self.limit_s
        shown_s = self.clock() - WORD_EVERY_S + WORD_AFTER_S
        while (result := look()) is None:
            now_s = self.clock()
            if now_s >= ends_s:
                return None
            if now_s - shown_s >= WORD_EVERY_S:
                self.show(what, ends_s - now_s)
                shown_s = now_s
            self.sleep(self.poll_s)
        return result


def look_again(
    look: Callable[[], Result | None], sleep: Callable[[float], None], looks: int = LOOKS
) -> Result | None:
    """Return what `look` finds; a table and its tags are seen a few seconds after they are there."""
    for number in range(looks):
        if number:
            sleep(LOOK_S)
        if (result := look()) is not None:
            return result
    return None


def describe_table(client: Any, name: str) -> dict[str, Any] | None:
    try:
        description: dict[str, Any] = client.describe_table(TableName=name)["Table"]
    except client.exceptions.ResourceNotFoundException:
        return None
    return description


def until_active(client: Any, name: str, patience: TablePatience) -> dict[str, Any] | None:
    """The table once it and all its indexes are ACTIVE; None if they are not within the limit.

    A table that was made a moment ago may not be found yet: DescribeTable is eventually consistent.
    """

    def look() -> dict[str, Any] | None:
        description = describe_table(client, name)
        return description if description is not None and all_active(description) else None

    return patience.until(look, f"table {name} to be made")


def until_gone(client: Any, name: str, patience: TablePatience) -> bool:
    look = lambda: True if describe_table(client, name) is None else None  # noqa: E731
    return patience.until(look, f"table {name} to be deleted") is not None


def all_active(description: Mapping[str, Any]) -> bool:
    """Return whether neither the table nor any of its indexes is being made or changed."""
    states = [index["IndexStatus"] for index in description.get("GlobalSecondaryIndexes", [])]
    return {description["TableStatus"], *states} == {"ACTIVE"}
