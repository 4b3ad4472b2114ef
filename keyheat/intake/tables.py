"""A table as a file or an account describes it, whatever the format: what was taken, and what was not."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from keyheat.intake.description import table_of
from keyheat.intake.faults import lacks
from keyheat.intake.left_out import left_out, mean_item_bytes, states
from keyheat.intake.scaling import Scaling, steered
from keyheat.intake.vocabulary import Attributes


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


def in_a_line(text: str) -> str:
    """Words of a source, as a comment and a terminal may have them."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
