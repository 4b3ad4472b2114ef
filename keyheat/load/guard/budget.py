"""The budget of a run: held against its bill before it starts, and against what comes back while it runs.

Plain numbers in, a reason to stop out; nothing here knows the clock, the network or Locust.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from pydantic import ValidationError

from keyheat.load.record.consumed import Consumed
from keyheat.plan.bill import AROUND_S, Bill, Tariff
from keyheat.runs.manifest import Rule, Stop
from keyheat.scenario.spec.part import BudgetSpec

MINUTE_S: Final = 60.0
LEAST_DOLLARS: Final = 1e-9  # of a budget that is spent on hours alone, nothing is left for requests
FREE: Final = Tariff(per_hour=0.0, per_write_unit=0.0, per_read_unit=0.0)


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


def over_budget(budget: BudgetSpec, bill: Bill, duration_s: float) -> Iterator[str]:
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
    tariff: Tariff = FREE

    @property
    def any(self) -> bool:
        """Whether there is one."""
        return (self.dollars, self.units, self.seconds) != (None, None, None)

    def exceeded(self, consumed: Consumed, elapsed_s: float) -> Stop | None:
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

    def share_of(self, consumed: Consumed) -> float:
        """The share of the budget that so much uses up, beside what the tables cost by the hour."""
        of_units = consumed.units / self.units if self.units else 0.0
        if self.dollars is None:
            return of_units
        nothing = self.spent_dollars(Consumed(), 0.0)
        dollars = self.spent_dollars(consumed, 0.0) - nothing
        return max(of_units, dollars / max(self.dollars - nothing, LEAST_DOLLARS))

    def nearest(self, consumed: Consumed, elapsed_s: float) -> Stop:
        """The cap of which so much leaves the least. There is one."""
        caps: list[tuple[Rule, float | None, float]] = [
            ("max_units", self.units, consumed.units),
            ("max_dollars", self.dollars, self.spent_dollars(consumed, elapsed_s)),
        ]
        stops = [Stop(rule=rule, limit=cap, seen=seen, at_s=elapsed_s) for rule, cap, seen in caps if cap]
        return max(stops, key=lambda stop: stop.seen / stop.limit)

    def spent_dollars(self, consumed: Consumed, elapsed_s: float) -> float:
        """What the run has cost, and its tables until they are deleted."""
        return self.tariff.dollars(consumed.write_units, consumed.read_units, elapsed_s + AROUND_S)

    def as_it_ended(self, stop: Stop, consumed: Consumed, elapsed_s: float) -> Stop:
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
