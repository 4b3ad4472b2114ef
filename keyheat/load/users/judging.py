"""What a read got, held against what it must have got: missing, duplicate and misordered items, counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from keyheat.load.users.collections import Item, Query

if TYPE_CHECKING:
    from keyheat.load.users.ledger import Ledger

SETTLE_S = 2.0
"""After this long an acknowledged write is to be seen by eventually consistent reads, and in global indexes.
AWS states "a fraction of a second, under normal conditions" for indexes, and no bound:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html"""


@dataclass(frozen=True, slots=True)
class Judged:
    """What is wrong with one read, and how many items it had to find at least."""

    required: int = 0
    missing: int = 0
    duplicate: int = 0
    misordered: int = 0


def judge(
    items: Sequence[Item], query: Query, shards: Sequence[str], ledger: "Ledger", *, began_s: float
) -> Judged:
    """Judge one whole read that began at `began_s` of the ledger's clock.

    A strongly consistent read must show what was acknowledged before it began, an eventually consistent one
    what was acknowledged `SETTLE_S` before. An item that moves within an index while it is read may be seen
    at both of its places; it is a duplicate only where it is seen twice at the same one.
    """
    values = [query.sort_value(item) for item in items]
    found = [ledger.identity(query.table, item) for item in items]
    cut = query.limit is not None and len(items) >= query.limit
    before_s = began_s if query.consistent else began_s - SETTLE_S
    must = set(ledger.required(query, shards, before_s=before_s, last=values[-1] if cut else None))
    return Judged(
        required=len(must),
        missing=len(must.difference(found)),
        duplicate=len(items) - len(set(zip(found, values, strict=True))),
        misordered=_inversions(values, query),
    )


def _inversions(values: Sequence[object], query: Query) -> int:
    """How often an item comes right after one that should follow it."""
    later, earlier = (0, 1) if query.descending else (1, 0)
    return sum(pair[later] < pair[earlier] for pair in pairwise(values))  # type: ignore[operator]
