"""`run.json` and `keys.json`, checked once. They may hold more; that is not our subject.

Only what names the table and the time is certain: a run that was killed leaves the rest as it stood then.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from keyheat import runfiles
from keyheat.model.limits import SIGNATURE_CLOCK_S
from keyheat.numbers import percent
from keyheat.runfiles import SIMULATED
from keyheat.runs.formats import Window
from keyheat.runs.scaling import AutoScaling
from keyheat.runs.table_facts import TableFacts
from keyheat.validation import Count, LenientPart, Quantity, Time, checked
from keyheat.words import Direction, Endpoint, Source

Rule = Literal["max_dollars", "max_units", "max_minutes", "throttle_share", "error_share", "p99_ms"]
STOP_SHARES: Final = {"throttle_share": "were throttled", "error_share": "failed"}
STOP_AMOUNTS: Final = {
    "max_dollars": ("dollars", 4),
    "max_units": ("units", 0),
    "max_minutes": ("minutes", 1),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One reason to end a run: the rule, what it allows, and what was seen when it ended the run."""

    rule: Rule
    limit: float
    seen: float
    at_s: float  # seconds of load

    @property
    def words(self) -> str:
        """The reason as it is said before anything else of the run."""
        after = f"after {self.at_s:,.0f} s"
        if self.rule in STOP_SHARES:
            came = f"{percent(self.seen)} of its attempts {STOP_SHARES[self.rule]}"
            return f"stopped by its rule {self.rule} {after}: {came}, and {percent(self.limit)} may"
        if self.rule == "p99_ms":
            return (
                f"stopped by its rule p99_ms {after}: 1 % of accepted requests took {self.seen:,.0f} ms "
                f"or more, and {self.limit:,.0f} ms are allowed"
            )
        return f"stopped by its budget {after}: {self.amount}"

    @property
    def amount(self) -> str:
        """Of a cap of the budget: how much there was of how much."""
        unit, digits = STOP_AMOUNTS[self.rule]
        return f"{_rounded(self.seen, digits)} of {_rounded(self.limit, digits)} {unit}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _rounded(amount: float, digits: int) -> str:
    """An amount without zeros that say nothing, but for the cents of dollars."""
    text = f"{amount:,.{digits}f}"
    if digits == 0:
        return text
    whole, fraction = text.split(".")
    kept = fraction.rstrip("0").ljust(2 if digits > 1 else 0, "0")
    return f"{whole}.{kept}" if kept else whole


Units = Annotated[float, Field(ge=0, le=1e15)]  # more than a table can consume in a year


class GeneratorHealth(LenientPart):
    """What the load generator could do, and whether it kept up."""

    bound: bool = False
    fell_behind: bool = False  # requests were fewer or later than asked for, and nothing else is wrong
    checks: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # parts of the load that are not in the record: workers that were lost
    cpu_percent_max: Quantity | None = None
    cpu_starved_share: Quantity | None = None
    loop_lag_ms_max: Quantity | None = None
    asked_per_s: Quantity | None = None
    achieved_per_s: Quantity | None = None  # sent at least once
    held_back_per_s: Quantity = 0.0  # by the rate of its own client until the load ended, in adaptive mode
    late_ms_p99: Quantity | None = None
    target_unit: Literal["requests", "WCU", "RCU"] = "requests"  # what asked and achieved are in


class RunTotals(LenientPart):
    """What the client counted over the whole run."""

    attempts: Count = 0
    accepted: Count = 0
    throttled: Count = 0
    errors: Count = 0
    consumed_units: Mapping[str, Quantity] = {}
    errors_by_kind: Mapping[str, Count] = {}


class CapacityChange(LenientPart):
    """One thing that UpdateTable was asked for while the load ran, and what came of it."""

    at_s: Quantity  # seconds into the run
    by: str
    index: str | None = None  # None: the table itself
    what: str  # billing_mode, provisioned.write, warm.read ...
    before: float | str | None = Field(None, alias="from")
    after: float | str | None = Field(None, alias="to")
    in_force_s: Quantity | None = None  # None: not by the end of the run
    because: str | None = None
    refused: str | None = None


class Machine(LenientPart):
    """The machine that the load generator ran on, or its master."""

    cores: Annotated[int, Field(ge=1)]  # that the process may use
    memory_bytes: Count
    cpu: str


class SharedWith(LenientPart):
    """Another run that was on a table of this one while it was; its times by the clock of its own machine."""

    table: str
    run: str
    owner: str = "unknown"
    since: Time | None = None
    until: Time | None = None


Whole = Annotated[int, BeforeValidator(int)]  # means of a simulation are counted in fractions


class RetryCost(LenientPart):
    """What retries cost a run: attempts and pauses of its requests, and those that failed all the same.

    A request is one of `requests` from its first attempt on; before, an adaptive client may hold it back.
    """

    requests: Whole
    again: Whole = Field(0, alias="attempts")  # further attempts
    given_up: Whole = 0
    waiting: Whole = 0  # neither accepted nor given up when the load ended, sent or not
    backoff_s: float = 0.0  # pauses of all requests together
    held_s: float = 0.0  # what the adaptive mode held them back

    @property
    def amplification(self) -> float:
        return (self.requests + self.again) / self.requests

    @property
    def given_up_share(self) -> float:
        """Requests that the application saw fail."""
        return self.given_up / self.requests

    @property
    def held_each_s(self) -> float:
        """For how long the adaptive mode held a request back, on average of those that were sent."""
        return self.held_s / self.requests


class Manifest(LenientPart):
    """One run: what was asked, when, against what, with which versions, and how it went.

    Its times are the service's, as those of CloudWatch's minutes are.
    """

    run_id: str | None = None
    status: Literal["running", "finished", "stopped", "interrupted"] = "running"
    stopped_by: Stop | None = None  # what of its budget or its stop rules ended it before its time
    scenario: Mapping[str, Any] | None = None
    scenario_path: str | None = None
    seed: int | None = None
    target: str | None = None
    endpoint_url: str | None = None
    endpoint: Endpoint | None = None  # None: a simulation, or the run's own local table
    region: str | None = None
    scale: Annotated[float, Field(ge=1e-6, le=1000)] = 1.0
    transport: str | None = None
    started_at: Time
    ended_at: Time | None = None
    versions: Mapping[str, str | None] = {}
    machine: Machine | None = None  # None: it was simulated, or not recorded
    table: TableFacts
    existing: bool = False  # the table was there, and was loaded as it was
    items_marked: bool = False  # whether they name the run: the table existed before
    shared_with: tuple[SharedWith, ...] = ()
    auto_scaling: AutoScaling | None = None  # of such a table
    processes: int | None = None
    users: int | None = None
    generator: GeneratorHealth | None = None
    totals: RunTotals | None = None
    counted: Mapping[str, float] = {}
    """What the load test itself counted, by `group.what`: `reads.missing`, `tables.NAME.write_units` ..."""
    timeline: tuple[CapacityChange, ...] = ()
    clock_skew_s: Annotated[float, Field(ge=-SIGNATURE_CLOCK_S, le=SIGNATURE_CLOCK_S)] = 0.0
    """By how much the service's clock was ahead of that of the machine which wrote the run's files."""

    @property
    def retry_cost(self) -> RetryCost | None:
        """What retries cost; None if every request was sent once."""
        groups = {name.partition(".")[::2]: number for name, number in self.counted.items()}
        cost = {what: number for (group, what), number in groups.items() if group == "retries"}
        return RetryCost.model_validate(cost) if cost.get("requests") else None

    @property
    def duration_s(self) -> float | None:
        """How long the load lasted; None of one that goes on, or was killed."""
        ended_at = self.ended_at
        return None if ended_at is None else max(0.0, (ended_at - self.started_at).total_seconds())

    @property
    def local(self) -> bool:
        """Whether the run went to the local endpoint, whose minutes are published as soon as they close."""
        return self.target == "local"

    @property
    def simulated(self) -> bool:
        """Whether nothing was sent: the run was simulated on a virtual clock."""
        return self.target == SIMULATED

    @property
    def source(self) -> Source:
        """What answered the run's requests."""
        if self.simulated:
            return "simulated"
        return "local" if self.local else "aws"

    @property
    def company(self) -> str | None:
        """The runs that loaded the same tables meanwhile, in words; None if there were none."""
        if not self.shared_with:
            return None
        who = "; ".join(
            f"run {other.run} of {other.owner} loaded table {other.table}" for other in self.shared_with
        )
        return (
            f"This run was not alone: {who} at the same time. "
            "What was limited, and what would help, is of all of them together."
        )

    @property
    def name(self) -> str | None:
        """The scenario's name, else the run's id."""
        return self._text("name") or self.run_id

    @property
    def question(self) -> str | None:
        """What the scenario was made to find out."""
        return self._text("question")

    @property
    def expects(self) -> str | None:
        """The label that the scenario expects of a right diagnosis."""
        return self._text("expects")

    def _text(self, field: str) -> str | None:
        value = (self.scenario or {}).get(field)
        return value if isinstance(value, str) and value else None


MINUTE: Final = timedelta(minutes=1)


def run_window(run: Manifest, now_s: float) -> Window:
    """From the minute in which the run started to the end of the minute in which it ended (killed: now)."""
    ended = run.ended_at or max(datetime.fromtimestamp(now_s, UTC), run.started_at)
    start = run.started_at.replace(second=0, microsecond=0)
    whole = ended.replace(second=0, microsecond=0)
    end = whole if whole == ended and whole > start else whole + MINUTE
    return Window(start=start, end=max(end, start + MINUTE))


class KeyUse(LenientPart):
    """One partition key with its numbers: over the run, within a window, or where writers met."""

    key: str  # its digest, or its name where that is no secret
    shown: str | None = None
    units: Units = 0.0  # asked for: what was throttled counts as what it would have cost
    throttles: Count = 0
    consumed_units: Units | None = None  # of the whole run only, as its share
    share: Annotated[float, Field(ge=0, le=1)] = 0.0
    count: Units = 0.0  # how often writers met on it


class KeyWindow(LenientPart):
    """The hottest keys of a few seconds."""

    start: Time
    seconds: Annotated[float, Field(ge=0.001, le=86_400)]
    direction: Direction
    top: tuple[KeyUse, ...] = ()


class Keys(LenientPart):
    """The hottest keys, over the run and window by window; and those on which writers met, by how."""

    overall: Mapping[Direction, tuple[KeyUse, ...]] = {}
    by_throttles: Mapping[Direction, tuple[KeyUse, ...]] = {}
    windows: tuple[KeyWindow, ...] = ()
    contended: Mapping[str, tuple[KeyUse, ...]] = {}
    indexes: Mapping[str, "Keys"] = {}  # the same of each index whose own keys were counted

    @classmethod
    def joined(cls, sides: Sequence["Keys"], **more: Any) -> "Keys":
        """Those of both directions, with what `more` is known."""
        return cls(
            overall={side: uses for keys in sides for side, uses in keys.overall.items()},
            by_throttles={side: uses for keys in sides for side, uses in keys.by_throttles.items()},
            windows=tuple(window for keys in sides for window in keys.windows),
            **{name: value for name, value in more.items() if value},
        )


def read_manifest(run_dir: Path) -> Manifest:
    """The manifest of a run directory. Raises `FileProblem`."""
    path = run_dir / runfiles.FILES[runfiles.RUN]
    return checked(path, Manifest, runfiles.read_json(path, runfiles.RUN))


def read_keys(run_dir: Path) -> Keys:
    """The hottest keys of a run directory. Raises `FileProblem`."""
    path = run_dir / runfiles.FILES[runfiles.KEYS]
    return checked(path, Keys, runfiles.read_json(path, runfiles.KEYS))
