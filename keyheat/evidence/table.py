"""A table from outside: its account and Region, DescribeTable, DescribeLimits, and its stream's shards."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from email.utils import parsedate_to_datetime
from itertools import islice
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

from keyheat.addresses import CLOCK, SCALE
from keyheat.evidence.clients import NO_REGION, ClientFactory, boto3_clients, failure_of, is_local
from keyheat.evidence.series import parse_time
from keyheat.masking import masked
from keyheat.model.limits import STREAM_RETENTION_S
from keyheat.plan.quotas import Quotas, quotas_of, unknown_quotas
from keyheat.runs.formats import PartitionFacts, Window
from keyheat.runs.partitions import TooManyShards, all_shards, estimated, is_open, split_times_s
from keyheat.runs.table_facts import AccountFacts, IndexFacts, TableFacts, table_facts

Fields = Mapping[str, Any]
MINUTE: Final = timedelta(minutes=1)
NOT_FOUND: Final = "ResourceNotFoundException"
CREATED_LATER: Final = "facts about the table: this one was created at"
MOST_PAGES: Final = 25  # of 100 table names each, to search for similar names
MOST_NAMED: Final = 10
NOT_AUTHENTICATED: Final = frozenset(
    {
        "ExpiredToken", "ExpiredTokenException", "IncompleteSignature", "InvalidClientTokenId",
        "InvalidSignatureException", "MissingAuthenticationToken", "MissingAuthenticationTokenException",
        "OptInRequired", "RequestExpired", "SignatureDoesNotMatch", "UnrecognizedClientException",
    }
)  # fmt: skip
"""Codes that make every call with these credentials fail in this Region.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html"""
KEPT: Final = timedelta(seconds=STREAM_RETENTION_S)  # how long a closed shard stays visible


@dataclass(frozen=True, slots=True)
class Described:
    """Facts about a table; `there`: the service responded, even with an error, and knows the table."""

    table: TableFacts
    account: AccountFacts | None
    missing: tuple[str, ...] = ()
    there: bool = True
    answer: Fields | None = None  # of DescribeTable, if called
    scale: float = 1.0  # of every limit there: other than 1 on a local endpoint


def describe(factory: ClientFactory, given: TableFacts, window: Window) -> Described:
    """Describe a table and its quotas; failures go to `missing`. Raises `ValueError` without a Region."""
    facts, missing, answer, there = given, list[str](), None, True
    try:
        client = factory("dynamodb")
        if given.billing_mode is None:
            answer = client.describe_table(TableName=given.name)["Table"]
            facts, missing = facts_during(answer, window, given)
    except NoRegionError as error:
        raise ValueError(NO_REGION) from error
    except BotoCoreError as error:
        return Described(given, None, (f"facts about the table: {error}",), there=False)
    except ClientError as error:
        missing, there = [f"facts about the table: {error}"], error.response["Error"]["Code"] != NOT_FOUND
        if not there:
            missing.append(tables_like(client, given.name))
        if not given.indexes:
            missing.append("its indexes: none was named with --index, so none was queried")
    try:
        limits = client.describe_limits()
    except (BotoCoreError, ClientError) as error:
        problems = (*missing, f"the account's quotas: {error}")
        return Described(facts, None, problems, there and failure_of(error) != "failed", answer)
    quotas, headers = quotas_of(limits).table, limits.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    account = AccountFacts(table_read=quotas.read, table_write=quotas.write)
    scale = float(headers.get(SCALE.lower(), 1.0))
    return Described(facts, account, tuple(missing), there, answer, scale)


def facts_during(described: Fields, window: Window, given: TableFacts) -> tuple[TableFacts, list[str]]:
    """Facts from DescribeTable's `Table`, as far as they applied during the window.

    Facts that changed after the window began go to the missing ones. `given` adds named indexes.
    """
    facts = table_facts(described)
    then: dict[str, Any] = {"replicas": tuple(dict.fromkeys((*facts.replicas, *given.replicas)))}
    missing = []
    created = then["created"] = time_of(described.get("CreationDateTime"))
    if created and created >= window.end:
        missing.append(f"{CREATED_LATER} {created:%FT%TZ}, after the window")
        named = TableFacts(name=facts.name, replicas=given.replicas)
        return with_indexes(named, (i.name for i in (*facts.indexes, *given.indexes))), missing
    switched = time_of((described.get("BillingModeSummary") or {}).get("LastUpdateToPayPerRequestDateTime"))
    if switched and switched > window.start and not (created and switched <= created + MINUTE):
        missing.append(f"the billing mode: it was changed at {switched:%FT%TZ}")
        then["billing_mode"] = None
        then["on_demand_since"] = switched if facts.billing_mode == "PAY_PER_REQUEST" else None
    if (changed := _changed(described)) and changed > window.start:
        missing.append(f"provisioned capacity, other than CloudWatch's: it was changed at {changed:%FT%TZ}")
        then |= {"provisioned": None, "provisioned_now": facts.provisioned}
    then["indexes"] = tuple(
        index.model_copy(update={"provisioned": None, "provisioned_now": index.provisioned})
        if (changed := _changed(description)) and changed > window.start
        else index
        for index, description in zip(facts.indexes, described.get("GlobalSecondaryIndexes", ()), strict=True)
    )
    return with_indexes(facts.model_copy(update=then), (index.name for index in given.indexes)), missing


def with_indexes(table: TableFacts, names: Iterable[str]) -> TableFacts:
    """Add named indexes to the table; only their names are known."""
    there = {index.name for index in table.indexes}
    new = tuple(IndexFacts(name=name) for name in dict.fromkeys(names) if name not in there)
    return table.model_copy(update={"indexes": (*table.indexes, *new)}) if new else table


def tables_like(client: Any, name: str) -> str:
    """List the Region's tables as a phrase, the most similar names first."""
    try:
        pages = islice(client.get_paginator("list_tables").paginate(), MOST_PAGES)
        names = [table for page in pages for table in page["TableNames"]]
    except (BotoCoreError, ClientError) as error:
        return f"the tables in {client.meta.region_name} are not known: {error}"
    if not names:
        return f"no tables in {client.meta.region_name}"
    near = sorted(names, key=lambda other: -SequenceMatcher(None, name.lower(), other.lower()).ratio())
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"tables in {client.meta.region_name}: {', '.join(near[:MOST_NAMED])}{more}"


def _changed(description: Fields) -> datetime | None:
    """Time of the last change of provisioned throughput."""
    pair = description.get("ProvisionedThroughput") or {}
    times = [time_of(pair.get(name)) for name in ("LastIncreaseDateTime", "LastDecreaseDateTime")]
    return max((time for time in times if time is not None), default=None)


def time_of(value: Any) -> datetime | None:
    """Parse a time from boto3 or AWS CLI output; None without one."""
    return None if value is None else parse_time(value, UTC)


def account_quotas(client_factory: ClientFactory) -> Quotas:
    """Quotas of the clients' account and Region; unknown, with the reason, if the call fails."""
    try:
        return quotas_of(client_factory("dynamodb").describe_limits())
    except (BotoCoreError, ClientError) as error:
        return unknown_quotas(masked(str(error)))


def region_of(client_factory: ClientFactory) -> str | None:
    """The clients' Region; None if not configured."""
    try:
        return str(client_factory("dynamodb").meta.region_name)
    except BotoCoreError:
        return None


def observe(
    factory: ClientFactory, described: Mapping[str, Any], table: TableFacts, window: Window, now_s: float,
    scale: float,
) -> tuple[PartitionFacts | None, tuple[str, ...]]:  # fmt: skip
    """Facts about the partitions of a table: the estimate, its stream's shards; and problems reading them."""
    facts = estimated(table, scale)
    if not (described.get("StreamSpecification") or {}).get("StreamEnabled"):
        return facts, ()
    try:
        shards = all_shards(factory("dynamodbstreams"), described["LatestStreamArn"])
    except (BotoCoreError, ClientError, TooManyShards, KeyError) as error:
        return facts, (f"the shards of the table's stream, which show its partitions: {error}",)
    kept = window.start > datetime.fromtimestamp(now_s, UTC) - KEPT
    times_s = split_times_s(shards)
    times = [datetime.fromtimestamp(at_s, UTC) for at_s in times_s if at_s is not None]
    timed = kept and len(times) == len(times_s)
    update = {
        "open_shards": sum(map(is_open, shards)),
        "splits": tuple(at for at in times if window.start <= at < window.end) if timed else None,
    }
    return (facts or PartitionFacts()).model_copy(update=update), ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Clients for one account and Region, and the time there."""

    factory: ClientFactory
    region: str
    now: datetime
    local: bool = False
    endpoint_url: str | None = None
    answer: Mapping[str, Any] = field(default_factory=dict)  # of DescribeTable, or its error

    @property
    def options(self) -> str:
        """AWS CLI options for the same endpoint and Region."""
        endpoint = f" --endpoint-url {self.endpoint_url}" if self.endpoint_url else ""
        return f"--region {self.region}{endpoint}"


def connect(
    table: str | None,
    *,
    region: str | None,
    profile: str | None,
    endpoint_url: str | None,
    clock: Callable[[], float],
    open_minute: bool = False,
) -> Target:
    """Connect to a target. A denied call counts as a response. `open_minute` as of `boto3_clients`.

    Raises `ValueError` if no call can succeed, or if the table does not exist.
    """
    local = is_local(endpoint_url)
    factory = boto3_clients(
        region=region, profile=profile, endpoint_url=endpoint_url, local=local, open_minute=open_minute
    )
    try:
        client = factory("dynamodb")
        region = str(client.meta.region_name)
        answer = client.list_tables(Limit=1) if table is None else client.describe_table(TableName=table)
    except ClientError as error:
        answer, code = error.response, error.response["Error"]["Code"]
        if code in NOT_AUTHENTICATED:
            raise ValueError(
                f"AWS refuses the credentials in {region} ({code}): sign in again, or add --profile"
            ) from error
        if code == NOT_FOUND and table is not None:
            raise ValueError(f"no table {table!r} in {region}; {tables_like(client, table)}") from error
    except NoRegionError as error:
        raise ValueError(NO_REGION) from error
    except NoCredentialsError as error:
        raise ValueError("no AWS credentials: sign in, or add --profile") from error
    except BotoCoreError as error:
        raise ValueError(f"DynamoDB does not answer: {masked(str(error))}") from error
    return Target(
        factory=factory,
        region=str(region),
        now=_time_there(answer) or datetime.fromtimestamp(clock(), UTC),
        local=local,
        endpoint_url=endpoint_url,
        answer=dict(answer),
    )


def _time_there(answer: Mapping[str, Any]) -> datetime | None:
    """The service's time from a response; None if it has none."""
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    try:
        if CLOCK.lower() in headers:
            return datetime.fromtimestamp(float(headers[CLOCK.lower()]), UTC)
        return parsedate_to_datetime(headers["date"]).astimezone(UTC)
    except (KeyError, TypeError, ValueError, OverflowError):
        return None
