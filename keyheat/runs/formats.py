"""`evidence.json` and `diagnosis.json` as frozen values, checked once when they are read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from keyheat import runfiles
from keyheat.runs.table_facts import AccountFacts, AutoScaling, TableFacts
from keyheat.validation import Count, LenientPart, Part, Points, Quantity, Rows, Time, checked
from keyheat.words import Constraint, Direction, Endpoint, Grade, Source

Confidence = Annotated[float, Field(ge=0, le=1)]


class Window(Part):
    """The time span of the evidence: from `start` up to `end`."""

    start: Time
    end: Time

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.end <= self.start:
            raise ValueError("the window ends before it starts")
        return self


class Series(Part):
    """One CloudWatch series, with gaps."""

    metric: str
    statistic: str
    period_s: Annotated[int, Field(gt=0)]
    index: str | None = None
    operation: str | None = None
    dimension: str | None = None  # a further one, such as `Verb=PartiQLSelect`
    unit: str | None = None
    points: Points = ()

    @property
    def whole(self) -> bool:
        """Whether it covers the table or an index, not one operation, source or replica."""
        return self.operation is None and self.dimension is None


class ThrottleCount(Part):
    """Throttled attempts in one second, by DynamoDB's reason (None: it gave none)."""

    second: Time
    index: str | None = None
    direction: Direction
    reason: str | None = None
    count: Count


class SecondCount(Part):
    """Attempts and consumed units in one second."""

    second: Time
    index: str | None = None
    direction: Direction
    consumed: Quantity
    attempts: Count
    throttled: Count
    unmet: Count = 0  # attempts that failed before the table's limits applied


class Contributor(Part):
    """A key in a Contributor Insights report: its digest, and its value if requested."""

    key: str  # the digest of the partition key
    shown: str | None = None
    value: Quantity
    points: Points = ()  # per minute, or per hour for a long window


class Contributors(Part):
    """Report of one Contributor Insights rule by partition key, largest first.

    `accessed` counts 3 x WCU + RCU, `throttled` requests. `total` includes keys that are not listed.
    """

    rule: str
    index: str | None = None
    counts: Literal["accessed", "throttled"]
    period_s: Annotated[int, Field(gt=0)]
    total: Quantity
    keys: tuple[Contributor, ...] = ()


class PartitionFacts(Part):
    """Facts about the partitions of the table; those of its indexes are invisible."""

    estimated: Count | None = None  # a lower bound
    because: str | None = None
    open_shards: Count | None = None  # of its stream, when evidence was collected; None: unknown
    splits: tuple[Time, ...] | None = None  # in the window; None: unknown


class Evidence(Part):
    """All input of the analyzers. Absent means unknown, never zero."""

    format: Literal["keyheat.evidence/1"] = "keyheat.evidence/1"
    table: TableFacts
    account: AccountFacts | None = None
    window: Window
    series: Annotated[tuple[Series, ...], Rows] = ()
    throttles: Annotated[tuple[ThrottleCount, ...], Rows] | None = None
    seconds: Annotated[tuple[SecondCount, ...], Rows] | None = None
    contributors: tuple[Contributors, ...] | None = None
    partitions: PartitionFacts | None = None
    auto_scaling: AutoScaling | None = None  # None: not looked up
    scale: Annotated[float, Field(ge=1e-6, le=1000)] = 1.0  # factor of every limit of a local table
    source: Source = "aws"  # source of reasons and counts
    endpoint: Endpoint | None = None  # None: a simulation, or a table in AWS
    up_to_now: bool = False  # whether the window ends with the newest published minute
    missing: tuple[str, ...] = ()  # missing evidence, as text

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known of the window."""
        points = any(series.points for series in self.series)
        keys = any(rule.keys for rule in self.contributors or ())
        return not (points or keys or self.throttles or self.seconds)

    def total(self, metric: str, index: str | None = None) -> float | None:
        """Sum of a series; None if it is absent."""
        for series in self.series:
            if series.whole and (series.metric, series.statistic, series.index) == (metric, "Sum", index):
                return sum(value for _at, value in series.points)
        return None


class Rival(Part):
    """Another possible constraint, and what it requires."""

    constraint: Constraint
    needs: str


class Label(Part):
    """The constraint of one resource in one direction over one span, with its basis.

    `rule` is the stable id of the deciding rule in keyheat/analysis/rules.py.
    """

    start: Time
    end: Time
    resource: str  # "table", or the name of an index
    direction: Direction
    constraint: Constraint
    throttles: Count
    grade: Grade
    confidence: Confidence
    because: tuple[str, ...]
    rule: str | None = None
    rivals: tuple[Rival, ...] = ()  # of inferred and undecided labels
    settled_by: str = ""  # evidence that would decide, and how to get it


Measure = tuple[Annotated[float, Field(allow_inf_nan=False)], str]
"""A number and its unit: `(0.31, "share")`, `(1_200, "WCU/s")`."""


class Finding(Part):
    """An analyzer's finding: a label, sentences with the numbers, and a confidence.

    Without resource, direction or span it concerns the whole run.
    """

    label: Annotated[str, Field(min_length=1)]
    because: tuple[str, ...]
    numbers: Mapping[str, Measure] = {}
    confidence: Confidence = 1.0
    resource: str | None = None  # "table", or the name of an index
    direction: Direction | None = None
    start: Time | None = None
    end: Time | None = None
    grade: Grade | None = None  # how the label is known
    rule: str | None = None  # stable id of the deciding rule, if there are several
    rivals: tuple[Rival, ...] = ()  # other possible labels
    settled_by: str = ""  # evidence that would decide
    analyzer: str = ""  # its name, set by Keyheat


class DirectionVerdict(Part):
    """The result in one direction; None: not examined."""

    direction: Direction
    constraint: Constraint | None
    said: str


class Verdict(Part):
    """The run in one label; invalid if it proves nothing about the table."""

    constraint: Constraint
    resource: str | None = None
    direction: Direction | None = None
    grade: Grade
    confidence: Confidence
    valid: bool
    because: tuple[str, ...]
    rule: str | None = None  # without a label: the deciding rule in keyheat/analysis/rules.py
    rivals: tuple[Rival, ...] = ()  # those of its heaviest label
    settled_by: str = ""
    directions: tuple[DirectionVerdict, ...] = ()


class HotKey(Part):
    """One of the hottest partition keys: its digest, and its value if requested."""

    key: str
    shown: str | None = None
    share: Annotated[float, Field(ge=0, le=1)]
    throttles: Count
    units_per_s: Quantity  # demand while the key was hot
    direction: Direction | None = None
    index: str | None = None  # the index of this key; None: the table


ThrottleShare = Annotated[float, Field(ge=0, le=1)]
ShardCount = Annotated[int, Field(ge=1)]


NO_DIRECTION: Final = "read or write unknown, without reason and operation"
"""Ends the line of `Evidence.missing` on logged throttles that count for neither direction."""
HARDLY: Final = 0.001
"""Throttle share that an application with retries does not notice."""
BEYOND: Final = 0.02
"""Share beyond provisioned capacity that does not count as use of burst capacity."""


class Foreseen(LenientPart):
    """Simulated throttling of the same demand, without and with the advice."""

    throttle_share_before: ThrottleShare
    throttle_share_after: ThrottleShare  # with this advice alone
    in_cure: bool = False  # one of several steps of the cure
    sent_once: bool = False  # both without retries, unlike the run
    formula_shards: ShardCount | None = None  # by formula, if it differs from the advice
    formula_share_after: ThrottleShare | None = None  # with `formula_shards`


class MonthlyBill(Part):
    """Dollars per month of the table with its indexes, if the demand goes on around the clock."""

    before_dollars_per_month: Quantity
    after_dollars_per_month: Quantity
    prices: str  # name of the price list
    by_request: bool = False  # paid per accepted request, so fewer throttles cost more


class CureStep(Part):
    """One change of a cure: an action and its amount."""

    action: str
    resource: str  # "table", or the name of an index
    direction: Direction
    shards: ShardCount | None = None
    units: Quantity | None = None
    max_units: Quantity | None = None  # of auto scaling, if its maximum must rise as well


class Cure(Part):
    """Changes that together remove nearly all throttles: by simulation, or by formula."""

    steps: Annotated[tuple[CureStep, ...], Field(min_length=1)]
    throttle_share_before: ThrottleShare | None = None  # None: not simulated
    throttle_share_after: ThrottleShare | None = None
    sent_once: bool = False  # both without retries, unlike the run
    bill: MonthlyBill | None = None


class Demand(Part):
    """Scheduled peak demand on one side of the table or an index, in units/s at the table's scale.

    Excludes retries after throttles.
    """

    resource: str
    direction: Direction
    units_per_s: Quantity
    partition_per_s: Quantity | None = None  # most that one partition sustains
    carried_s: Quantity | None = None  # how long burst or a write buffer serves the excess


class Recommendation(Part):
    """One action: a mitigation helps now, a cure lasts, an insufficient one failed in simulation."""

    action: str
    kind: Literal["mitigation", "cure", "insufficient"]
    why: str
    expected: str
    shards: Annotated[int, Field(ge=1)] | None = None
    units: Quantity | None = None
    max_units: Quantity | None = None  # of auto scaling, if its maximum must rise as well
    foreseen: Foreseen | None = None  # None: not simulated
    bill: MonthlyBill | None = None
    resource: str | None = None  # "table", or the name of an index
    direction: Direction | None = None
    constraint: Constraint | None = None  # the limit that it is for


class GeneratorFacts(Part):
    """Whether the load generator was the limit, and the checks."""

    bound: bool
    checks: tuple[str, ...] = ()
    shortfall: str = ""  # its effect on labels that DynamoDB names; empty if they are invalid, too


class Coverage(Part):
    """How much of the window the evidence covers, and what is missing."""

    minutes: Count
    missing: tuple[str, ...] = ()


class ThresholdResult(Part):
    """One threshold of the scenario: allowed, measured, and whether it is broken."""

    name: str
    allowed: str
    measured: str
    broken: bool
    decided: bool = True  # False: not measurable in this kind of run


class Diagnosis(Part):
    """The analyzers' result."""

    format: Literal["keyheat.diagnosis/1"] = "keyheat.diagnosis/1"
    verdict: Verdict
    labels: tuple[Label, ...]
    hot_keys: tuple[HotKey, ...] = ()
    hot_index_keys: tuple[HotKey, ...] = ()  # of each index with counted keys
    recommendations: tuple[Recommendation, ...] = ()
    cure: Cure | None = None  # None: none was found, or not simulated
    demands: tuple[Demand, ...] = ()  # empty without a schedule
    generator: GeneratorFacts
    coverage: Coverage
    source: Source = "aws"  # source of reasons and counts
    region: str | None = None  # of a global table: the diagnosed one
    thresholds: tuple[ThresholdResult, ...] = ()
    findings: tuple[Finding, ...] = ()  # of further analyzers
    problems: tuple[str, ...] = ()  # failed analyzers, with file and line

    @property
    def is_carried(self) -> bool:
        """Whether burst or a write buffer serves demand beyond a limit."""
        return any(demand.carried_s is not None for demand in self.demands)


def read_diagnosis(path: Path) -> Diagnosis:
    """Read a diagnosis. Raises `FileProblem` with every mistake."""
    return checked(path, Diagnosis, runfiles.read_json(path, runfiles.DIAGNOSIS))


def write_evidence(path: Path, evidence: Evidence) -> None:
    """Write evidence atomically. Raises `FileProblem`."""
    runfiles.write_json(path, runfiles.EVIDENCE, evidence.model_dump(mode="json", exclude={"format"}))


def write_diagnosis(path: Path, diagnosis: Diagnosis) -> None:
    """Write a diagnosis atomically. Raises `FileProblem`."""
    runfiles.write_json(path, runfiles.DIAGNOSIS, diagnosis_json(diagnosis))


def diagnosis_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """A diagnosis as JSON; findings and problems only if there are any."""
    content = diagnosis.model_dump(mode="json")
    return {name: value for name, value in content.items() if value or name not in ("findings", "problems")}
