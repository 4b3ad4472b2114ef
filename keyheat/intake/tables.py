"""A table as a file or an account describes it, whatever the format: what was taken, and what was not."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Attributes = Mapping[str, Any]
"""A table in the words of DescribeTable: what every format is brought into."""
Scaling = Mapping[tuple[str | None, str], Mapping[str, float]]
"""Auto scaling by index (None: the table) and side: min, max and, where it is known, target."""
SCALED: Final = re.compile(r"table/([^/]+)(?:/index/(.+))?")
"""What a scalable target names: a table, or one of its indexes."""
SIDES: Final[Mapping[str, str]] = {"ReadCapacityUnits": "read", "WriteCapacityUnits": "write"}


class NotTaken(ValueError):
    """A source of which nothing could be taken, with every reason why."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One table of a source."""

    description: Attributes
    scaling: Scaling = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what was not taken, and why

    @property
    def name(self) -> str:
        """The table's name."""
        return str(self.description["TableName"])

    @property
    def item_bytes(self) -> int | None:
        """The size of an item in the mean; None where nobody has counted."""
        items, size = self.description.get("ItemCount"), self.description.get("TableSizeBytes")
        return round(size / items) if items and size else None


@dataclass(frozen=True, slots=True)
class Source:
    """What a file holds: its tables, and what is in it that is none."""

    format: str  # in words
    tables: tuple[SourceTable, ...]
    notes: tuple[str, ...] = ()


def described(requested: Attributes) -> dict[str, Any]:
    """A CreateTable request, or what is written as one, as DescribeTable would answer it."""
    mode = requested.get("BillingMode") or "PROVISIONED"
    return {
        **{name: value for name, value in requested.items() if value is not None},
        "BillingModeSummary": {"BillingMode": mode},
        "GlobalSecondaryIndexes": list(requested.get("GlobalSecondaryIndexes") or ()),
        "LocalSecondaryIndexes": list(requested.get("LocalSecondaryIndexes") or ()),
    }


def lacks(description: Attributes) -> Iterator[str]:
    """Why a description is of no use: what every table has, and this one does not say."""
    if not description.get("KeySchema"):
        yield "its keys (KeySchema) are not said"
    types = {one.get("AttributeName") for one in description.get("AttributeDefinitions") or ()}
    owners = [description, *_indexes(description)]
    used = [element.get("AttributeName") for owner in owners for element in owner.get("KeySchema") or ()]
    for name in dict.fromkeys(used):
        if name not in types:
            yield f"the type of its key attribute {name} is not said"


def left_out(description: Attributes) -> Iterator[str]:
    """What of a table a scenario has no place for."""
    for index in _indexes(description):
        kinds = [element["KeyType"] for element in index["KeySchema"]]
        if len(kinds) > len(set(kinds)):
            yield f"index {index['IndexName']} has keys of several attributes: the first of each is taken"
    regions = [str(one.get("RegionName") or one.get("Region")) for one in description.get("Replicas") or ()]
    if regions:
        yield f"its replicas ({', '.join(regions)}): each write is paid for there, too"
    if description.get("TableClass") not in (None, "STANDARD"):
        yield f"its class {description['TableClass']}: costs are those of the standard class"


def _indexes(description: Attributes) -> Sequence[Attributes]:
    return [
        *(description.get("GlobalSecondaryIndexes") or ()),
        *(description.get("LocalSecondaryIndexes") or ()),
    ]
