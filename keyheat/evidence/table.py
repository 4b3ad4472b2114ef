"""What is known of a table and its account, from what DescribeTable and DescribeLimits answer now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from itertools import islice
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from keyheat.evidence.clients import ClientFactory, failure_of
from keyheat.masking import masked
from keyheat.plan.quotas import Quotas, quotas_of, unknown_quotas
from keyheat.runs.formats import AccountFacts, IndexFacts, TableFacts, Window
from keyheat.runs.table_facts import table_facts

Part = Mapping[str, Any]
MINUTE: Final = timedelta(minutes=1)
NOT_FOUND: Final = "ResourceNotFoundException"
CREATED_LATER: Final = "facts about the table: this one was created at"
MOST_PAGES: Final = 25  # of 100 table names each, that are looked at for the one that was meant
MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class Described:
    """What is known of a table; `reached` is whether the service answered at all, be it with a refusal."""

    table: TableFacts
    account: AccountFacts | None
    missing: tuple[str, ...] = ()
    reached: bool = True
    answer: Part | None = None  # DescribeTable's, where it was asked
    found: bool = True  # False: the service says that there is no such table


def describe(factory: ClientFactory, known: TableFacts, window: Window) -> Described:
    """The table as the run found it, else as it is now, and its quotas. What cannot be had is `missing`."""
    facts, missing, answer, found = known, list[str](), None, True
    try:
        client = factory("dynamodb")
        if known.billing_mode is None:
            facts, missing, answer, found = _asked(client, known, window)
    except BotoCoreError as error:
        return Described(known, None, (f"facts about the table: {error}",), reached=False)
    try:
        quotas = quotas_of(client.describe_limits()).table
    except (BotoCoreError, ClientError) as error:
        said, reached = (*missing, f"the account's quotas: {error}"), failure_of(error) != "failed"
        return Described(facts, None, said, reached=reached, answer=answer, found=found)
    account = AccountFacts(table_read=quotas.read, table_write=quotas.write)
    return Described(facts, account, tuple(missing), answer=answer, found=found)


def facts_then(described: Part, window: Window, known: TableFacts) -> tuple[TableFacts, list[str]]:
    """Facts from the `Table` member of DescribeTable, as far as they held during the window.

    What changed after the window began is left out, and said. `known` adds indexes that were named.
    """
    facts = table_facts(described)
    then: dict[str, Any] = {"replicas": tuple(dict.fromkeys((*facts.replicas, *known.replicas)))}
    missing = []
    if (created := time_of(described.get("CreationDateTime"))) and created >= window.end:
        missing.append(f"{CREATED_LATER} {created:%FT%TZ}, after the window")
        named = TableFacts(name=facts.name, replicas=known.replicas)
        return with_indexes(named, (i.name for i in (*facts.indexes, *known.indexes))), missing
    switched = time_of(_part(described, "BillingModeSummary").get("LastUpdateToPayPerRequestDateTime"))
    if switched and switched > window.start:
        missing.append(f"the billing mode: it was changed at {switched:%FT%TZ}")
        then["billing_mode"] = None
        then["on_demand_since"] = switched if facts.billing_mode == "PAY_PER_REQUEST" else None
    if (changed := _changed(described)) and changed > window.start:
        missing.append(f"what was provisioned, but for CloudWatch: it was changed at {changed:%FT%TZ}")
        then["provisioned"] = None
    then["indexes"] = tuple(
        index.model_copy(update={"provisioned": None})
        if (changed := _changed(part)) and changed > window.start
        else index
        for index, part in zip(facts.indexes, described.get("GlobalSecondaryIndexes", ()), strict=True)
    )
    return with_indexes(facts.model_copy(update=then), (index.name for index in known.indexes)), missing


def since_created(described: Part, window: Window) -> Window:
    """The part of the window in which the table was there: nothing is published of the time before."""
    created = time_of(described.get("CreationDateTime"))
    if created is None or not window.start < created < window.end - MINUTE:
        return window
    return Window(start=created.replace(second=0, microsecond=0), end=window.end)


def with_indexes(table: TableFacts, names: Iterable[str]) -> TableFacts:
    """The table with indexes that something else speaks of; of these no more is known than the name."""
    there = {index.name for index in table.indexes}
    new = tuple(IndexFacts(name=name) for name in dict.fromkeys(names) if name not in there)
    return table.model_copy(update={"indexes": (*table.indexes, *new)}) if new else table


def _asked(client: Any, known: TableFacts, window: Window) -> tuple[TableFacts, list[str], Part | None, bool]:
    """Facts, what is missing of them, the answer, and whether there is such a table."""
    try:
        answer = client.describe_table(TableName=known.name)["Table"]
        return *facts_then(answer, window, known), answer, True
    except ClientError as error:
        missing, found = [f"facts about the table: {error}"], error.response["Error"]["Code"] != NOT_FOUND
    if not found:
        missing.append(tables_like(client, known.name))
    if not known.indexes:
        missing.append("its indexes: none was named with --index, so none was asked for")
    return known, missing, None, found


def tables_like(client: Any, name: str) -> str:
    """The tables of the Region in words, those with the most similar names first."""
    try:
        pages = islice(client.get_paginator("list_tables").paginate(), MOST_PAGES)
        names = [table for page in pages for table in page["TableNames"]]
    except (BotoCoreError, ClientError) as error:
        return f"the tables in {client.meta.region_name} are not known: {error}"
    if not names:
        return f"there are no tables in {client.meta.region_name}"
    near = sorted(names, key=lambda other: -SequenceMatcher(None, name.lower(), other.lower()).ratio())
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"tables in {client.meta.region_name}: {', '.join(near[:MOST_NAMED])}{more}"


def _changed(part: Part) -> datetime | None:
    """When provisioned throughput was last changed."""
    pair = _part(part, "ProvisionedThroughput")
    times = [time_of(pair.get(name)) for name in ("LastIncreaseDateTime", "LastDecreaseDateTime")]
    return max((time for time in times if time is not None), default=None)


def _part(described: Part, name: str) -> Part:
    return described.get(name) or {}


def time_of(value: Any) -> datetime | None:
    """A time in UTC, as boto3 gives it, or as the AWS CLI prints it: as text, or as epoch seconds."""
    if value is None:
        return None
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    moment = datetime.fromisoformat(value) if isinstance(value, str) else value
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


REFUSED = ("AccessDenied", "AccessDeniedException")
UNSERVED = ("UnknownOperationException", "UnknownOperation", "InvalidAction", "NotImplemented", "501", "404")


def account_quotas(client_factory: ClientFactory) -> Quotas:
    """The quotas of the account and region that the clients are of; unknown, with why, where nobody says."""
    try:
        return quotas_of(client_factory("dynamodb").describe_limits())
    except ClientError as error:
        return unknown_quotas(_why(error))
    except BotoCoreError as error:
        return unknown_quotas(masked(str(error)))


def _why(error: ClientError) -> str:
    code = error.response.get("Error", {}).get("Code", "")
    if code in REFUSED:
        return "the identity may not call dynamodb:DescribeLimits"
    if code in UNSERVED:
        return "the target does not know DescribeLimits"
    return masked(str(error)).strip()


def region_of(client_factory: ClientFactory) -> str | None:
    """The region that the clients are of; None where none is configured."""
    try:
        return str(client_factory("dynamodb").meta.region_name)
    except BotoCoreError:
        return None
