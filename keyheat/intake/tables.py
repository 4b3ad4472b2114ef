"""A table as a file or an account describes it, whatever the format: what was taken, and what was not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import ceil
from typing import Any, Final

from keyheat.intake.description import mixed_types, table_of, types_of
from keyheat.intake.faults import indexes_of, lacks, named
from keyheat.intake.scaling import Scaling, steered
from keyheat.intake.vocabulary import Attributes
from keyheat.model.limits import MAX_ITEM_BYTES, PARTITION_BYTES
from keyheat.model.resources import capacities_to_aws
from keyheat.runs.formats import IndexFacts, KeyAttribute, TableFacts
from keyheat.runs.table_facts import mode_of
from keyheat.scenario.spec.part import is_number


class NotTaken(ValueError):
    """A source of which nothing could be taken, with every reason why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """One table of a source."""

    description: Attributes
    address: str  # what the source calls it: a logical id, an address of Terraform, or the table's name
    scaling: Scaling = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what was not taken, and why
    remarks: tuple[str, ...] = ()  # what else is to be known

    @property
    def name(self) -> str:
        """The table's name."""
        return str(self.description["TableName"])

    @property
    def item_bytes(self) -> int | None:
        """The size of an item in the mean; None where nobody has counted."""
        return mean_item_bytes(self.description)

    def scaled_by(self, bounds: Scaling, policies: Scaling) -> "SourceTable":
        """The table with the scaling of its targets that have a policy; the others are noted."""
        scaling, said = steered(self.description, bounds, policies)
        return replace(self, scaling=scaling, notes=(*self.notes, *said))


@dataclass(frozen=True, slots=True)
class Source:
    """What a file holds: its tables, and what is in it that is none."""

    format: str  # in words
    tables: tuple[SourceTable, ...]
    notes: tuple[str, ...] = ()

    def choose(self, name: str | None) -> SourceTable:
        """The table of this name or address, or the only one. Raises `ValueError` with what there is."""
        names = [table.name for table in self.tables]
        if name is None and len(names) == 1:
            return self.tables[0]
        for table in self.tables:
            if name in (table.address, table.name):
                return table
        why = f"it has no table {name!r}" if name else f"it has {len(names)} tables"
        if near := get_close_matches(name or "", names, n=1):
            why += f", did you mean {near[0]}?"
        raise ValueError(f"{why}: add --only with one of {', '.join(names)}")


def described(requested: Attributes) -> dict[str, Any]:
    """A CreateTable request, or what is written as one, as DescribeTable would answer it."""
    mode = requested.get("BillingMode") or "PROVISIONED"
    return {
        **{name: value for name, value in requested.items() if value is not None},
        "BillingModeSummary": {"BillingMode": mode},
        "GlobalSecondaryIndexes": list(requested.get("GlobalSecondaryIndexes") or ()),
        "LocalSecondaryIndexes": list(requested.get("LocalSecondaryIndexes") or ()),
    }


def taken(
    address: str, found: Mapping[str, Any], notes: list[str], said: Iterable[str] = ()
) -> Iterator[SourceTable]:
    """The table that is described; none where it lacks what every table has, which is noted."""
    unique = dict.fromkeys(in_a_line(one) for one in said)
    if wrong := [f"{address}: {one}" for one in lacks(found)]:
        notes += dict.fromkeys((*map(in_a_line, wrong), *unique))
        return
    table_of(found)  # raises where it is not written as a table is
    yield SourceTable(
        description=found,
        address=address,
        notes=tuple(dict.fromkeys((*unique, *map(in_a_line, left_out(found))))),
        remarks=tuple(map(in_a_line, states(found))),
    )


def of_facts(facts: TableFacts) -> SourceTable:
    """A table that evidence describes, as `SourceTable`; unknown keys and projections are assumed.

    Raises `NotTaken` if its mode or capacity is unknown, or its keys are not those of a table.
    """
    if facts.billing_mode is None or (facts.billing_mode == "PROVISIONED" and facts.provisioned is None):
        raise NotTaken(
            f"the evidence does not say what {facts.name} has: collect it with --describe-json, "
            "or name a file that describes the table"
        )

    assumed = [KeyAttribute(name=f"index_{n}", type="S", role="HASH") for n in range(1 + len(facts.indexes))]
    assumed[0] = KeyAttribute(name="pk", type="S", role="HASH")
    owners: Sequence[TableFacts | IndexFacts] = (facts, *facts.indexes)
    keys = [owner.keys or (key,) for owner, key in zip(owners, assumed, strict=True)]
    table, *indexes = [_described(owner, its) for owner, its in zip(owners, keys, strict=True)]
    types = {key.name: key.type for its in keys for key in its}
    description = {
        "TableName": facts.name,
        "BillingMode": facts.billing_mode,
        "AttributeDefinitions": [{"AttributeName": n, "AttributeType": kind} for n, kind in types.items()],
        **table,
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index.name,
                "Projection": {
                    "ProjectionType": index.projection or "ALL",
                    "NonKeyAttributes": list(index.include),
                },
                **its,
            }
            for index, its in zip(facts.indexes, indexes, strict=True)
        ],
    }
    notes: list[str] = []
    for source in taken(facts.name, described(description), notes):
        return replace(source, remarks=tuple(_assumptions(facts)))
    raise NotTaken("; ".join(notes))


def _described(owner: TableFacts | IndexFacts, keys: Iterable[KeyAttribute]) -> dict[str, Any]:
    return {
        "KeySchema": [{"AttributeName": key.name, "KeyType": key.role} for key in keys],
        **capacities_to_aws(owner),
    }


def _assumptions(facts: TableFacts) -> Iterator[str]:
    """What of a table's keys and indexes the evidence does not say, and how to say it."""
    if not (facts.keys and all(index.keys for index in facts.indexes)):
        yield (
            "the names of key attributes are assumed, and that indexes project all; to use the real ones: "
            f"aws dynamodb describe-table --table-name {facts.name} > table.json; "
            "keyheat init table.json --from-diagnosis DIR"
        )
    if facts.has_lsi:
        yield "local indexes are left out; the item size includes their units"


def in_a_line(text: str) -> str:
    """Words of a source, as a comment and a terminal may have them."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


LEAST_ITEM_BYTES: Final = 100
"""The smallest item that a scenario has; one write unit, as smaller ones are."""


def left_out(description: Attributes) -> Iterator[str]:
    """What of a table a scenario has no place for."""
    types = types_of(description)
    for index in indexes_of(description):
        if mixed_types(index, types):
            yield f"index {index['IndexName']}: attributes of one key are of several types: the first one's"
    yield from _size(description)
    yield from (said for field, said in UNUSED.items() if _on(description.get(field)))
    summary = description.get("TableClassSummary") or {}
    if (table_class := description.get("TableClass") or summary.get("TableClass")) not in (None, "STANDARD"):
        yield f"its class {table_class}, whose units cost more: prices are those of the standard class"
    if description.get("MultiRegionConsistency") == "STRONG":
        yield "its strong consistency between Regions: copies are played as those of an eventual one"
    for replica in description.get("Replicas") or ():
        yield from _elsewhere(replica, description)


def states(description: Attributes) -> Iterator[str]:
    """What is to be known of a table that is there and not simply active."""
    for whose, status in (
        ("its TableStatus", description.get("TableStatus")),
        *((f"the IndexStatus of {named(one)}", one.get("IndexStatus")) for one in indexes_of(description)),
    ):
        if status not in (None, "ACTIVE"):
            yield f"{whose} is {status}"


def mean_item_bytes(description: Attributes) -> int | None:
    """The size of an item in the mean; None where nobody has counted, or counted what cannot be."""
    items, size = description.get("ItemCount"), description.get("TableSizeBytes")
    if not (is_number(items) and is_number(size) and items > 0 and size > 0):
        return None
    mean = max(LEAST_ITEM_BYTES, round(size / items))
    return mean if mean <= MAX_ITEM_BYTES else None


def _size(description: Attributes) -> Iterator[str]:
    items, size = description.get("ItemCount"), description.get("TableSizeBytes")
    if size and items and mean_item_bytes(description) is None:
        yield f"its TableSizeBytes {size!r} with its ItemCount {items!r}: there are no such items"
    elif size and items and size / items < LEAST_ITEM_BYTES:
        yield f"its mean item has {size / items:.0f} bytes: the scenario's have {LEAST_ITEM_BYTES}"
    elif is_number(size) and size > PARTITION_BYTES and not description.get("WarmThroughput"):
        least = ceil(size / PARTITION_BYTES)
        yield (
            f"its size, {size / 1e9:,.0f} GB: it has {least:,} partitions at least, and the scenario's table "
            "as many as its capacity makes, so keys share partitions more often there"
        )


def _on(part: object) -> bool:
    """Whether a part of a table is there, and not switched off."""
    switches = part.items() if isinstance(part, Mapping) else ()
    off = any(name.endswith("Enabled") and str(one).lower() == "false" for name, one in switches)
    return bool(part) and not off


def _elsewhere(replica: Attributes, description: Attributes) -> Iterator[str]:
    """What another Region reads by a capacity of its own."""
    mode = mode_of(description)
    here = {one.get("IndexName"): one for one in indexes_of(description)}
    others = [("the table", replica, description)]
    others += [
        (f"index {one.get('IndexName')}", one, here.get(one.get("IndexName"), {}))
        for one in replica.get("GlobalSecondaryIndexes") or ()
    ]
    said = [
        f"{what} {there}"
        for what, part, own in others
        if (there := _reads(part, mode)) and there != _reads(own, mode)
    ]
    if said:
        yield (
            f"the read capacity of Region {replica['RegionName']} ({', '.join(said)}): "
            "the scenario's table has the same in all Regions"
        )


def _reads(part: Attributes, mode: str) -> str | None:
    """What a Region reads of a table or an index, in words; None where it is not said."""
    names = REPLICATED[mode]
    found: Mapping[str, Any] = next((part[name] for name in names if part.get(name)), {})
    scaled = found.get("ReadCapacityAutoScalingSettings") or (part.get("Scaling") or {}).get("read")
    if mode == "PROVISIONED" and scaled:
        return f"{scaled.get('MinCapacity')} to {scaled.get('MaxCapacity')} RCU/s"
    units = found.get("ReadCapacityUnits" if mode == "PROVISIONED" else "MaxReadRequestUnits")
    return f"{units} RCU/s" if units else None


REPLICATED: Final[Mapping[str, tuple[str, ...]]] = {
    "PROVISIONED": (
        "ReadProvisionedThroughputSettings", "ProvisionedThroughputOverride", "ProvisionedThroughput"
    ),
    "PAY_PER_REQUEST": (
        "ReadOnDemandThroughputSettings", "OnDemandThroughputOverride", "OnDemandThroughput"
    ),
}  # fmt: skip
"""Where the reads of a Region are said: of a replica in CloudFormation and DescribeTable, and of a table."""
UNUSED: Final[Mapping[str, str]] = {
    "TimeToLiveSpecification": "its time to live: deletions by it cost nothing, and are not played",
    "PointInTimeRecoverySpecification": "its point-in-time recovery: it costs, and is not counted",
    "KinesisStreamSpecification": "its Kinesis stream: it costs, and is not counted",
    "ImportSourceSpecification": "its import: a run begins with an empty table",
    "ContributorInsightsSpecification": "its Contributor Insights: a run leaves it as it is",
    "VectorIndexes": "its vector indexes: they are neither loaded nor counted",
}
"""Parts of a table that change nothing of what throttles."""
