"""The words that every room shares, each said once: direction, constraint, grade, limit, exit codes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Literal

DONE, BROKEN, WRONG_USE, INVALID, REFUSED, DEFECT, INTERRUPTED = 0, 1, 2, 3, 4, 70, 130
"""Exit codes: all is well; a threshold broken or the load stopped; wrong use or bad input, nothing started;
the run says nothing, or evidence is missing; refused for safety; stopped by a signal."""

WAITING: Final = "waiting for"
ENDING: Final = "ending;"
"""How lines on stderr begin, after our name, that are shown at once: a long wait, and that Ctrl-C came."""
HURRIED: Final = "KEYHEAT_HURRIED"
"""Environment variable for the stages of an interrupted run: they wait briefly for each response."""


class Direction(StrEnum):
    """Reads and writes throttle independently of each other."""

    READ = "read"
    WRITE = "write"

    @property
    def unit(self) -> str:
        """The capacity unit: RCU or WCU."""
        return "RCU" if self is Direction.READ else "WCU"


DirectionName = Literal["read", "write"]
"""A direction as a load test and a file spell it."""

READ, WRITE = Direction
WRITES_FIRST: Final = (WRITE, READ)
"""Both directions as they are shown: what is written costs more, and throttles sooner."""

Endpoint = Literal["aws", "keyheat", "other"]
"""Whose endpoint a run loads: DynamoDB in AWS, a local table of ours, or another one."""


def has_capacity_model(endpoint: Endpoint | None) -> bool:
    """Whether an endpoint throttles and counts units as DynamoDB does; None: a local table, a simulation."""
    return endpoint != "other"


KnownConstraint = Literal["partition", "table", "max_on_demand", "account"]
"""A limit of DynamoDB's that a request can run into."""

Constraint = Literal[KnownConstraint, "undetermined", "none"]
"""What a label says: a limit, one that the evidence does not identify, or none."""

Grade = Literal["reason", "cause_metric", "inferred", "none"]
"""How a constraint is known, the surest first."""

TABLE: Final = "table"
"""What labels call the table itself; an index goes by its name."""
INDEX_TABLE: Final = "index:table"
"""What they call an index whose name is `table`, which DynamoDB permits: no name has a colon."""


def label_of(index: str | None) -> str:
    """What files and frames call an index, or the table itself (None)."""
    return TABLE if not index else INDEX_TABLE if index == TABLE else index


def index_of(label: str | None) -> str | None:
    """The index that files and frames call so; None: the table itself."""
    return None if label in (None, TABLE) else TABLE if label == INDEX_TABLE else label


THROTTLE_CODES: Final = frozenset(
    {"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"}
)
"""Error codes of a throttled request; which one it is says nothing about the cause.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html"""
CONTENTION_ERRORS: Final = frozenset(
    {
        "TransactionConflict",
        "TransactionConflictException",
        "ConditionalCheckFailed",
        "ReplicatedWriteConflictException",
        "ReplicationInProgress",
    }
)
"""Errors of writes that the table admitted, and that another write on their item stopped."""


class NotNegative:
    """Bounds that pydantic checks in files; plain, so that other code need not load pydantic."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), "ge": 0}


UnitsPerS = Annotated[float, NotNegative()]


@dataclass(frozen=True, slots=True)
class Capacity:
    """A read and a write rate in units per second; None if unknown or not set."""

    __pydantic_config__: ClassVar = {"extra": "forbid", "allow_inf_nan": False}  # of one read from a file

    read: UnitsPerS | None = None
    write: UnitsPerS | None = None

    def of(self, direction: Direction) -> float | None:
        """The rate of one direction."""
        return self.read if direction == READ else self.write


@dataclass(frozen=True, slots=True)
class Resource:
    """The table (`index` is None) or a global secondary index, in one direction: what a limit belongs to."""

    index: str | None
    direction: Direction

    @property
    def label_name(self) -> str:
        """What a diagnosis calls it."""
        return label_of(self.index)

    @property
    def title(self) -> str:
        """What a person calls it: `table, writes`."""
        return f"{self.place.removeprefix('the ')}, {self.direction}s"

    @property
    def place(self) -> str:
        """What a sentence calls it, without its direction: `the table`."""
        return whose(self.label_name)


def whose(label: str | None) -> str:
    """A resource in a sentence, by what labels call it: `the table`, or `index by_country`."""
    index = index_of(label)
    return "the table" if index is None else f"index {index}"


def limit_words(constraint: Constraint, resource: str | None, direction: str) -> str:
    """A limit in a sentence: `a partition limit (table writes)`."""
    return f"{LIMITS[constraint]} ({whose(resource).removeprefix('the ')} {direction}s)"


Source = Literal["aws", "local", "simulated"]
"""What answered the requests, and counted them: the service, an endpoint of this machine, the simulator."""
SPEAKERS: Final[dict[Source, str]] = {
    "aws": "DynamoDB",
    "local": "the local endpoint",
    "simulated": "the simulator",
}
"""Who gave a reason or counted a throttle, in a sentence."""
DIGEST_DIGITS: Final = 12
LIMITS: Final[dict[Constraint, str]] = {
    "partition": "a partition limit",
    "table": "the provisioned capacity",
    "max_on_demand": "the on-demand maximum",
    "account": "the account's quota",
    "undetermined": "an unidentified limit",
    "none": "no limit",
}
TITLES: Final = {
    "auto_scaling": "Turn on auto scaling",
    "back_off": "Retry with jitter, or queue",
    "cache_reads": "Cache the popular items",
    "change_index_key": "Shard the index's partition key",
    "collect_evidence": "Collect more evidence",
    "on_demand": "Switch to on-demand mode",
    "pre_warm": "Pre-warm the table",
    "queue_writes": "Queue what is given up",
    "raise_account_quota": "Ask for a higher quota",
    "raise_capacity": "Raise the capacity",
    "raise_cardinality": "Use a partition key with more values",
    "raise_max_on_demand": "Raise the on-demand maximum",
    "raise_maximum": "Raise the maximum of auto scaling",
    "raise_minimum": "Keep a higher minimum capacity",
    "ramp": "Ramp the load up",
    "read_eventually_consistent": "Read eventually consistent",
    "replicate_reads": "Keep copies of the hot item",
    "shard_date_key": "Shard every date",
    "shard_writes": "Shard the hot key",
    "slow_scans": "Slow the scans down",
}


_OF_CAPACITY: Final = (
    "auto_scaling", "raise_capacity", "raise_max_on_demand", "raise_maximum", "raise_minimum"
)  # fmt: skip


def title_of(action: str, resource: str | None = None) -> str:
    """What to do as a short command, which names the index that it is for.

    An action that we do not know is said as it stands.
    """
    title = TITLES.get(action) or action.replace("_", " ").capitalize()
    if resource in (None, TABLE):
        return title
    if action in _OF_CAPACITY:
        return f"{title} of {whose(resource)}"
    return title.replace("the table", whose(resource)).replace("the index's", f"{whose(resource)}'s")


_MEANT: Final = re.compile(r"([\\`*_{}\[\]<>|~#&@$])")  # something else to Markdown, HTML or GitHub


def plain_in_markdown(text: str) -> str:
    """Text that says what it says, whatever Markdown could take it for, on one line."""
    return _MEANT.sub(r"\\\1", " ".join(text.split()))


def enumerated(words: Sequence[str]) -> str:
    """Words within a sentence: `a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def capital(text: str) -> str:
    """A line that begins as a sentence does; file names and identifiers keep their spelling."""
    return text[0].upper() + text[1:] if re.match(r"[a-z]+[ ,:]", text) else text


def capital_first(text: str) -> str:
    """Words with a capital at their beginning, whatever it is."""
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """A note as a sentence: with a capital and a full stop."""
    return capital(text if text.endswith((".", "!", "?")) else f"{text}.")


def glued(text: object) -> str:
    """Text whose numbers stay on one line with their units."""
    return re.sub(r"(?<=\d) (?=(%|WCU|RCU|ms|s|min|h|d)\b|%)", "\u00a0", str(text))


def key_name(key: str, value: str | None, digits: int = DIGEST_DIGITS) -> str:
    """A key as it is shown: its value where the run shows values, else the start of its digest."""
    if value is not None:
        return value
    kind, _, digest = key.partition(":")
    if digest:
        return f"{kind}:{digest[:digits]}"
    return key if len(key) <= digits else f"{key[: digits - 1]}…"
