"""What a load test sends, as a rehearsal has learnt it: plain values, which the simulator makes flows of.

    RehearsedLoadTest --> UserClass --> RehearsedTask (by its weight) --> RequestKind (so often in each task)

`Text` is a key as the load test makes it: `{key}` stands for what the scenario's pattern draws, `{time}` for
what only ever grows, `{0..19}` for any of these numbers, all equally likely, `{@0}` for the values of the
scenario's first attribute.
"""

import re
from dataclasses import dataclass
from typing import Literal

Within = Literal["point", "random", "rising"]
What = Literal["put", "update", "delete", "get", "query"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """The law of a text: how it is made, or else how often each value was seen."""

    made: str | None = None  # such as "{key}#{0..19}"; None: nobody can say, and these were seen:
    seen: tuple[tuple[str, float], ...] = ()  # values that were seen again and again, as parts of all
    distinct: float | None = None  # how many values the others are of; None: a new one each time
    known: bool = False  # of an item that was written before
    owners: int | None = None  # so many users, each of which has one and stays with it; None: one each time


ATTRIBUTE = re.compile(r"\{@(\d+)\}")


def attribute_mark(place: int) -> str:
    """The text that stands for a value of an attribute, by its place among those of the scenario.

    The scenario says how often each value is had, so that nothing is to be learnt of it.
    """
    return f"{{@{place}}}"


FRESH = Text()
"""A new value each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexKey:
    """A key attribute of a global index, as items have it."""

    text: Text
    within: Within  # where entries go within their collection
    present: float = 1.0  # the part of the items that has it
    of_drawn_key: bool = False  # whether its index sorts a value by the key that was drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """The part of a collection that a query asks for: sort keys that begin with some text."""

    part: float = 1.0
    of_drawn_key: bool = False  # it begins with a drawn key, and the collection does not
    window_s: float | None = None  # it is a time: so long a window of it ...
    ago_s: float = 0.0  # ... which began so long ago


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKind:
    """Requests of one kind that a task sends."""

    operation: str  # DynamoDB's name: PutItem, BatchGetItem ...
    what: What  # is done to each item
    key: Text
    times: float  # items per task, in the mean
    items: float = 1.0  # per request
    together: bool = False  # a transaction
    beside: bool = False  # of a batch or transaction: items that go with those of the kind before
    table: str | None = None  # a companion
    index: str | None = None
    within: Within = "point"
    alone: bool = False  # the partition key alone names the item
    found: float = 0.0  # the part of the requests whose item was there
    known: bool = False  # of items that the user has written and remembers
    just_written: bool = False  # of items that the same task has written before
    if_absent: bool = False  # a condition: nothing is there
    if_missing: bool = False  # sent where a read of the same key has found nothing
    own_bytes: float | None = None  # the item's size, where it is not the scenario's
    more_bytes: int = 0  # that an update adds
    attributes: tuple[tuple[str, IndexKey], ...] = ()  # key attributes of indexes that are set
    consistent: bool = False
    limit: int | None = None
    prefix: Prefix | None = None
    reads: float = 0.0  # reads as an application counts them, per task: of many requests each
    from_s: float = 0.0
    until_s: float | None = None  # None: to the end of the run


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedTask:
    """What one user does at a time."""

    name: str
    weight: float
    kinds: tuple[RequestKind, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UserClass:
    """Users of one class."""

    name: str
    weight: float
    fixed_count: int | None
    tasks: tuple[RehearsedTask, ...]
    cached: bool = False  # its reads go through a cache, where the scenario has one
    simulated_as: str | None = None  # the function of the simulator that stands for them


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedLoadTest:
    """A load test, learnt."""

    users: tuple[UserClass, ...]
    asks_for_shards: bool  # what it sends follows from the scenario's number of shards
    counts: tuple[tuple[str, float], ...] = ()  # what it counts whatever comes of its requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsed:
    """What came of a rehearsal: a load test, or everything that is wrong with it."""

    loadtest: RehearsedLoadTest | None = None
    wrong: tuple[str, ...] = ()  # with the file itself: nobody can run it
    unlearnt: tuple[str, ...] = ()  # what Locust may run, and a rehearsal cannot tell
