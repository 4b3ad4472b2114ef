"""Tables of counts over a run: the load test's own, and failures by kind."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Final

from keyheat.analysis.checks import WRONG
from keyheat.analysis.report import ReportRun
from keyheat.numbers import measured, percent, some, whole
from keyheat.show.answer import Section, Table

ELSEWHERE: Final = ("arrivals", "retries")  # groups that the section on the load generator shows
TABLES: Final = "tables"
GROUPS: Final[Mapping[str, str]] = {
    "reads": "Checked reads",
    "simulated": "Reads, simulated: there are no items to check",
    "cache": "Read-through cache",
    "orders": "Orders",
    "totals": "Totals of the orders",
    "shards": "Dynamic sharding",
    "metadata": "Table of shard numbers",
    "conditions": "Conditional writes",
    "batch": "Batch writes",
    "transactions": "Transactions",
    "writes": "Plain writes",
    "replication": "Writes in several Regions",
    TABLES: "Tables beside the judged one",
}
WORDS: Final[Mapping[str, str]] = {
    "reads.required": "items that had to be in the answers",
    "reads.missing": "items written and not found",
    "reads.unchecked": "not checked: a part was throttled",
    "cache.stale": "answers older than the last write",
    "totals.incomplete_reports": "reports that lack a throttled part",
    "shards.ended_with": "shards of the most sharded key, at the end",
    "shards.cooling": "throttles within the cooldown, only retried",
    "shards.backing_off": "throttles after which another writer went first",
    "shards.at_most": "throttles of a key with the most shards allowed",
    "shards.confirmed": "shards that a write brought back into use",
    "shards.forgotten": "shards that readers need not ask any more",
}
"""Counted names that do not speak for themselves."""


def counts_of(counted: Mapping[str, float]) -> Section | None:
    """Sentences on wrong and right results, then all numbers; None if nothing was counted."""
    tables = []
    for group, names in groupby(listed(counted), key=_group):
        rows = ({"what": _in_words(name), "number": _number_words(name, counted[name])} for name in names)
        tables.append(Table(title=GROUPS.get(group, group.capitalize()), rows=tuple(rows)))
    if not tables:
        return None
    checked, reads = some(round(counted.get("reads.checked", 0.0)), "checked read"), wrong_reads(counted)
    wrong = (f"Wrong reads: of the items that {checked} should have returned, {reads}.",) if reads else ()
    return Section(
        id="counted", title="What the load test counted", short="Counted", page_only=True,
        wrong=wrong, lines=tuple(_right(counted)), tables=tuple(tables),
    )  # fmt: skip


def _group(name: str) -> str:
    return name.partition(".")[0]


def _in_words(name: str) -> str:
    """A counted name, below its group."""
    return WORDS.get(name) or name.partition(".")[2].replace("_", " ").replace(".", ": ") or name


def _number_words(name: str, number: float) -> str:
    """A counted number with its unit; whole and large ones in every digit."""
    reads = name.endswith("read_units") or _group(name) in ("reads", "cache")
    unit = "WCU" if name.endswith("write_units") else "RCU" if reads else "units"
    text = whole(number) if number == round(number) or number >= 1_000 else measured(number)
    return f"{text} {unit}" if "units" in name else text


def listed(counted: Iterable[str]) -> list[str]:
    """The names that are shown here, by group."""
    places = {group: position for position, group in enumerate(GROUPS)}
    mine = (name for name in counted if _group(name) not in ELSEWHERE)
    return sorted(mine, key=lambda name: (places.get(_group(name), len(places)), name))


def wrong_reads(counted: Mapping[str, float]) -> str:
    """The checked reads that were wrong: `3 items were not found`; empty if none was."""
    rows = (
        f"{number:,} {single if number == 1 else several}"
        for name, (single, several) in WRONG.items()
        if (number := round(counted.get(name, 0.0)))
    )
    return ", ".join(rows)


def _right(counted: Mapping[str, float]) -> Iterable[str]:
    checked, placed = round(counted.get("reads.checked", 0.0)), counted.get("orders.placed", 0.0)
    if checked and not wrong_reads(counted):
        yield (
            f"{some(checked, 'read')} checked against what was written: nothing missing, nothing twice, "
            "all in order."
        )
    if placed and "orders.units" in counted:
        yield f"One order took {measured(counted['orders.units'] / placed)} units."
    if placed and "orders.counted" in counted:
        in_totals = f"{whole(counted['orders.counted'])} of {whole(placed)} orders"
        yield f"{in_totals} were in the totals when the load ended."
    if reads := counted.get("cache.hits", 0.0) + counted.get("cache.misses", 0.0):
        yield f"The cache answered {percent(counted.get('cache.hits', 0.0) / reads)} of the reads."


MEANINGS: Final[Mapping[str, str]] = {
    "name_lookup": "the host has no address",
    "connection_refused": "no process listened at the address",
    "connection_failed": "no connection for another reason, such as no route",
    "tls": "the certificate is not trusted, or is not that host's",
    "timeout": "no connection, or no further byte of the answer, in time",
    "connection_reset": "the connection ended before an answer came: a write may or may not have been done",
    "cut_off": "the connection ended within the answer: the request was handled",
    "crc32_mismatch": "the answer was damaged on its way: the request was handled",
    "bad_http": "what came back is not HTTP",
    "not_an_answer": "HTTP 200, but not DynamoDB's answer: does a proxy or a login page stand between?",
    "no_units": "HTTP 200 without consumed capacity, or with 0 units for a write",
    "credentials": "expired credentials could not be refreshed, so nothing was sent",
    "still_in_flight_at_stop": "not answered when the load was stopped",
    "ExpiredTokenException": "the session's credentials had expired",
    "UnrecognizedClientException": "the access key is not known there",
    "InvalidSignatureException": "wrong secret key, clock, or region of the endpoint",
    "InternalServerError": "DynamoDB failed inside",
    "ResourceNotFoundException": "the table was not there",
}
"""What each kind means; a kind without words is an error code of the service."""


def failure_table(run: ReportRun) -> Table | None:
    """Failures by kind with count and share of all attempts, most frequent first; None without any."""
    kinds, attempts = run.totals.errors_by_kind, run.totals.attempts
    rows = tuple(
        {
            "kind": kind[:80], "requests": whole(count),
            "of all": percent(count / attempts) if attempts else "", "meaning": MEANINGS.get(kind, ""),
        }
        for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    )  # fmt: skip
    title = "Requests that failed for another reason than a throttle"
    return Table(title=title, rows=rows) if rows else None
