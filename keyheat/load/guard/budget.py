"""The budget of a run: its caps, what has been consumed of it by now, and what is left.

Plain numbers in, a reason to stop out; nothing here knows the clock, the network or Locust.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import ValidationError

from keyheat.load.guard.options import Guards, InputError
from keyheat.load.record.attempt import ConsumedUnits
from keyheat.plan.bill import AROUND_S, Tariff
from keyheat.runs.manifest import STOP_AMOUNTS, Rule, Stop
from keyheat.scenario.spec.part import BudgetSpec

if TYPE_CHECKING:  # what a load test sends is simulated for a bill, and not where it is sent
    from keyheat.plan.bill import Bill

MINUTE_S: Final = 60.0
NO_CHARGE: Final = Tariff(per_hour=0.0, per_write_unit=0.0, per_read_unit=0.0)


def budget_of(stated: BudgetSpec, guards: Guards) -> BudgetSpec:
    """The scenario's budget with the caps of the guards. Raises `InputError`."""
    caps = {name: getattr(guards, f"max_{name}") for name in BudgetSpec.model_fields}
    stated_caps = {name: cap for name, cap in caps.items() if cap is not None}
    try:
        return BudgetSpec.model_validate(stated.model_dump() | stated_caps)
    except ValidationError as error:
        raise InputError(
            [f"--max-{problem['loc'][0]}: {problem['msg']}" for problem in error.errors()]
        ) from error


def over_budget(budget: BudgetSpec, bill: "Bill", duration_s: float) -> Iterator[str]:
    """Yield why the plan is more than the budget allows, a line for each cap that it exceeds."""
    units, minutes = bill.write_units + bill.read_units, duration_s / MINUTE_S
    dollars = f"it may cost {bill.dollars:,.4g} dollars ({bill.prices.title})"
    for name, amount, words, digits in (
        ("dollars", bill.dollars, dollars, ",.4g"),
        ("units", units, f"it may consume {units:,.0f} units", ",.0f"),
        ("minutes", minutes, f"it lasts {minutes:,.4g} minutes", ",.4g"),
    ):
        cap = getattr(budget, name)
        if cap is not None and amount > cap * (1 + 1e-9):
            yield f"{words}, and its budget is {cap:{digits}}: {_allow(name, amount)}"


def _allow(cap: str, amount: float) -> str:
    """Where a person raises a cap: on the command line, or in a suite's file. Rounded up, so it is enough."""
    enough = f"{amount:.0f}" if cap == "units" else f"{amount + 0.005:.2f}"
    return f"allow it with --max-{cap} {enough} (in a suite: max_{cap} in [run])"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What one run may use up in all. None: as much as it needs."""

    dollars: float | None = None
    units: float | None = None
    minutes: float | None = None
    tariff: Tariff = NO_CHARGE

    def used(self, consumed: ConsumedUnits, elapsed_s: float) -> "Spent":
        """What a run has used up after `elapsed_s` of load, including its tables until they are deleted.

        A table exists for a while before and after its load, and an hour that has begun is paid for.
        """
        dollars = self.tariff.dollars(consumed.write_units, consumed.read_units, elapsed_s + AROUND_S)
        return Spent(consumed.units, dollars, elapsed_s / MINUTE_S)

    def stops(self, consumed: ConsumedUnits, elapsed_s: float) -> Iterator[Stop]:
        """Yield every cap with what a run has used of it after `elapsed_s` of load."""
        for name, seen in self.used(consumed, elapsed_s)._asdict().items():
            if (limit := getattr(self, name)) is not None:
                yield Stop(rule=RULES[name], limit=limit, seen=seen, at_s=elapsed_s)

    def exceeded(self, consumed: ConsumedUnits, elapsed_s: float) -> Stop | None:
        """The first cap that `consumed` would exceed after `elapsed_s` of load."""
        return next((stop for stop in self.stops(consumed, elapsed_s) if stop.seen > stop.limit), None)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> "Caps":
        return cls(**{**wire, "tariff": Tariff(**wire["tariff"])})


class Spent(NamedTuple):
    """What one run, or several together, have used of the caps."""

    units: float = 0.0
    dollars: float = 0.0
    minutes: float = 0.0


RULES: Final[dict[str, Rule]] = {
    "units": "max_units",
    "dollars": "max_dollars",
    "minutes": "max_minutes",
}


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
        self._of[run_id] = self.caps.used(consumed, elapsed_s)
        if stopped is not None and stopped.rule in STOP_AMOUNTS:
            self._ended_by = stopped

    def left(self) -> Caps:
        rest = {
            name: cap - spent
            for name, spent in self._all()._asdict().items()
            if (cap := getattr(self.caps, name)) is not None
        }
        return replace(self.caps, **rest)

    def left_text(self) -> str | None:
        """Return what is left for the next run, in words; None before the first run, and without caps."""
        rest, digits = self.left(), {"dollars": ",.2f", "units": ",.0f", "minutes": ",.1f"}
        caps = {name: getattr(rest, name) for name in digits}
        parts = [f"{cap:{digits[name]}} {name}" for name, cap in caps.items() if cap is not None]
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
        name = stop.rule.removeprefix("max_")
        whole = replace(stop, limit=getattr(self.caps, name), seen=getattr(self._all(), name))
        return (
            f"nothing was started: the budget that all starts of one process share is spent, {whole.amount}: "
            f"start Locust again for a new one, --max-{name} says how large"
        )

    def _all(self) -> Spent:
        return Spent(*map(sum, zip(Spent(), *self._of.values(), strict=True)))
