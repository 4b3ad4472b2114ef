"""Table descriptions from any source: what was read, and what was left out."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from math import ceil
from typing import Any, Final

from keyheat.intake.description import (
    fields_of,
    find_faults,
    index_name,
    indexes_of,
    mixed_types,
    table_of,
)
from keyheat.intake.scaling import Attributes, Scaling, Sides, match_scaling
from keyheat.model.limits import MAX_ITEM_BYTES, PARTITION_BYTES
from keyheat.runs.table_facts import AutoScaling, TableFacts, types_of
from keyheat.scenario.spec.part import is_number
from keyheat.words import Capacity


class NotTaken(ValueError):
    """A source without a usable table, with every reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """One table of a source."""

    fields: Attributes  # of a `TableSpec`
    address: str  # the source's name: a logical id, a Terraform address, or the table's name
    item_bytes: int | None = None  # the mean; None: unknown
    replicas: tuple[str, ...] = ()  # other Regions
    scaling: Scaling = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what was left out, and why
    remarks: tuple[str, ...] = ()  # other facts worth knowing

    @property
    def name(self) -> str:
        """The table's name."""
        return str(self.fields["name"])

    def scaled_by(self, sides: Sides) -> "SourceTable":
        """Add the scaling of targets with a policy, and notes on the others."""
        scaling, problems = match_scaling(self.fields, sides)
        return replace(self, scaling=scaling, notes=(*self.notes, *problems))

    def with_auto_scaling(self, scaling: AutoScaling) -> "SourceTable":
        """Add auto scaling as AWS described it, or a note why it is unknown."""
        if scaling.why is not None:
            return replace(self, notes=(*self.notes, f"its auto scaling, which is unknown: {scaling.why}"))
        sides = {}
        for side in scaling.scaled:
            fields = side.model_dump(exclude={"index", "side"}, exclude_none=True)
            sides[side.index, str(side.side)] = fields, fields if "target" in fields else None
        return self.scaled_by(sides)


@dataclass(frozen=True, slots=True)
class Source:
    """Tables of a file; `notes` may concern any of them, `others` concern what is not among them."""

    format: str  # as a phrase
    tables: tuple[SourceTable, ...]
    notes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def choose(self, name: str | None) -> SourceTable:
        """The table of this name or address, or the only one. Raises `ValueError` with the choices."""
        names = [table.name for table in self.tables]
        if name is None and len(names) == 1:
            return self.tables[0]
        for table in self.tables:
            if name in (table.address, table.name):
                return table
        why = f"it has no table {name!r}" if name else f"it has {len(names)} tables"
        if near := get_close_matches(name or "", names, n=1):
            why += f", did you mean {near[0]}?"
        if about := [note for note in self.others if name and note.startswith(f"{name}:")]:
            raise ValueError(f"{'; '.join(about)}; other tables for --only: {', '.join(names)}")
        raise ValueError(f"{why}: {'use' if name else 'add'} --only with one of {', '.join(names)}")


def as_description(requested: Attributes) -> dict[str, Any]:
    """Convert a CreateTable request, or similar properties, to a DescribeTable response."""
    mode = requested.get("BillingMode") or "PROVISIONED"
    return {
        **{name: value for name, value in requested.items() if value is not None},
        "BillingModeSummary": {"BillingMode": mode},
        "GlobalSecondaryIndexes": list(requested.get("GlobalSecondaryIndexes") or ()),
        "LocalSecondaryIndexes": list(requested.get("LocalSecondaryIndexes") or ()),
    }


def attributes_of(types: Mapping[str, str]) -> list[dict[str, str]]:
    """AttributeDefinitions of these types by name."""
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def accept_table(
    address: str, description: Mapping[str, Any], notes: list[str], problems: Iterable[str] = ()
) -> Iterator[SourceTable]:
    """Yield the described table; yield nothing and add notes if it lacks a required property."""
    unique = dict.fromkeys(printable_line(problem) for problem in problems)
    if wrong := [f"{address}: {problem}" for problem in find_faults(description)]:
        notes += dict.fromkeys((*map(printable_line, wrong), *unique))
        return
    statuses = {"its TableStatus": description.get("TableStatus")}
    for index in indexes_of(description):
        statuses[f"the IndexStatus of {index_name(index)}"] = index.get("IndexStatus")
    yield SourceTable(
        fields=table_of(description),  # raises for a malformed table
        address=address,
        item_bytes=mean_item_bytes(description),
        replicas=tuple(str(replica["RegionName"]) for replica in description.get("Replicas") or ()),
        notes=tuple(dict.fromkeys((*unique, *map(printable_line, list_omissions(description))))),
        remarks=tuple(
            printable_line(f"{what} is {status}")
            for what, status in statuses.items()
            if status not in (None, "ACTIVE")
        ),
    )


def source_of_facts(facts: TableFacts) -> SourceTable:
    """Convert a table in evidence to a `SourceTable`; unknown keys and projections are assumed.

    Raises `NotTaken` if its mode or capacity is unknown.
    """
    mode, units = facts.billing_mode, facts.provisioned or Capacity()
    if mode is None or (mode == "PROVISIONED" and None in (units.read, units.write)):
        raise NotTaken(
            f"the evidence lacks mode or capacity of {facts.name}: collect it with --describe-json, "
            "or give a file that describes the table"
        )
    remarks = []
    if not (facts.keys and all(index.keys for index in facts.indexes)):
        remarks.append(
            "names of key attributes are assumed, and that indexes project everything; for the facts: "
            f"aws dynamodb describe-table --table-name {facts.name} > table.json; "
            "keyheat init table.json --from-diagnosis DIR"
        )
    if facts.has_lsi:
        remarks.append("local indexes are left out; their units are part of the item size")
    return SourceTable(
        fields=fields_of(facts), address=facts.name, replicas=facts.replicas, remarks=tuple(remarks)
    )


def printable_line(text: str) -> str:
    """Replace characters that a comment or a terminal must not contain."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


LEAST_ITEM_BYTES: Final = 100
"""The smallest item of a scenario: one write unit, as for smaller items."""


def list_omissions(description: Attributes) -> Iterator[str]:
    """Properties of a table that a scenario cannot express."""
    types = types_of(description)
    for index in indexes_of(description):
        if mixed_types(index, types):
            yield f"index {index['IndexName']}: its key attributes differ in type; the first type is used"
    yield from _size(description)
    for field_name, text in UNUSED.items():
        value = description.get(field_name)
        switches = value.items() if isinstance(value, Mapping) else ()
        off = (str(switch).lower() == "false" for name, switch in switches if name.endswith("Enabled"))
        if value and not any(off):
            yield text
    summary = description.get("TableClassSummary") or {}
    if (table_class := description.get("TableClass") or summary.get("TableClass")) not in (None, "STANDARD"):
        yield f"its class {table_class}, whose units cost more: prices are for the standard class"
    if description.get("MultiRegionConsistency") == "STRONG":
        yield "its strong consistency between Regions: simulated as eventual consistency"
    for replica in description.get("Replicas") or ():
        owners = (replica, *(replica.get("GlobalSecondaryIndexes") or ()))
        if any(owner.get(name) for owner in owners for name in READS):
            yield (
                f"the read capacity of Region {replica['RegionName']}, which differs: "
                "the scenario's table has the same capacity in all Regions"
            )


def mean_item_bytes(description: Attributes) -> int | None:
    """Mean item size; None if unknown or impossible."""
    items, size = description.get("ItemCount"), description.get("TableSizeBytes")
    if not (is_number(items) and is_number(size) and items > 0 and size > 0):
        return None
    mean = max(LEAST_ITEM_BYTES, round(size / items))
    return mean if mean <= MAX_ITEM_BYTES else None


def _size(description: Attributes) -> Iterator[str]:
    items, size = description.get("ItemCount"), description.get("TableSizeBytes")
    if size and items and mean_item_bytes(description) is None:
        yield f"its TableSizeBytes {size!r} with its ItemCount {items!r}: impossible item size"
    elif size and items and size / items < LEAST_ITEM_BYTES:
        yield f"its mean item has {size / items:.0f} bytes; the scenario's items have {LEAST_ITEM_BYTES}"
    elif is_number(size) and size > PARTITION_BYTES and not description.get("WarmThroughput"):
        least = ceil(size / PARTITION_BYTES)
        yield (
            f"its size, {size / 1e9:,.0f} GB: it has at least {least:,} partitions, but the scenario's table "
            "only those that its capacity needs, so keys share partitions more often"
        )


READS: Final = (
    "ReadProvisionedThroughputSettings", "ReadOnDemandThroughputSettings", "ProvisionedThroughputOverride",
    "OnDemandThroughputOverride",
)  # fmt: skip
"""Properties of a replica whose reads differ, in CloudFormation and DescribeTable."""
UNUSED: Final[Mapping[str, str]] = {
    "TimeToLiveSpecification": "its time to live: its deletions are free, and not simulated",
    "PointInTimeRecoverySpecification": "its point-in-time recovery: its cost is not counted",
    "KinesisStreamSpecification": "its Kinesis stream: its cost is not counted",
    "ImportSourceSpecification": "its import: a run starts with an empty table",
    "ContributorInsightsSpecification": "its Contributor Insights: a run does not change it",
    "VectorIndexes": "its vector indexes: neither loaded nor counted",
}
"""Properties without influence on throttles."""
