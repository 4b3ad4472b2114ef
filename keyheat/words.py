"""Words that all rooms share: direction, constraint, grade, limit, exit codes."""

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
"""First words of urgent lines on stderr: a long wait, and Ctrl-C."""
HURRIED: Final = "KEYHEAT_HURRIED"
"""Environment variable for the stages of an interrupted run: they wait briefly for each response."""

TOGETHER: Final = "together"
"""Type of a pydantic error of several fields that disagree: their values are not shown."""


class Direction(StrEnum):
    """Reads and writes throttle independently of each other."""

    READ = "read"
    WRITE = "write"

    @property
    def unit(self) -> str:
        return "RCU" if self is Direction.READ else "WCU"


DirectionName = Literal["read", "write"]
"""A direction in load tests and files."""

READ, WRITE = Direction
WRITES_FIRST: Final = (WRITE, READ)
"""Both directions in display order: writes cost more and throttle sooner."""

Endpoint = Literal["aws", "keyheat", "other"]
"""The endpoint of a run: DynamoDB in AWS, our local table, or another one."""


def has_capacity_model(endpoint: Endpoint | None) -> bool:
    """Whether an endpoint throttles and counts units as DynamoDB does; None: local or simulated."""
    return endpoint != "other"


KnownConstraint = Literal["partition", "table", "max_on_demand", "account"]
"""A limit of DynamoDB."""

Constraint = Literal[KnownConstraint, "undetermined", "none"]
"""The constraint of a label: a limit, an unidentified one, or none."""

Grade = Literal["reason", "cause_metric", "inferred", "none"]
"""How a constraint is known, the most certain first."""

TABLE: Final = "table"
"""The table itself in labels; indexes have their names."""
INDEX_TABLE: Final = "index:table"
"""An index named `table`, which DynamoDB permits; names have no colon."""


def label_of(index: str | None) -> str:
    """Name of an index, or of the table itself (None), in files and frames."""
    return TABLE if not index else INDEX_TABLE if index == TABLE else index


def index_of(label: str | None) -> str | None:
    """The index with this name in files and frames; None: the table itself."""
    return None if label in (None, TABLE) else TABLE if label == INDEX_TABLE else label


THROTTLE_CODES: Final = frozenset(
    {"ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"}
)
"""Error codes of a throttled request; the code does not tell the cause.
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
"""Errors of admitted writes that conflict with another write on their item."""


class NotNegative:
    """Bounds for pydantic, which other code need not import."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), "ge": 0}


UnitsPerS = Annotated[float, NotNegative()]


@dataclass(frozen=True, slots=True)
class Capacity:
    """A read and a write rate in units per second; None if unknown or not set."""

    __pydantic_config__: ClassVar = {"extra": "forbid", "allow_inf_nan": False}  # for values from files

    read: UnitsPerS | None = None
    write: UnitsPerS | None = None

    def of(self, direction: Direction) -> float | None:
        """The rate of one direction."""
        return self.read if direction == READ else self.write


@dataclass(frozen=True, slots=True)
class Resource:
    """The table (`index` is None) or a global secondary index, in one direction."""

    index: str | None
    direction: Direction

    @property
    def label_name(self) -> str:
        """Its name in a diagnosis."""
        return label_of(self.index)

    @property
    def title(self) -> str:
        """Its name as a title: `table, writes`."""
        return f"{self.name.removeprefix('the ')}, {self.direction}s"

    @property
    def name(self) -> str:
        """Its name in a sentence, without its direction: `the table`."""
        return whose(self.label_name)


def whose(label: str | None) -> str:
    """A resource in a sentence, by its label: `the table`, or `index by_country`."""
    index = index_of(label)
    return "the table" if index is None else f"index {index}"


def limit_words(constraint: Constraint, resource: str | None, direction: str) -> str:
    """A limit in a sentence: `a partition limit (table writes)`."""
    return f"{LIMITS[constraint]} ({whose(resource).removeprefix('the ')} {direction}s)"


Source = Literal["aws", "local", "simulated"]
"""What answered and counted the requests: the service, a local endpoint, the simulator."""
SPEAKERS: Final[dict[Source, str]] = {
    "aws": "DynamoDB",
    "local": "the local endpoint",
    "simulated": "the simulator",
}
"""The source of reasons and counts in a sentence."""
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
}


_OF_CAPACITY: Final = (
    "auto_scaling", "raise_capacity", "raise_max_on_demand", "raise_maximum", "raise_minimum"
)  # fmt: skip


def title_of(action: str, resource: str | None = None) -> str:
    """An action as a short command, which names its index; unknown actions as they are."""
    title = TITLES.get(action) or action.replace("_", " ").capitalize()
    if resource in (None, TABLE):
        return title
    if action in _OF_CAPACITY:
        return f"{title} of {whose(resource)}"
    return title.replace("the table", whose(resource)).replace("the index's", f"{whose(resource)}'s")


_MEANT: Final = re.compile(r"([\\`*_{}\[\]<>|~#&@$])")  # special in Markdown, HTML or GitHub


def plain_in_markdown(text: str) -> str:
    """Escape text for Markdown, on one line."""
    return _MEANT.sub(r"\\\1", " ".join(text.split()))


def enumerated(words: Sequence[str]) -> str:
    """Join words in a sentence: `a`, `a and b`, `a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def capital(text: str) -> str:
    """Capitalize a sentence; file names and identifiers keep their spelling."""
    return text[0].upper() + text[1:] if re.match(r"[a-z]+[ ,:]", text) else text


def capital_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Turn a note into a sentence: with a capital and a full stop."""
    return capital(text if text.endswith((".", "!", "?")) else f"{text}.")


def glued(text: object) -> str:
    """Keep numbers on one line with their units."""
    return re.sub(r"(?<=\d) (?=(%|WCU|RCU|ms|s|min|h|d)\b|%)", "\u00a0", str(text))


def key_name(key: str, value: str | None, digits: int = DIGEST_DIGITS) -> str:
    """A key for display: its value if known, else the start of its digest."""
    if value is not None:
        return value
    kind, _, digest = key.partition(":")
    if digest:
        return f"{kind}:{digest[:digits]}"
    return key if len(key) <= digits else f"{key[: digits - 1]}…"
