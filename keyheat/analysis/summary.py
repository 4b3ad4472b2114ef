"""The summary of a run in a few numbers: `summary.json`, for search and comparison."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from keyheat import runfiles
from keyheat.analysis.measures import CAPACITY_USED, Absence
from keyheat.analysis.setup import Setup as Setup
from keyheat.bounds import parsed_json
from keyheat.runs.formats import BEYOND, Confidence
from keyheat.validation import Quantity, Time
from keyheat.words import Constraint, Direction, Grade

SUMMARY = runfiles.SUMMARY
NAME = runfiles.FILES[SUMMARY]


class RunSummary(BaseModel):
    """One run in a few numbers; unknown values are absent, never zero."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

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
    resource: str | None = None  # None: no constraint
    direction: Direction | None = None
    grade: Grade
    confidence: Confidence
    rule: str | None = None
    labels: tuple[str, ...] = ()  # "table write partition" ..., sorted, see `labels_of`
    attempts: int | None = None
    throttled: int | None = None
    carried: bool = False  # whether burst or a write buffer serves what the load asks for beyond a limit
    broken: tuple[str, ...] = ()  # violated thresholds, in words
    measures: Mapping[str, float] = {}  # by name in `keyheat.analysis.measures.MEASURES`
    absent: Mapping[str, Absence] = {}  # why the other measures are missing

    @property
    def comparable(self) -> bool:
        """Whether the numbers describe the table, not a generator that was the limit."""
        return self.valid and not self.generator_bound

    @property
    def on_burst(self) -> bool:
        """Whether burst capacity, or the write buffer of an index, alone prevented throttles."""
        used = max(self.measures.get(name, 0.0) for name in CAPACITY_USED)
        return self.valid and self.constraint == "none" and (self.carried or used > 1 + BEYOND)


def parsed(body: bytes) -> RunSummary:
    """Parse the content of a summary file. Raises `ValueError`."""
    raw = parsed_json(body)
    if not isinstance(raw, dict) or raw.pop("format", None) != SUMMARY:
        raise ValueError(f"this version reads {SUMMARY!r}")
    return RunSummary.model_validate(raw)
