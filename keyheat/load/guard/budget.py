"""The budget of a run: its caps, what has been consumed of it by now, and what may still be sent.

Plain numbers in, a reason to stop out; nothing here knows the clock, the network or Locust.

What one process may still use up of a run's budget: no request is sent for which nothing is left.
The watch looks at what has come back, now and then; before its first look a fast load may have consumed a
small budget many times over. So each request sets aside what it is taken to cost before it is sent, and
returns what it did not need. One process has the whole budget, each of several a share of it, and asks for
more before it stops.

How much has been consumed by now, from pieces that are up to a second old when they are looked at.
Every process that sends is a source. After its last piece it is taken to consume as it did before that, and
more where it was about to consume more:

    consumed
      |            . '   expected
      |        o '       piece, some tenths of a second ago
      |    . '
      |  o               piece before
      +----------------- time
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import ValidationError

from keyheat.load.record.attempt import ConsumedUnits
from keyheat.plan.charges import AROUND_S, Tariff
from keyheat.runs.manifest import STOP_AMOUNTS, Rule, Stop
from keyheat.scenario.spec.part import BudgetSpec
from keyheat.words import DirectionName

if TYPE_CHECKING:  # what a load test sends is simulated for a bill, and not where it is sent
    from keyheat.plan.bill import Bill

MINUTE_S: Final = 60.0
LEAST_DOLLARS: Final = 1e-9  # of a budget that is spent on hours alone, nothing is left for requests
NO_CHARGE: Final = Tariff(per_hour=0.0, per_write_unit=0.0, per_read_unit=0.0)


class WrongBudget(ValueError):
    """The command line's caps are none; one line for each."""

    def __init__(self, errors: list[str]) -> None:
        self.errors = errors
        super().__init__("\n".join(errors))


def budget_of(stated: BudgetSpec, said: Mapping[str, float | None]) -> BudgetSpec:
    """The scenario's budget with what the command line says of it. Raises `WrongBudget`."""
    try:
        return BudgetSpec.model_validate(
            stated.model_dump() | {part: cap for part, cap in said.items() if cap is not None}
        )
    except ValidationError as error:
        raise WrongBudget(
            [f"--max-{problem['loc'][0]}: {problem['msg']}" for problem in error.errors()]
        ) from error


def over_budget(budget: BudgetSpec, bill: "Bill", duration_s: float) -> Iterator[str]:
    """Why the plan is more than the budget allows, a line for each cap that it exceeds."""
    units, minutes = bill.write_units + bill.read_units, duration_s / MINUTE_S
    if bill.dollars > budget.dollars:
        yield (
            f"it may cost {bill.dollars:,.4g} dollars ({bill.prices.shown}), and its budget is "
            f"{budget.dollars:,.4g}: say --max-dollars {_at_least(bill.dollars)} to allow it"
        )
    if budget.units is not None and units > budget.units:
        yield (
            f"it may consume {units:,.0f} units, and its budget is {budget.units:,.0f}: "
            f"say --max-units {units:.0f} to allow it"
        )
    if budget.minutes is not None and minutes > budget.minutes * (1 + 1e-9):
        yield (
            f"it lasts {minutes:,.4g} minutes, and its budget is {budget.minutes:,.4g}: "
            f"say --max-minutes {_at_least(minutes)} to allow it"
        )


def _at_least(amount: float) -> str:
    """The amount rounded up to cents, so that what is suggested is enough."""
    return f"{amount + 0.005:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What one run may use up in all. None: as much as it needs."""

    dollars: float | None = None
    units: float | None = None
    seconds: float | None = None
    tariff: Tariff = NO_CHARGE

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return (self.dollars, self.units, self.seconds) != (None, None, None)

    def exceeded(self, consumed: ConsumedUnits, elapsed_s: float) -> Stop | None:
        """The first cap that would be exceeded by so much, so many seconds into the load.

        The table exists for a while before and after its load, and an hour that has begun is paid for.
        """
        if self.units is not None and consumed.units > self.units:
            return Stop(rule="max_units", limit=self.units, seen=consumed.units, at_s=elapsed_s)
        dollars = self.spent_dollars(consumed, elapsed_s)
        if self.dollars is not None and dollars > self.dollars:
            return Stop(rule="max_dollars", limit=self.dollars, seen=dollars, at_s=elapsed_s)
        if self.seconds is not None and elapsed_s > self.seconds:
            minutes = elapsed_s / MINUTE_S
            return Stop(rule="max_minutes", limit=self.seconds / MINUTE_S, seen=minutes, at_s=elapsed_s)
        return None

    def share_of(self, consumed: ConsumedUnits) -> float:
        """The share of the budget that so much uses up, beside what the tables cost by the hour."""
        of_units = consumed.units / self.units if self.units else 0.0
        if self.dollars is None:
            return of_units
        nothing = self.spent_dollars(ConsumedUnits(), 0.0)
        dollars = self.spent_dollars(consumed, 0.0) - nothing
        return max(of_units, dollars / max(self.dollars - nothing, LEAST_DOLLARS))

    def nearest(self, consumed: ConsumedUnits, elapsed_s: float) -> Stop:
        """The cap of which so much leaves the least. There is one."""
        caps: list[tuple[Rule, float | None, float]] = [
            ("max_units", self.units, consumed.units),
            ("max_dollars", self.dollars, self.spent_dollars(consumed, elapsed_s)),
        ]
        stops = [Stop(rule=rule, limit=cap, seen=seen, at_s=elapsed_s) for rule, cap, seen in caps if cap]
        return max(stops, key=lambda stop: stop.seen / stop.limit)

    def spent_dollars(self, consumed: ConsumedUnits, elapsed_s: float) -> float:
        """What the run has cost, and its tables until they are deleted."""
        return self.tariff.dollars(consumed.write_units, consumed.read_units, elapsed_s + AROUND_S)

    def as_it_ended(self, stop: Stop, consumed: ConsumedUnits, elapsed_s: float) -> Stop:
        """The same reason with what had come back once everything had."""
        seen = {
            "max_units": consumed.units,
            "max_dollars": self.spent_dollars(consumed, elapsed_s),
            "max_minutes": elapsed_s / MINUTE_S,
        }.get(stop.rule, stop.seen)
        return Stop(rule=stop.rule, limit=stop.limit, seen=seen, at_s=stop.at_s)

    def to_wire(self) -> dict[str, Any]:
        """Plain values, as they travel from the master to a worker."""
        return asdict(self)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> "Caps":
        """What `to_wire` made."""
        return cls(**{**wire, "tariff": Tariff(**wire["tariff"])})


ROUNDING = 1e-9


class Reservation(NamedTuple):
    """What is set aside for one request."""

    operation: str
    stated: float  # what the load test takes it to cost, as a share of the run's budget

    @property
    def free(self) -> bool:
        """Whether no cap is on units or dollars, and nothing is to be settled."""
        return self is FREE


FREE: Final = Reservation("", 0.0)
"""What is set aside where no cap is on units or dollars; nothing is settled for it."""


@dataclass(slots=True)
class _Costs:
    """Requests of one operation: what those in flight were stated to cost, and those that were answered."""

    in_flight: float = 0.0
    stated: float = 0.0
    spent: float = 0.0

    def taken(self, more: float) -> float:
        """What those in flight and one more are taken to cost, by what others did: a statement leaves out
        the entries of indexes, for one."""
        dearer = max(1.0, self.spent / self.stated) if self.stated else 1.0
        return dearer * (self.in_flight + more)


@dataclass(slots=True)
class Allowance:
    """The budget of one process during one run, as a share of the whole run's."""

    caps: Caps
    share: float = 1.0
    ask: Callable[[], bool] = lambda: False  # for more; whether there is some now
    _used: float = 0.0
    _costs: defaultdict[str, _Costs] = field(default_factory=lambda: defaultdict(_Costs))
    _of_unit: dict[str, float] = field(init=False)
    _unlimited: bool = field(init=False)

    def __post_init__(self) -> None:
        self._unlimited = self.caps.units is None and self.caps.dollars is None
        self._of_unit = {
            "write": self.caps.share_of(ConsumedUnits(write_units=1.0)),
            "read": self.caps.share_of(ConsumedUnits(read_units=1.0)),
        }

    def hold(self, operation: str, direction: DirectionName, units: float) -> Reservation | None:
        """Set aside what a request is taken to cost; None: the budget has no room for it."""
        if self._unlimited:
            return FREE
        stated = units * self._of_unit[direction]
        while not self._has_room(operation, stated):
            if not self.ask():
                return None
        self._costs[operation].in_flight += stated
        return Reservation(operation, stated)

    def settle(self, held: Reservation, spent: ConsumedUnits) -> None:
        """The request has come back, and has consumed so much."""
        share = spent.write_units * self._of_unit["write"] + spent.read_units * self._of_unit["read"]
        self._used += share
        costs = self._costs[held.operation]
        costs.in_flight -= held.stated
        if share:  # what was refused cost nothing, and says nothing of what others cost
            costs.stated += held.stated
            costs.spent += share

    def _has_room(self, operation: str, stated: float) -> bool:
        wanted = self._costs[operation]
        taken = sum(costs.taken(stated if costs is wanted else 0.0) for costs in self._costs.values())
        return self._used + taken <= self.share + ROUNDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What one run, or several together, have used up."""

    units: float = 0.0
    dollars: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            units=self.units + other.units,
            dollars=self.dollars + other.dollars,
            seconds=self.seconds + other.seconds,
        )


@dataclass(slots=True)
class Spending:
    """What the runs of one process have used up of the budget that they share. `note` is its only mutator."""

    caps: Caps  # on all of them together
    _of: dict[str, Spent] = field(default_factory=dict)
    _ended_by: Stop | None = None  # the cap that ended a run: what is left of it is too little to go on

    def note(
        self, run_id: str, consumed: ConsumedUnits, elapsed_s: float, stopped: Stop | None = None
    ) -> None:
        """What a run has used up by now; what was known of it before is replaced."""
        dollars = self.caps.spent_dollars(consumed, elapsed_s)
        self._of[run_id] = Spent(units=consumed.units, dollars=dollars, seconds=elapsed_s)
        if stopped is not None and stopped.rule in STOP_AMOUNTS:
            self._ended_by = stopped

    def left(self) -> Caps:
        """What the next run may use up."""
        caps, spent = self.caps, self._all()
        return replace(
            caps,
            units=None if caps.units is None else caps.units - spent.units,
            dollars=None if caps.dollars is None else caps.dollars - spent.dollars,
            seconds=None if caps.seconds is None else caps.seconds - spent.seconds,
        )

    def shown(self) -> str | None:
        """What is left for the next run, in words; None where there was no run before it, or is no cap."""
        left = self.left()
        parts = [
            *([f"{left.dollars:,.2f} dollars"] if left.dollars is not None else ()),
            *([f"{left.units:,.0f} units"] if left.units is not None else ()),
            *([f"{left.seconds / MINUTE_S:,.1f} minutes"] if left.seconds is not None else ()),
        ]
        if not self._of or not parts:
            return None
        return f"of the budget that all starts of one process share, {' and '.join(parts)} are left"

    def refusal(self) -> str | None:
        """Why no run may start: the budget is spent, or less than tables cost unused. None if one may."""
        stop = self._ended_by or self.left().exceeded(ConsumedUnits(), 0.0)
        if stop is None:
            return None
        if not self._of:
            return (
                f"nothing was started: the first hour of its tables costs {stop.seen:,.4g} dollars, and its "
                f"budget is {stop.limit:,.4g}: say --max-dollars {_at_least(stop.seen)} to allow it"
            )
        caps, spent = self.caps, self._all()
        limit, seen = {
            "max_units": (caps.units, spent.units),
            "max_dollars": (caps.dollars, spent.dollars),
            "max_minutes": (caps.seconds and caps.seconds / MINUTE_S, spent.seconds / MINUTE_S),
        }[stop.rule]
        whole = replace(stop, limit=limit or 0.0, seen=seen)
        option = f"--{stop.rule.replace('_', '-')}"
        return (
            f"nothing was started: the budget that all starts of one process share is spent, {whole.amount}: "
            f"start Locust again for a new one, {option} says how large"
        )

    def _all(self) -> Spent:
        return sum(self._of.values(), start=Spent())


OVER_S: Final = 1.0  # how long a rate is measured over, at least: shorter is chance
MOST_GROWTH: Final = 2.0
LOST_S: Final = 12.0
"""A source that is silent for longer does not consume any more: a worker that hears nothing of its master
stops by itself before that (`MASTER_SILENT_S`)."""


@dataclass(frozen=True, slots=True)
class MeteredProcess:
    """What one process has consumed in all at some time, and how many of its requests were in flight then."""

    name: str
    at_s: float
    consumed: ConsumedUnits
    in_flight: int
    done: bool = False  # it sends no more


@dataclass(slots=True)
class ConsumptionMeter:
    """The sources of one run, and what can be expected of them."""

    _seen: dict[str, deque[MeteredProcess]] = field(default_factory=dict)

    def read(self, sources: Iterable[MeteredProcess]) -> None:
        """Take what is known now; what was known already changes nothing."""
        for source in sources:
            seen = self._seen.setdefault(source.name, deque())
            if seen and source.at_s <= seen[-1].at_s and source.done == seen[-1].done:
                continue
            seen.append(source)
            while len(seen) > 3 and seen[1].at_s <= source.at_s - 2 * OVER_S:
                seen.popleft()

    def expected(self, at_s: float) -> ConsumedUnits:
        """What will have come back in the end if nothing is sent after a time: seen, since, and in flight."""
        total = ConsumedUnits()
        for seen in self._seen.values():
            total = total.plus(_expected(seen, at_s))
        return total


def _expected(seen: deque[MeteredProcess], at_s: float) -> ConsumedUnits:
    """The newest piece, what has been consumed since at the newest rate, and what was in flight."""
    last = seen[-1]
    middle = next((one for one in reversed(seen) if one.at_s <= last.at_s - OVER_S), seen[0])
    if middle is last:  # the first piece of a worker, which tells of its first second or less
        middle = MeteredProcess(last.name, last.at_s - OVER_S, ConsumedUnits(), 0)
    silent_s, over_s = max(0.0, at_s - last.at_s), last.at_s - middle.at_s
    if last.done or silent_s > LOST_S:
        return last.consumed
    recent = last.consumed.after(middle.consumed)
    per_s = recent.times(1 / over_s)
    since = per_s.times(silent_s * _growth(seen[0], middle, per_s.units))
    answered = recent if recent.answers else last.consumed
    each = answered.times(1 / answered.answers) if answered.answers else ConsumedUnits()
    return last.consumed.plus(since).plus(each.times(last.in_flight))


def _growth(first: MeteredProcess, middle: MeteredProcess, per_s: float) -> float:
    """By how much a rate that has grown is taken to grow within another second; at least 1."""
    before_s = middle.at_s - first.at_s
    before_per_s = middle.consumed.after(first.consumed).units / before_s if before_s > 0 else 0.0
    return min(MOST_GROWTH, max(1.0, per_s / before_per_s)) if before_per_s else 1.0
