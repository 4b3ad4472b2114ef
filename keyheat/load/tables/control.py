"""How a table is asked for: CreateTable's and UpdateTable's parameters and refusals; its scaling and expiry.

Auto scaling of a table that is there: the policies that may change its capacity while it is loaded.
Sources: https://docs.aws.amazon.com/autoscaling/application/APIReference/API_DescribeScalableTargets.html
https://docs.aws.amazon.com/autoscaling/application/APIReference/API_DescribeScalingPolicies.html
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.answer_shape import bounded_pages
from keyheat.intake.scaling import tracked
from keyheat.load.tables.ownership import DENIED, NOT_SERVED, TableError, Unread, why_unread
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target
from keyheat.model.resources import capacities_to_aws
from keyheat.runs.manifest import NOTHING_EXPIRES
from keyheat.scenario.spec.tables import IndexSpec, TableSpec

ATTEMPTS = 4  # of each request: none of them does more when it is sent twice


def control_client(target: Target) -> Any:
    """A client of the target for requests about tables."""
    return make_client(target, attempts=ATTEMPTS)


@contextmanager
def asking(target: Target, what: str, connect: Callable[[Target], Any] = control_client) -> Iterator[Any]:
    """A client whose failures are a `TableError`."""
    try:
        with closing(connect(target)) as client:
            yield client
    except (ClientError, BotoCoreError) as error:
        raise TableError(f"{what} at {target.url}: {error}") from error


def creation(spec: TableSpec) -> dict[str, Any]:
    """The parameters of CreateTable."""
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
        **({"StreamSpecification": _stream(spec.stream)} if spec.stream else {}),
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


def _stream(view: str) -> dict[str, Any]:
    return {"StreamEnabled": True, "StreamViewType": view}


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
    said = error.response["Error"]
    if said["Code"] in DENIED:
        return (
            "a permission is missing, dynamodb:CreateTable or dynamodb:TagResource, which its tags need "
            f"({said.get('Message')})"
        )
    if said["Code"] == "LimitExceededException":
        return (
            f"{said.get('Message')}: wait until other tables are made or deleted, delete some, or have the "
            "quota raised (Service Quotas, DynamoDB)"
        )
    return f"{error}"


SERVICE = "application-autoscaling"
NAMESPACE = "dynamodb"
SIDES = {"ReadCapacityUnits": "read", "WriteCapacityUnits": "write"}
RESOURCES_PER_CALL = 50
TRACKING = "TargetTrackingScalingPolicyConfiguration"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingRange:
    """One side of a table or of an index that auto scaling changes."""

    index: str | None
    side: str
    min: int
    max: int
    target: float | None  # consumed as a share of provisioned; None: there is no target tracking policy
    scale_out_cooldown_s: float | None = None  # None: none is stated
    scale_in_cooldown_s: float | None = None
    scale_in: bool = True

    def __str__(self) -> str:
        what = f"index {self.index}" if self.index else "the table"
        steers = "" if self.target is None else f", steered for {self.target:.0%} of it consumed"
        return f"{self.side}s of {what}: {self.min:,} to {self.max:,} units per second{steers}"


@dataclass(frozen=True, slots=True)
class AutoScaling:
    """What auto scaling may do to a table during a run; `why` it is not known, where it is not."""

    scaled: tuple[ScalingRange, ...] = ()
    why: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As `run.json` says it."""
        return {"known": self.why is None, "why": self.why, "scaled": [asdict(one) for one in self.scaled]}

    def in_words(self) -> list[str]:
        """One line for each thing that a person should know."""
        if self.why is not None:
            return [f"whether auto scaling changes its capacity is not known: {self.why}"]
        return [f"auto scaling may change its capacity during this run: {one}" for one in self.scaled]


def auto_scaling_of(
    target: Target, table: TableSpec, *, connect: Callable[..., Any] = make_client
) -> AutoScaling:
    """Ask Application Auto Scaling; what cannot be asked is said, and stops nobody."""
    if table.billing_mode != "PROVISIONED":
        return AutoScaling()
    if not target.aws:
        return AutoScaling(why=f"Application Auto Scaling is asked in AWS only, and this is {target.url}")
    try:
        with closing(connect(target, service=SERVICE, attempts=3)) as client:
            return AutoScaling(tuple(scaled_parts(client, table)))
    except ClientError as error:
        return AutoScaling(why=f"{error.response['Error']['Code']} for {error.operation_name}")
    except BotoCoreError as error:
        return AutoScaling(why=f"Application Auto Scaling did not answer: {error}")


def scaled_parts(client: Any, table: TableSpec) -> Iterator[ScalingRange]:
    """Every side of the table and of its global indexes that is registered, with what its policy says."""
    indexes = [index.name for index in table.indexes if not index.local]
    names: dict[str, str | None] = {f"table/{table.name}": None}
    names |= {f"table/{table.name}/index/{index}": index for index in indexes}
    targets = list(_targets(client, list(names)))
    policies: dict[tuple[str, str], Mapping[str, Any]] = {
        (policy["ResourceId"], policy["ScalableDimension"]): tracked(policy.get(TRACKING) or {})
        for resource in dict.fromkeys(one["ResourceId"] for one in targets)
        for policy in _policies(client, resource)
    }
    for one in targets:
        resource, dimension = one["ResourceId"], one["ScalableDimension"]
        yield ScalingRange(
            index=names[resource],
            side=SIDES[dimension.rpartition(":")[2]],
            min=one["MinCapacity"],
            max=one["MaxCapacity"],
            **{"target": None, **policies.get((resource, dimension), {})},
        )


def _targets(client: Any, resources: list[str]) -> Iterable[dict[str, Any]]:
    pages = client.get_paginator("describe_scalable_targets")
    for start in range(0, len(resources), RESOURCES_PER_CALL):
        some = resources[start : start + RESOURCES_PER_CALL]
        some_pages = pages.paginate(ServiceNamespace=NAMESPACE, ResourceIds=some)
        for page in bounded_pages("DescribeScalableTargets", some_pages):
            yield from page["ScalableTargets"]


def _policies(client: Any, resource: str) -> Iterable[dict[str, Any]]:
    policies = client.get_paginator("describe_scaling_policies")
    pages = policies.paginate(ServiceNamespace=NAMESPACE, ResourceId=resource)
    for page in bounded_pages("DescribeScalingPolicies", pages):
        yield from page["ScalingPolicies"]


def time_to_live_of(client: Any, table: str) -> str | Unread:
    """The attribute by which a table's items expire, or "off".

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTimeToLive.html
    """
    try:
        described = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    except ClientError as error:
        if error.response["Error"]["Code"] in NOT_SERVED:
            return NOTHING_EXPIRES
        return Unread(why_unread(error, "DescribeTimeToLive"))
    on = described.get("TimeToLiveStatus") in ("ENABLED", "ENABLING")
    return str(described["AttributeName"]) if on else NOTHING_EXPIRES
