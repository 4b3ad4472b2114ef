"""`run.json` and `keys.json`, validated; unknown fields are ignored.

Only table and start are certain: a killed run leaves the rest as it was.
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
from keyheat.runs.table_facts import AutoScaling, TableFacts
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
    """Why a run ended early: the rule, its limit, and the value seen."""

    rule: Rule
    limit: float
    seen: float
    at_s: float  # seconds of load

    @property
    def words(self) -> str:
        """The reason as a phrase."""
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
        """Used and allowed amount of a budget cap."""
        unit, digits = STOP_AMOUNTS[self.rule]
        return f"{_rounded(self.seen, digits)} of {_rounded(self.limit, digits)} {unit}"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def _rounded(amount: float, digits: int) -> str:
    """Format an amount without trailing zeros, except for cents."""
    text = f"{amount:,.{digits}f}"
    if digits == 0:
        return text
    whole, fraction = text.split(".")
    kept = fraction.rstrip("0").ljust(2 if digits > 1 else 0, "0")
    return f"{whole}.{kept}" if kept else whole


Units = Annotated[float, Field(ge=0, le=1e15)]  # more than a table can consume in a year


class GeneratorHealth(LenientPart):
    """Capacity of the load generator, and whether it kept up."""

    bound: bool = False
    fell_behind: bool = False  # requests were too few or late, without other problems
    checks: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()  # unrecorded parts of the load: lost workers
    asked_per_s: Quantity | None = None
    achieved_per_s: Quantity | None = None  # sent at least once
    held_back_per_s: Quantity = 0.0  # at the end of the load, by the client in adaptive mode
    late_ms_p99: Quantity | None = None
    target_unit: Literal["requests", "WCU", "RCU"] = "requests"  # unit of asked and achieved


class RunTotals(LenientPart):
    """The client's totals of the whole run."""

    attempts: Count = 0
    accepted: Count = 0
    throttled: Count = 0
    errors: Count = 0
    consumed_units: Mapping[str, Quantity] = {}
    errors_by_kind: Mapping[str, Count] = {}


class CapacityChange(LenientPart):
    """One UpdateTable request during the load, and its result."""

    at_s: Quantity  # seconds into the run
    by: str
    index: str | None = None  # None: the table itself
    what: str  # billing_mode, provisioned.write, warm.read ...
    before: float | str | None = Field(None, alias="from")
    after: float | str | None = Field(None, alias="to")
    in_force_s: Quantity | None = None  # None: not before the end of the run
    because: str | None = None
    refused: str | None = None


class Machine(LenientPart):
    """The machine of the load generator, or of its master."""

    cores: Annotated[int, Field(ge=1)]  # usable by the process
    memory_bytes: Count
    cpu: str


class TableClaim(LenientPart):
    """A run on a table, as the table's tags say it; times are of that run's machine."""

    table: str
    run: str
    owner: str = "unknown"
    since: Time | None = None
    until: Time | None = None  # None: its tag cannot be read


Whole = Annotated[int, BeforeValidator(int)]  # simulated means have fractions


class RetryCost(LenientPart):
    """The cost of retries: further attempts, pauses, and requests that failed in the end.

    Counts a request from its first attempt; an adaptive client may hold it back before.
    """

    requests: Whole
    again: Whole = Field(0, alias="attempts")  # further attempts
    given_up: Whole = 0
    waiting: Whole = 0  # neither accepted nor given up when the load ended, sent or not
    backoff_s: float = 0.0  # pauses of all requests together
    held_s: float = 0.0  # time held back by the adaptive mode

    @property
    def amplification(self) -> float:
        return (self.requests + self.again) / self.requests

    @property
    def given_up_share(self) -> float:
        """Share of requests that failed for the application."""
        return self.given_up / self.requests

    @property
    def held_each_s(self) -> float:
        """Mean time for which the adaptive mode held back a request that was sent."""
        return self.held_s / self.requests


class Manifest(LenientPart):
    """One run: its scenario, time, target, versions and results.

    Times are the service's, as for CloudWatch's minutes.
    """

    run_id: str | None = None
    status: Literal["running", "finished", "stopped", "interrupted"] = "running"
    stopped_by: Stop | None = None  # the rule that ended it early
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
    existing: bool = False  # the table existed before the run
    items_marked: bool = False  # whether items name the run, in an existing table
    shared_with: tuple[TableClaim, ...] = ()  # other runs on its tables meanwhile
    auto_scaling: AutoScaling | None = None  # of an existing table
    processes: int | None = None
    users: int | None = None
    generator: GeneratorHealth | None = None
    totals: RunTotals | None = None
    counted: Mapping[str, float] = {}
    """The load test's own counters by `group.name`: `reads.missing`, `tables.NAME.write_units` ..."""
    timeline: tuple[CapacityChange, ...] = ()
    clock_skew_s: Annotated[float, Field(ge=-SIGNATURE_CLOCK_S, le=SIGNATURE_CLOCK_S)] = 0.0
    """Lead of the service's clock over that of the machine which wrote the run's files."""

    @property
    def retry_cost(self) -> RetryCost | None:
        """The cost of retries; None if every request was sent once."""
        groups = {name.partition(".")[::2]: number for name, number in self.counted.items()}
        cost = {what: number for (group, what), number in groups.items() if group == "retries"}
        return RetryCost.model_validate(cost) if cost.get("requests") else None

    @property
    def duration_s(self) -> float | None:
        """Duration of the load; None if it was killed or still runs."""
        ended_at = self.ended_at
        return None if ended_at is None else max(0.0, (ended_at - self.started_at).total_seconds())

    @property
    def local(self) -> bool:
        """Whether it used the local endpoint, which publishes minutes at once."""
        return self.target == "local"

    @property
    def simulated(self) -> bool:
        """Whether it was simulated on a virtual clock."""
        return self.target == SIMULATED

    @property
    def source(self) -> Source:
        """What answered the requests."""
        if self.simulated:
            return "simulated"
        return "local" if self.local else "aws"

    @property
    def company(self) -> str | None:
        """Concurrent runs on the same tables as text; None without any."""
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
        return self._text("name") or self.run_id

    @property
    def question(self) -> str | None:
        return self._text("question")

    @property
    def expects(self) -> str | None:
        return self._text("expects")

    def _text(self, field: str) -> str | None:
        value = (self.scenario or {}).get(field)
        return value if isinstance(value, str) and value else None


MINUTE: Final = timedelta(minutes=1)


def run_window(run: Manifest, now_s: float) -> Window:
    """From the first to the last minute of a run, to now if it was killed."""
    ended = run.ended_at or max(datetime.fromtimestamp(now_s, UTC), run.started_at)
    start = run.started_at.replace(second=0, microsecond=0)
    whole = ended.replace(second=0, microsecond=0)
    end = whole if whole == ended and whole > start else whole + MINUTE
    return Window(start=start, end=max(end, start + MINUTE))


class KeyUse(LenientPart):
    """One partition key and its numbers, of the run, a window, or conflicts."""

    key: str  # its digest, or its name if not secret
    shown: str | None = None
    units: Units = 0.0  # demand: throttled attempts count at their cost
    throttles: Count = 0
    consumed_units: Units | None = None  # of the whole run only
    share: Annotated[float, Field(ge=0, le=1)] = 0.0
    count: Units = 0.0  # number of conflicts


class KeyWindow(LenientPart):
    """The hottest keys of a few seconds."""

    start: Time
    seconds: Annotated[float, Field(ge=0.001, le=86_400)]
    direction: Direction
    top: tuple[KeyUse, ...] = ()


class Keys(LenientPart):
    """The hottest keys, of the run and of each window, and keys with conflicts."""

    overall: Mapping[Direction, tuple[KeyUse, ...]] = {}
    by_throttles: Mapping[Direction, tuple[KeyUse, ...]] = {}
    windows: tuple[KeyWindow, ...] = ()
    contended: Mapping[str, tuple[KeyUse, ...]] = {}
    indexes: Mapping[str, "Keys"] = {}  # of each index with counted keys

    @classmethod
    def joined(cls, sides: Sequence["Keys"], **more: Any) -> "Keys":
        """Join the keys of both directions, with `more` fields."""
        return cls(
            overall={side: uses for keys in sides for side, uses in keys.overall.items()},
            by_throttles={side: uses for keys in sides for side, uses in keys.by_throttles.items()},
            windows=tuple(window for keys in sides for window in keys.windows),
            **{name: value for name, value in more.items() if value},
        )


def read_manifest(run_dir: Path) -> Manifest:
    """Read the manifest of a run directory. Raises `FileProblem`."""
    path = run_dir / runfiles.FILES[runfiles.RUN]
    return checked(path, Manifest, runfiles.read_json(path, runfiles.RUN))


def read_keys(run_dir: Path) -> Keys:
    """Read the hottest keys of a run directory. Raises `FileProblem`."""
    path = run_dir / runfiles.FILES[runfiles.KEYS]
    return checked(path, Keys, runfiles.read_json(path, runfiles.KEYS))
