"""A run in a few numbers, as it is kept, searched and compared: `summary.json` beside its other files."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from keyheat import runfiles
from keyheat.analysis.measures import Absence
from keyheat.analysis.setup import Setup as Setup
from keyheat.bounds import parsed_json
from keyheat.runs.formats import BEYOND, Confidence
from keyheat.validation import Quantity, Time
from keyheat.words import Constraint, Direction, Grade

SUMMARY = runfiles.SUMMARY
NAME = runfiles.FILES[SUMMARY]


class RunSummary(BaseModel):
    """One run in a few numbers. What is not known is absent, and never zero."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: str
    scenario: str
    question: str = ""
    started_at: Time
    duration_s: Quantity
    seed: int | None = None
    status: str
    setup: Setup
    valid: bool
    generator_bound: bool = False
    constraint: Constraint
    resource: str | None = None  # None: nothing constrained it
    direction: Direction | None = None
    grade: Grade
    confidence: Confidence
    rule: str | None = None
    labels: tuple[str, ...] = ()  # "table write partition" ..., sorted: what was limited, see `labels_of`
    attempts: int | None = None
    throttled: int | None = None
    broken: tuple[str, ...] = ()  # thresholds that did not hold, in words
    measures: Mapping[str, float] = {}  # by name in `keyheat.analysis.measures.MEASURES`
    absent: Mapping[str, Absence] = {}  # why it lacks the others of the catalogue

    @property
    def comparable(self) -> bool:
        """Whether its numbers are the table's: those of a generator that was the limit are its own."""
        return self.valid and not self.generator_bound

    @property
    def on_burst(self) -> bool:
        """Whether nothing throttled only because saved burst carried it."""
        used = self.measures.get("capacity_used", 0.0)
        return self.valid and self.constraint == "none" and used > 1 + BEYOND


def parsed(body: bytes) -> RunSummary:
    """A summary from the content of its file. Raises `ValueError`."""
    raw = parsed_json(body)
    if not isinstance(raw, dict) or raw.pop("format", None) != SUMMARY:
        raise ValueError(f"this version reads {SUMMARY!r}")
    return RunSummary.model_validate(raw)
