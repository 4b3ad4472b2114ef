"""What was counted over a run, as tables: by the load test itself, and failures by their kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.checks import WRONG
from keyheat.analysis.report.run import ReportRun
from keyheat.numbers import NOTHING, measured, percent, some, whole
from keyheat.show.answer import Section, Table

ELSEWHERE: Final = ("arrivals", "retries")  # groups that the section on the load generator shows
TABLES: Final = "tables."


@dataclass(frozen=True, slots=True)
class CountedName:
    """What a counted name means, and what it is counted in."""

    words: str
    unit: str = ""


GROUPS: Final[Mapping[str, str]] = {
    "reads": "Reads that were checked",
    "simulated": "Reads, simulated: there are no items to check",
    "cache": "Read-through cache",
    "orders": "Orders",
    "totals": "Totals of the orders",
    "shards": "Dynamic sharding",
    "metadata": "The table of shard numbers",
    "conditions": "Conditional writes",
    "batch": "Batch writes",
    "transactions": "Transactions",
    "writes": "Plain writes",
    "replication": "Writes in several Regions",
}
WORDS: Final[Mapping[str, CountedName]] = {
    "reads.checked": CountedName("reads whose answer was checked"),
    "reads.items": CountedName("items in those answers"),
    "reads.required": CountedName("items that had to be in them"),
    "reads.missing": CountedName("items that were written and not found"),
    "reads.duplicate": CountedName("items found twice"),
    "reads.misordered": CountedName("items out of order"),
    "reads.unchecked": CountedName("reads without an answer to check: a part of them was throttled"),
    "reads.units": CountedName("consumed by checked reads", "RCU"),
    "reads.requests": CountedName("requests that checked reads were made of"),
    "simulated.reads": CountedName("reads as an application knows them, however many requests each takes"),
    "simulated.read_requests": CountedName("requests that those reads were made of"),
    "simulated.read_units": CountedName("consumed by those reads", "RCU"),
    "cache.hits": CountedName("reads answered by the cache"),
    "cache.misses": CountedName("reads that had to ask the table"),
    "cache.stale": CountedName("of its answers were older than the last write"),
    "cache.units_saved": CountedName("not consumed, thanks to the cache", "RCU"),
    "orders.placed": CountedName("orders placed"),
    "orders.units": CountedName("consumed for orders, totals included", "units"),
    "orders.counted": CountedName("orders in the totals when the load ended"),
    "totals.reports": CountedName("reports made by reading the whole table"),
    "totals.incomplete_reports": CountedName("reports that lack a part: it was throttled"),
    "totals.updates": CountedName("updates of totals"),
    "totals.repeated": CountedName("updates that an earlier try had made already"),
    "shards.ended_with": CountedName("shards of the key that had most, at the end"),
    "shards.increments": CountedName("times that a key got more shards"),
    "shards.conflicts": CountedName("updates lost to another writer's (the optimistic lock)"),
    "shards.cooling": CountedName("throttles within the cooldown, answered by a retry alone"),
    "shards.backing_off": CountedName("throttles at which another writer was let go first"),
    "shards.at_most": CountedName("throttles of a key that may have no more shards"),
    "shards.shrinks": CountedName("times that a key got fewer shards"),
    "shards.confirmed": CountedName("shards brought back into use by a write"),
    "shards.forgotten": CountedName("shards that readers need not ask any more"),
    "shards.capacity_asked": CountedName("times that more capacity of the table was asked for"),
    "metadata.read_units": CountedName("consumed by reading the numbers of shards", "RCU"),
    "metadata.write_units": CountedName("consumed by writing them", "WCU"),
    "metadata.throttled": CountedName("requests for them that were throttled"),
    "conditions.failed": CountedName("writes whose condition did not hold"),
    "conditions.failed_units": CountedName("consumed by them all the same", "WCU"),
    "batch.requests": CountedName("batches sent"),
    "batch.items": CountedName("items sent in batches"),
    "batch.unprocessed": CountedName("items that came back unprocessed"),
    "transactions.requests": CountedName("transactions sent"),
    "transactions.cancelled": CountedName("transactions cancelled"),
    "transactions.conflicts": CountedName("of them because of another transaction on the same item"),
    "transactions.conditions": CountedName("of them because a condition did not hold"),
    "writes.conflicts": CountedName("plain writes refused while a transaction was under way on the item"),
    "replication.written": CountedName("writes that came in from other Regions"),
    "replication.refused": CountedName("times that one of them was throttled, and came again"),
    "replication.waiting": CountedName("of them waiting at once, at the most: so late copies came"),
    "replication.conflicts": CountedName("writes refused while another Region wrote the same item"),
}
COLUMNS: Final = {
    "accepted": "accepted", "throttled": "throttled", "error": "failed", "write_units": "WCU",
    "read_units": "RCU",
}  # fmt: skip
OUTCOMES: Final = tuple(COLUMNS)


def counts_of(counted: Mapping[str, float]) -> Section | None:
    """What is wrong and what is right in sentences, then every number; None if nothing was counted."""
    tables = (*_groups(counted), *_beside(counted))
    if not tables:
        return None
    return Section(
        id="counted", title="What the load test counted", short="Counted", page_only=True,
        wrong=tuple(_wrong(counted)), lines=tuple(_right(counted)), tables=tables,
    )  # fmt: skip


def is_wrong(name: str, number: float) -> bool:
    """Whether a counted number says that something read or added up was wrong."""
    return name in WRONG and number > 0


def word_of(name: str) -> CountedName:
    """A counted name in words; one that we do not know is said as it stands."""
    if name.startswith(TABLES):
        table, _, what = name.removeprefix(TABLES).rpartition(".")
        unit = {"write_units": "WCU", "read_units": "RCU"}.get(what, "")
        return CountedName(f"{what.replace('_', ' ')} on table {table}", unit)
    return WORDS.get(name) or CountedName(name.replace("_", " ").replace(".", ": ", 1))


def shown(name: str, number: float | None) -> str:
    """A counted number with its unit; whole and large ones in every digit."""
    if number is None:
        return NOTHING
    unit = word_of(name).unit
    text = whole(number) if number == round(number) or number >= 1_000 else measured(number)
    return f"{text} {unit}" if unit else text


def listed(counted: Mapping[str, float]) -> list[str]:
    """The names that are shown here, by group and as they are told."""
    mine = [name for name in counted if name.partition(".")[0] not in ELSEWHERE]
    places = {name: place for place, name in enumerate(WORDS)}
    return sorted(
        mine, key=lambda name: (places.get(name, len(places)), name.startswith(TABLES), _by_outcome(name))
    )


def _by_outcome(name: str) -> tuple[str, int]:
    table, _, what = name.rpartition(".")
    return (table, OUTCOMES.index(what)) if what in OUTCOMES else (name, 0)


def _wrong(counted: Mapping[str, float]) -> list[str]:
    found = [
        f"{number:,} {one if number == 1 else several}"
        for name, (one, several) in WRONG.items()
        if (number := round(counted.get(name, 0.0)))
    ]
    checked = some(round(counted.get("reads.checked", 0.0)), "checked read")
    return [f"Wrong reads: of what {checked} should have got, {', '.join(found)}."] if found else []


def _right(counted: Mapping[str, float]) -> list[str]:
    said = []
    checked = round(counted.get("reads.checked", 0.0))
    if checked and not any(counted.get(name) for name in WRONG):
        said.append(
            f"{some(checked, 'read')} checked against what was written: nothing missing, nothing twice, "
            "all in order."
        )
    if placed := counted.get("orders.placed"):
        said += _orders(counted, placed)
    asked = counted.get("cache.hits", 0.0) + counted.get("cache.misses", 0.0)
    if asked:
        said.append(f"The cache answered {percent(counted.get('cache.hits', 0.0) / asked)} of the reads.")
    return said


def _orders(counted: Mapping[str, float], placed: float) -> list[str]:
    said = []
    if "orders.units" in counted:
        said.append(f"One order took {measured(counted['orders.units'] / placed)} units.")
    if "orders.counted" in counted:
        in_totals = f"{whole(counted['orders.counted'])} of {whole(placed)} orders"
        said.append(f"{in_totals} were in the totals when the load ended.")
    return said


def _groups(counted: Mapping[str, float]) -> list[Table]:
    found: dict[str, list[str]] = {}
    for name in listed(counted):
        group = name.partition(".")[0]
        if not name.startswith(TABLES):
            found.setdefault(GROUPS.get(group, "Further numbers"), []).append(name)
    return [
        Table(
            title=title,
            rows=tuple({"what": word_of(name).words, "number": shown(name, counted[name])} for name in names),
        )
        for title, names in found.items()
    ]


def _beside(counted: Mapping[str, float]) -> list[Table]:
    """The tables beside the judged one, a row each."""
    names = sorted(
        {name.removeprefix(TABLES).rpartition(".")[0] for name in counted if name.startswith(TABLES)}
    )
    rows = tuple(
        {"table": name}
        | {COLUMNS[what]: whole(counted.get(f"{TABLES}{name}.{what}", 0.0)) for what in OUTCOMES}
        for name in names
    )
    return [Table(title="Tables beside the judged one", rows=rows)] if rows else []


MEANINGS: Final[Mapping[str, str]] = {
    "name_lookup": "the host has no address",
    "connection_refused": "nobody listened at the address",
    "connection_failed": "no connection for another reason, such as no route",
    "tls": "the certificate is not trusted, or is not that host's",
    "timeout": "no connection, or no further byte of the answer, in time",
    "connection_reset": "the connection ended before an answer came: a write may or may not have been done",
    "cut_off": "the connection ended within the answer: the request was handled",
    "crc32_mismatch": "the answer was damaged on its way: the request was handled",
    "bad_http": "what came back is not HTTP",
    "answer_too_long": "the answer went on after all that DynamoDB can say, and was dropped",
    "not_an_answer": "HTTP 200, but not DynamoDB's answer: does a proxy or a login page stand between?",
    "no_units": "accepted, it says, but without consumed capacity, or with 0 units for a write",
    "credentials": "there were no credentials any more, and nothing was sent",
    "still_in_flight_at_stop": "not answered when the load was stopped",
    "ExpiredTokenException": "the session's credentials had expired",
    "UnrecognizedClientException": "the access key is not known there",
    "InvalidSignatureException": "wrong secret key, clock, or region of the endpoint",
    "InternalServerError": "DynamoDB failed inside",
    "ResourceNotFoundException": "the table was not there",
}
"""What each kind means; a kind without words is an error code of the service."""


def failure_table(run: ReportRun) -> Table | None:
    """Every kind with its count and its share of all attempts, most frequent first; None: nothing failed."""
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
