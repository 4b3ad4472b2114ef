"""A run in a few numbers, as it is kept, searched and compared: `summary.json` beside its other files."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from analyzers.formats import Confidence, Constraint, Direction, Grade
from analyzers.values import Quantity, Time

SUMMARY = "keyheat.summary/1"
NAME = "summary.json"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Setup(_Part):
    """What a run was measured on: two runs whose setups differ measure different things."""

    target: str  # simulated | local | aws | the endpoint's URL
    region: str | None = None
    machine: str | None = None  # digest of CPU model, cores and memory; None for a simulated run
    machine_says: str | None = None  # the same in words: "2 cores, 24 GiB, Intel Xeon"
    scale: float = 1.0
    table: Mapping[str, str | float | bool | None] = {}  # mode, capacities, indexes: flat, by path
    scenario: str  # digest of all that decides what is sent; names, seeds and words are not in it
    versions: Mapping[str, str | None] = {}  # keyheat, python, boto3, locust


class RunSummary(_Part):
    """One run in a few numbers. What is not known is absent, and never zero."""

    run_id: str
    scenario: str
    question: str = ""
    started_at: Time
    duration_s: Quantity
    seed: int | None = None
    status: str
    setup: Setup
    valid: bool
    constraint: Constraint
    resource: str
    direction: Direction | None = None
    grade: Grade
    confidence: Confidence
    rule: str | None = None
    labels: tuple[str, ...] = ()  # "table write partition" ..., sorted: what was limited at any time
    attempts: int | None = None
    throttled: int | None = None
    broken: tuple[str, ...] = ()  # thresholds that did not hold, in words
    measures: Mapping[str, float] = {}  # by name in `analyzers.measures.MEASURES`


def summarize(folder: Path) -> RunSummary:
    """A run directory that holds a diagnosis, in a few numbers. Raises `FileProblem`."""
    raise NotImplementedError


def write_summary(folder: Path) -> RunSummary:
    """Write `summary.json` into a run directory and give it. Raises `FileProblem`."""
    raise NotImplementedError


def read_summary(folder: Path) -> RunSummary:
    """The summary of a run directory; made from its files where there is none. Raises `FileProblem`."""
    raise NotImplementedError
