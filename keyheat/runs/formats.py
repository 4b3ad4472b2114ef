"""`evidence.json` and `diagnosis.json` as frozen values, checked once when they are read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, model_validator

from keyheat import runfiles
from keyheat.runs.scaling import AutoScaling
from keyheat.runs.table_facts import AccountFacts, TableFacts
from keyheat.validation import Count, LenientPart, Part, Points, Quantity, Rows, Time, checked
from keyheat.words import Constraint, Direction, Endpoint, Grade, Source

Confidence = Annotated[float, Field(ge=0, le=1)]


class Window(Part):
    """The time that the evidence speaks of: from `start` up to `end`."""

    start: Time
    end: Time

    @model_validator(mode="after")
    def _ends_after_it_starts(self) -> Self:
        if self.end <= self.start:
            raise ValueError("the window ends before it starts")
        return self


class Series(Part):
    """One CloudWatch series: what CloudWatch answered, gaps left as gaps."""

    metric: str
    statistic: str
    period_s: Annotated[int, Field(gt=0)]
    index: str | None = None
    operation: str | None = None
    dimension: str | None = None  # one more that tells it apart, as `Verb=PartiQLSelect`
    unit: str | None = None
    points: Points = ()

    @property
    def whole(self) -> bool:
        """Whether it is of the table or an index as a whole: not of one operation, one source or replica."""
        return self.operation is None and self.dimension is None


class ThrottleCount(Part):
    """Throttled attempts that the client saw in one second, by DynamoDB's own reason (None: it gave none)."""

    second: Time
    index: str | None = None
    direction: Direction
    reason: str | None = None
    count: Count


class SecondCount(Part):
    """What the client sent and got in one second."""

    second: Time
    index: str | None = None
    direction: Direction
    consumed: Quantity
    attempts: Count
    throttled: Count
    unmet: Count = 0  # of the attempts, those that failed before they met the table's limits


class Contributor(Part):
    """A key that a Contributor Insights rule counted: its digest, and its value only where asked for."""

    key: str  # the digest of the partition key
    shown: str | None = None
    value: Quantity
    points: Points = ()  # by minute, or by the hour for a long window


class Contributors(Part):
    """What one rule of Contributor Insights counted by partition key over the window, largest first.

    `accessed` is in 3 x WCU + RCU, `throttled` in requests. `total` is that of all keys, not only of these.
    """

    rule: str
    index: str | None = None
    counts: Literal["accessed", "throttled"]
    period_s: Annotated[int, Field(gt=0)]
    total: Quantity
    keys: tuple[Contributor, ...] = ()


class PartitionFacts(Part):
    """What was seen of the table's partitions from outside; those of its indexes show nowhere."""

    estimated: Count | None = None  # a lower bound
    because: str | None = None
    open_shards: Count | None = None  # of its stream, when evidence was collected; None: unknown
    splits: tuple[Time, ...] | None = None  # in the window; None: unknown


class Evidence(Part):
    """Everything that the analyzer may look at. Absent is unknown, never zero."""

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
    scale: Annotated[float, Field(ge=1e-6, le=1000)] = 1.0  # of a local table whose every limit is multiplied
    source: Source = "aws"  # whose reasons and counts these are
    endpoint: Endpoint | None = None  # None: a simulation, or a table in AWS
    up_to_now: bool = False  # whether the window ends with the newest minute that was published
    missing: tuple[str, ...] = ()  # what was looked for and could not be had, for the person who reads

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is known of the window."""
        points = any(series.points for series in self.series)
        keys = any(rule.keys for rule in self.contributors or ())
        return not (points or keys or self.throttles or self.seconds)

    def total(self, metric: str, index: str | None = None) -> float | None:
        """A series of the table, or of an index, added up; None if it is not there, infinite where no
        number holds it."""
        for series in self.series:
            if series.whole and (series.metric, series.statistic, series.index) == (metric, "Sum", index):
                return sum(value for _at, value in series.points)
        return None


class Rival(Part):
    """Another constraint than the one that was inferred, and what would have to be true for it."""

    constraint: Constraint
    needs: str


class Label(Part):
    """What constrained one resource in one direction over one span, and how we know.

    `rule` is the stable id of the rule that decided, listed in keyheat/analysis/rules.py.
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
    rivals: tuple[Rival, ...] = ()  # of an inferred label, and of one that is not decided
    settled_by: str = ""  # the piece of evidence that would decide, and how to get it


Measure = tuple[Annotated[float, Field(allow_inf_nan=False)], str]
"""A number and its unit: `(0.31, "share")`, `(1_200, "WCU/s")`."""


class Finding(Part):
    """What an analyzer says of a run: a word, sentences with the numbers behind it, and how sure it is.

    What it is about (a resource, a direction, a span of time) is left out where it is about the whole run.
    """

    label: Annotated[str, Field(min_length=1)]
    because: tuple[str, ...]
    numbers: Mapping[str, Measure] = {}
    confidence: Confidence = 1.0
    resource: str | None = None  # "table", or the name of an index
    direction: Direction | None = None
    start: Time | None = None
    end: Time | None = None
    grade: Grade | None = None  # who says so, where that is known
    rule: str | None = None  # the stable id of the rule that decided, where there are several
    rivals: tuple[Rival, ...] = ()  # what else it may be, and what that takes
    settled_by: str = ""  # the piece of evidence that would decide
    analyzer: str = ""  # whose it is: put there by Keyheat


class DirectionVerdict(Part):
    """What was examined in one direction, and the result; None: not examined."""

    direction: Direction
    constraint: Constraint | None
    said: str


class Verdict(Part):
    """The run in one label; `valid` is False where the run says nothing about the table."""

    constraint: Constraint
    resource: str | None = None
    direction: Direction | None = None
    grade: Grade
    confidence: Confidence
    valid: bool
    because: tuple[str, ...]
    rule: str | None = None  # where it rests on no label: a rule of keyheat/analysis/rules.py
    rivals: tuple[Rival, ...] = ()  # those of its heaviest label
    settled_by: str = ""
    directions: tuple[DirectionVerdict, ...] = ()


class HotKey(Part):
    """One of the hottest partition keys: its digest, and its value only where the user asked to see it."""

    key: str
    shown: str | None = None
    share: Annotated[float, Field(ge=0, le=1)]
    throttles: Count
    units_per_s: Quantity  # asked for while the key was hot
    direction: Direction | None = None
    index: str | None = None  # whose partition key it is; None: the table's


ThrottleShare = Annotated[float, Field(ge=0, le=1)]
ShardCount = Annotated[int, Field(ge=1)]


HARDLY: Final = 0.001
"""A throttle share that an application with retries does not notice."""
BEYOND: Final = 0.02
"""What an uneven load may take beyond its provisioned capacity before it counts as living on burst."""


class Foreseen(LenientPart):
    """What the simulator says of the same demand, as it was and with the advice taken."""

    throttle_share_before: ThrottleShare
    throttle_share_after: ThrottleShare  # with this advice alone
    in_cure: bool = False  # one of several steps of the cure
    sent_once: bool = False  # both without the retries of the run, so that its own share is another
    formula_shards: ShardCount | None = None  # where the number that is advised is another one
    formula_share_after: ThrottleShare | None = None  # what is left with that


class MonthlyBill(Part):
    """Dollars a month of the table with its indexes, if the demand lasts `hours_per_day`."""

    before_dollars_per_month: Quantity
    after_dollars_per_month: Quantity
    prices: str  # which price list
    hours_per_day: Annotated[float, Field(gt=0, le=24)] = 24.0
    by_request: bool = False  # paid for what goes through: more of it, where less throttles


class CureStep(Part):
    """One change of a cure: an action, and how much of it."""

    action: str
    resource: str  # whose limit it is about: "table", or the name of an index
    direction: Direction
    shards: ShardCount | None = None
    units: Quantity | None = None
    max_units: Quantity | None = None  # of auto scaling, if its maximum has to rise as well


class Cure(Part):
    """Changes that, taken together, leave hardly a throttle: by simulation of the demand, or by formula."""

    steps: Annotated[tuple[CureStep, ...], Field(min_length=1)]
    throttle_share_before: ThrottleShare | None = None  # None: not simulated
    throttle_share_after: ThrottleShare | None = None
    sent_once: bool = False  # both without the retries of the run, so that its own share is another
    bill: MonthlyBill | None = None


class Demand(Part):
    """What was asked of one side of the table or of an index, units/s of the table that was loaded.

    By the schedule of the load, at its peak: without the retries that throttles make of it.
    """

    resource: str
    direction: Direction
    units_per_s: Quantity
    partition_per_s: Quantity | None = None  # what one partition sustains of such requests
    carried_s: Quantity | None = None  # how long burst or a write buffer serves what is beyond a limit


class Recommendation(Part):
    """One thing to do: a mitigation helps now, a cure lasts, what is insufficient was simulated in vain."""

    action: str
    kind: Literal["mitigation", "cure", "insufficient"]
    why: str
    expected: str
    shards: Annotated[int, Field(ge=1)] | None = None
    units: Quantity | None = None
    max_units: Quantity | None = None  # of auto scaling, if its maximum has to rise as well
    foreseen: Foreseen | None = None  # None: the simulator does not repeat this run, or cannot show this
    bill: MonthlyBill | None = None
    resource: str | None = None  # whose limit it is about: "table", or the name of an index
    direction: Direction | None = None


class GeneratorFacts(Part):
    """Whether the load generator was the limit, and what was checked to know."""

    bound: bool
    checks: tuple[str, ...] = ()
    shortfall: str = ""  # what that means for throttles that DynamoDB names; empty if it spoils those, too


class Coverage(Part):
    """How much of the window the evidence covers, and what is not there."""

    minutes: Count
    missing: tuple[str, ...] = ()


class ThresholdResult(Part):
    """One threshold of the scenario: what was allowed, what was measured, whether it held."""

    name: str
    allowed: str
    measured: str
    broken: bool
    decided: bool = True  # False: a run of this kind cannot measure it


class Diagnosis(Part):
    """The analyzer's answer."""

    format: Literal["keyheat.diagnosis/1"] = "keyheat.diagnosis/1"
    verdict: Verdict
    labels: tuple[Label, ...]
    hot_keys: tuple[HotKey, ...] = ()
    hot_index_keys: tuple[HotKey, ...] = ()  # the hottest of each index whose own keys were counted
    recommendations: tuple[Recommendation, ...] = ()
    cure: Cure | None = None  # None: none was found, or the simulator does not repeat this run
    demands: tuple[Demand, ...] = ()  # empty where no schedule says them
    generator: GeneratorFacts
    coverage: Coverage
    source: Source = "aws"  # whose reasons and counts the evidence holds
    region: str | None = None  # of a global table: the one that is judged
    thresholds: tuple[ThresholdResult, ...] = ()
    findings: tuple[Finding, ...] = ()  # of analyzers whose answers have no place above
    problems: tuple[str, ...] = ()  # analyzers that could not say anything, with file and line

    @property
    def is_carried(self) -> bool:
        """Whether burst or a write buffer serves what the load asks for beyond a limit."""
        return any(demand.carried_s is not None for demand in self.demands)


def read_diagnosis(path: Path) -> Diagnosis:
    """A diagnosis from a file. Raises `FileProblem` with every mistake in it."""
    return checked(path, Diagnosis, runfiles.read_json(path, runfiles.DIAGNOSIS))


def write_evidence(path: Path, evidence: Evidence) -> None:
    """Write evidence whole or not at all. Raises `FileProblem`."""
    runfiles.write_json(path, runfiles.EVIDENCE, evidence.model_dump(mode="json", exclude={"format"}))


def write_diagnosis(path: Path, diagnosis: Diagnosis) -> None:
    """Write a diagnosis whole or not at all. Raises `FileProblem`."""
    runfiles.write_json(path, runfiles.DIAGNOSIS, diagnosis_json(diagnosis))


def diagnosis_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """A diagnosis as JSON; findings and problems, which older programs do not know, only where some are."""
    content = diagnosis.model_dump(mode="json")
    return {name: value for name, value in content.items() if value or name not in ("findings", "problems")}
