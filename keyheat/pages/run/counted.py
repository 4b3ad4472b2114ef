"""What the load test itself counted, in words and with units: `reads.missing`, `cache.units_saved` ..."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.checks import WRONG
from keyheat.numbers import NOTHING, measured, percent, some, whole
from keyheat.pages.charts.figures import Table

ELSEWHERE: Final = ("arrivals", "retries")  # groups that the section on the load generator shows
TABLES: Final = "tables."


@dataclass(frozen=True, slots=True)
class Word:
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
}
WORDS: Final[Mapping[str, Word]] = {
    "reads.checked": Word("reads whose answer was checked"),
    "reads.items": Word("items in those answers"),
    "reads.required": Word("items that had to be in them"),
    "reads.missing": Word("items that were written and not found"),
    "reads.duplicate": Word("items found twice"),
    "reads.misordered": Word("items out of order"),
    "reads.unchecked": Word("reads without an answer to check: a part of them was throttled"),
    "reads.units": Word("consumed by checked reads", "RCU"),
    "reads.requests": Word("requests that checked reads were made of"),
    "simulated.reads": Word("reads as an application knows them, however many requests each takes"),
    "simulated.read_requests": Word("requests that those reads were made of"),
    "simulated.read_units": Word("consumed by those reads", "RCU"),
    "cache.hits": Word("reads answered by the cache"),
    "cache.misses": Word("reads that had to ask the table"),
    "cache.stale": Word("of its answers were older than the last write"),
    "cache.units_saved": Word("not consumed, thanks to the cache", "RCU"),
    "orders.placed": Word("orders placed"),
    "orders.units": Word("consumed for orders, totals included", "units"),
    "orders.counted": Word("orders found in the totals at the end"),
    "orders.missing": Word("orders that the totals lack"),
    "totals.kept": Word("totals that were kept"),
    "totals.wrong": Word("totals that differ from the orders in the table"),
    "totals.check_units": Word("consumed by the check of the totals, after the load", "RCU"),
    "totals.reports": Word("reports made by reading the whole table"),
    "totals.incomplete_reports": Word("reports that lack a part: it was throttled"),
    "totals.updates": Word("updates of totals"),
    "totals.repeated": Word("updates that an earlier try had made already"),
    "totals.delay_mean_s": Word("from an order to its total, on average", "s"),
    "totals.delay_max_s": Word("from an order to its total, at most", "s"),
    "shards.ended_with": Word("shards of the key that had most, at the end"),
    "shards.increments": Word("times that a key got more shards"),
    "shards.conflicts": Word("updates lost to another writer's (the optimistic lock)"),
    "shards.cooling": Word("throttles within the cooldown, answered by a retry alone"),
    "shards.backing_off": Word("throttles at which another writer was let go first"),
    "shards.at_most": Word("throttles of a key that may have no more shards"),
    "shards.shrinks": Word("times that a key got fewer shards"),
    "shards.confirmed": Word("shards brought back into use by a write"),
    "shards.forgotten": Word("shards that readers need not ask any more"),
    "shards.capacity_asked": Word("times that more capacity of the table was asked for"),
    "metadata.read_units": Word("consumed by reading the numbers of shards", "RCU"),
    "metadata.write_units": Word("consumed by writing them", "WCU"),
    "metadata.throttled": Word("requests for them that were throttled"),
    "conditions.failed": Word("writes whose condition did not hold"),
    "conditions.failed_units": Word("consumed by them all the same", "WCU"),
    "batch.requests": Word("batches sent"),
    "batch.items": Word("items sent in batches"),
    "batch.unprocessed": Word("items that came back unprocessed"),
    "transactions.requests": Word("transactions sent"),
    "transactions.cancelled": Word("transactions cancelled"),
    "transactions.conflicts": Word("of them because of another transaction on the same item"),
}
OUTCOMES: Final = ("accepted", "throttled", "error", "write_units", "read_units")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a run counted: what is wrong and what is right in sentences, then every number in tables."""

    wrong: tuple[str, ...]
    right: tuple[str, ...]
    tables: tuple[Table, ...]


def counts_of(counted: Mapping[str, float]) -> Counts | None:
    """What the section shows; None where there is nothing for it."""
    tables = [*_groups(counted), *_beside(counted)]
    if not tables:
        return None
    return Counts(wrong=tuple(_wrong(counted)), right=tuple(_right(counted)), tables=tuple(tables))


def is_wrong(name: str, number: float) -> bool:
    """Whether a counted number says that something read or added up was wrong."""
    return (name in WRONG or name == "totals.wrong") and number > 0


def word_of(name: str) -> Word:
    """A counted name in words; one that we do not know is said as it stands."""
    if name.startswith(TABLES):
        table, _, what = name.removeprefix(TABLES).rpartition(".")
        unit = {"write_units": "WCU", "read_units": "RCU"}.get(what, "")
        return Word(f"{what.replace('_', ' ')} on table {table}", unit)
    return WORDS.get(name) or Word(name.replace("_", " ").replace(".", ": ", 1))


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
    reads = [f"Wrong reads: of what {checked} should have got, {', '.join(found)}."] if found else []
    if totals := round(counted.get("totals.wrong", 0.0)):
        kept = whole(counted.get("totals.kept"))
        return [*reads, f"Wrong totals: {totals:,} of {kept} differ from the orders in the table."]
    return reads


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
        said.append(f"{whole(counted['orders.counted'])} of {whole(placed)} orders are in the totals.")
    return said


def _groups(counted: Mapping[str, float]) -> list[Table]:
    found: dict[str, list[str]] = {}
    for name in listed(counted):
        group = name.partition(".")[0]
        if not name.startswith(TABLES):
            found.setdefault(GROUPS.get(group, "Further numbers"), []).append(name)
    return [
        _table(title, [(word_of(name).words, shown(name, counted[name])) for name in names])
        for title, names in found.items()
    ]


def _table(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    return Table(caption=title, columns=("what", "number"), rows=tuple(rows), numeric=frozenset({1}))


def _beside(counted: Mapping[str, float]) -> list[Table]:
    """The tables beside the judged one, a row each."""
    names = sorted(
        {name.removeprefix(TABLES).rpartition(".")[0] for name in counted if name.startswith(TABLES)}
    )
    if not names:
        return []
    rows = tuple(
        (name, *(whole(counted.get(f"{TABLES}{name}.{what}", 0.0)) for what in OUTCOMES)) for name in names
    )
    columns = ("table", "accepted", "throttled", "failed", "WCU", "RCU")
    caption = "Tables beside the judged one"
    return [Table(caption=caption, columns=columns, rows=rows, numeric=frozenset(range(1, 6)))]
