"""The budget of a run: its caps, what has been consumed of it by now, and what is left.

Plain numbers in, a reason to stop out; nothing here knows the clock, the network or Locust.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from keyheat.load.record.attempt import ConsumedUnits
from keyheat.plan.charges import AROUND_S, Tariff
from keyheat.runs.manifest import STOP_AMOUNTS, Rule, Stop
from keyheat.scenario.spec.part import BudgetSpec

if TYPE_CHECKING:  # what a load test sends is simulated for a bill, and not where it is sent
    from keyheat.plan.bill import Bill

MINUTE_S: Final = 60.0
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
            f"{budget.dollars:,.4g}: {_allow('dollars', bill.dollars)}"
        )
    if budget.units is not None and units > budget.units:
        yield (
            f"it may consume {units:,.0f} units, and its budget is {budget.units:,.0f}: "
            f"{_allow('units', units)}"
        )
    if budget.minutes is not None and minutes > budget.minutes * (1 + 1e-9):
        yield (
            f"it lasts {minutes:,.4g} minutes, and its budget is {budget.minutes:,.4g}: "
            f"{_allow('minutes', minutes)}"
        )


def _allow(cap: str, amount: float) -> str:
    """Where a person raises a cap: on the command line, or in a suite's file."""
    enough = f"{amount:.0f}" if cap == "units" else _at_least(amount)
    return f"allow it with --max-{cap} {enough} (in a suite: max_{cap} in [run])"


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

    def nearest(self, consumed: ConsumedUnits, elapsed_s: float) -> Stop:
        """The cap of which so much leaves the least. There is one."""
        caps: list[tuple[Rule, float | None, float]] = [
            ("max_units", self.units, consumed.units),
            ("max_dollars", self.dollars, self.spent_dollars(consumed, elapsed_s)),
            ("max_minutes", self.seconds and self.seconds / MINUTE_S, elapsed_s / MINUTE_S),
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
        return cls(**{**wire, "tariff": Tariff(**wire["tariff"])})


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
                f"budget is {stop.limit:,.4g}: {_allow('dollars', stop.seen)}"
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
