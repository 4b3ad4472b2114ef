"""The outcome of one `keyheat regress`: verdict, cases, runs, findings and differences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field, computed_field

from keyheat.analysis.measures import CAPACITY_USED, MEASURES
from keyheat.validation import Part, Quantity, Time
from keyheat.words import BROKEN, DONE, INTERRUPTED, INVALID, REFUSED, WRONG_USE, Constraint

LABELS: Final = "labels"  # the gate without a number
THROTTLE_SHARE: Final = "throttle_share"
LEAST_EFFECTS: Final = {
    "mean_units_per_operation.write": 0.02,
    "mean_units_per_operation.read": 0.02,
    "accepted_units_per_s.write": 0.05,
    "accepted_units_per_s.read": 0.05,
    "knee_units_per_s": 0.05,
    "throttle_share": 0.25,
    **dict.fromkeys(CAPACITY_USED, 0.05),
    "p50_ms": 0.15,
    "p99_ms": 0.25,
    "first_throttle_s": 0.2,
    "recovery_s": 0.2,
}
"""Default least effect of each statistical measure: the smallest relative change that counts."""
Decision = Literal["same", "better", "worse", "undecided", "missing"]


class Gate(Part):
    """One measure of a case that must not get worse."""

    measure: str = Field(
        description="a measure's name, or labels: the constraints found",
        json_schema_extra={"enum": [LABELS, *MEASURES]},  # for editors; the error message tells more
    )
    least_effect: Annotated[float, Field(ge=0, lt=1)] = Field(
        default_factory=lambda fields: LEAST_EFFECTS.get(fields.get("measure", ""), 0.0),
        description="smallest relative change that counts, 0.05 is five percent; absent: the "
        "measure's own. Statistical measures only",
    )
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = Field(
        0.99, description="of all statistical gates of the suite together. Statistical measures only"
    )

    @property
    def noisy(self) -> bool:
        """Whether it needs several repetitions, unless the seed decides the run."""
        return self.measure in MEASURES and MEASURES[self.measure].kind == "statistical"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFinding:
    """Result of a gate for one case. `change` and its interval are relative: -0.1 is ten percent less.

    `missing`: one side has no number, which fails an exact gate and never counts as the same.
    """

    case: str
    gate: Gate
    decision: Decision
    before: float | str | None
    after: float | str | None
    because: str  # one sentence with the numbers
    change: float | None = None
    low: float | None = None
    high: float | None = None
    repetitions: tuple[int, int] = (1, 1)  # before, after

    @property
    def failed(self) -> bool:
        """Whether this is a regression, or the measure is missing."""
        return self.decision in ("worse", "missing")

    @property
    def idle(self) -> bool:
        """Whether the gate has no number on either side, such as read units of writes."""
        return self.decision == "undecided" and self.before is None and self.after is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One difference between baseline and candidate."""

    case: str
    what: str  # path: target, machine, load.item_bytes, table.provisioned.write ...
    before: str
    after: str

    @property
    def sentence(self) -> str:
        return f"{self.case}: {self.change}"

    @property
    def change(self) -> str:
        """What changed: `table.provisioned.write 6,000 → 1,500`."""
        return f"{self.what} {self.before} → {self.after}"


Verdict = Literal[
    "good", "baseline", "unaccepted", "regressed", "invalid", "not_compared", "refused", "interrupted",
]  # fmt: skip
Side = Literal["before", "after"]
GOOD: Final[tuple[Verdict, ...]] = ("good", "baseline")
"""Verdicts of baseline sessions; `baseline`: the first, compared with nothing."""

EXIT_CODES: Final[Mapping[Verdict, int]] = {
    "good": DONE, "baseline": DONE, "unaccepted": BROKEN, "regressed": BROKEN,
    "invalid": INVALID,
    "not_compared": WRONG_USE, "refused": REFUSED, "interrupted": INTERRUPTED,
}  # fmt: skip
WORST_FIRST: Final[tuple[Decision, ...]] = ("worse", "missing", "undecided", "better", "same")


class RunMade(Part):
    """One run of a case: of this session, or of its baseline."""

    case: str
    repetition: int = Field(ge=1, description="1 for the first")
    side: Side = "after"
    run_id: str | None = None
    url: str = Field(description="URL of the run directory")
    report: str | None = Field(None, description="URL of its report.html, if any")
    took_s: Quantity | None = Field(None, description="seconds from its start to its summary")
    valid: bool
    problem: str | None = Field(None, description="why it is invalid")
    constraint: Constraint | None = None
    labels: tuple[str, ...] = ()
    broken: tuple[str, ...] = Field((), description="broken thresholds of its scenario, as text")
    measures: Mapping[str, float] = {}

    @property
    def name(self) -> str:
        return f"{self.case}, repetition {self.repetition}"


class CaseMade(Part):
    """One case of the suite, and its runs before and after."""

    name: str
    scenario: str
    target: str
    question: str = ""
    before: tuple[RunMade, ...] = ()
    after: tuple[RunMade, ...] = ()


class BaselineUsed(Part):
    """The session that this one was compared with."""

    session: str
    started_at: Time
    chosen: bool = Field(False, description="named explicitly, not just the last good one")
    label: str | None = None
    accepted: bool = Field(True, description="false: the suite has no good or accepted session yet")

    @property
    def title(self) -> str:
        return f"session {self.session} of {self.started_at:%Y-%m-%d %H:%M} UTC, {self.how}"

    @property
    def how(self) -> str:
        """How the baseline was selected."""
        if not self.accepted:
            return "the last one, not yet accepted"
        return "as requested" if self.chosen else "the last good one"


class SessionOutcome(Part):
    """The outcome of a suite's session."""

    suite: str
    suite_path: str
    question: str = ""
    session: str
    label: str | None = None
    history: str = Field(description="path of the history")
    folder: str = Field(description="folder of its run directories")
    started_at: Time
    ended_at: Time
    verdict: Verdict
    because: tuple[str, ...] = Field((), description="reasons, one sentence each, the most important first")
    baseline: BaselineUsed | None = None
    replaces: str | None = Field(
        None, description="the session that is the baseline until this one is accepted, of --new-baseline"
    )
    paired: bool = Field(False, description="the baseline's scenarios were rerun next to the new ones")
    cases: tuple[CaseMade, ...] = ()
    findings: tuple[GateFinding, ...] = ()
    differences: tuple[Difference, ...] = Field(
        (), description="differences in setup that forbid the comparison"
    )
    suspects: tuple[Difference, ...] = Field(
        (), description="differences in tables and designs: possible causes"
    )
    problems: tuple[str, ...] = Field((), description="exports that failed, and why")

    @computed_field(description="exit code of the command")  # type: ignore[prop-decorator]
    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.verdict] or (INVALID if self.problems else DONE)

    @property
    def runs(self) -> tuple[RunMade, ...]:
        return tuple(run for case in self.cases for run in case.after)

    @property
    def invalid(self) -> tuple[RunMade, ...]:
        """Invalid runs, including those of a rerun baseline."""
        return tuple(run for case in self.cases for run in (*case.before, *case.after) if not run.valid)

    @property
    def failed(self) -> tuple[GateFinding, ...]:
        return tuple(finding for finding in self.findings if finding.failed)

    @property
    def took_s(self) -> float:
        return (self.ended_at - self.started_at).total_seconds()

    @property
    def measured(self) -> tuple[GateFinding, ...]:
        return tuple(finding for finding in self.findings if not finding.idle)

    def of(self, decision: Decision) -> tuple[GateFinding, ...]:
        return tuple(finding for finding in self.measured if finding.decision == decision)


def worst_first(findings: Iterable[GateFinding]) -> list[GateFinding]:
    """Failed findings first, then undecided, idle last; else in the suite's order."""
    return sorted(findings, key=lambda finding: (finding.idle, WORST_FIRST.index(finding.decision)))
