"""Before a run: its budget held against its bill, and consent by a person to what it does and costs."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TextIO

from pydantic import ValidationError

from keyheat.load.options import Guards, InputError, TableRefused
from keyheat.load.transport.target import Target
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.part import BudgetSpec

if TYPE_CHECKING:  # what a load test sends is simulated for a bill, and not where it is sent
    from keyheat.plan.bill import Bill

MINUTE_S: Final = 60.0


def budget_of(stated: BudgetSpec, guards: Guards) -> BudgetSpec:
    """The scenario's budget with the caps of the guards. Raises `InputError`."""
    caps = {name: getattr(guards, f"max_{name}") for name in BudgetSpec.model_fields}
    stated_caps = {name: cap for name, cap in caps.items() if cap is not None}
    try:
        return BudgetSpec.model_validate(stated.model_dump() | stated_caps)
    except ValidationError as error:
        problems = error.errors()
        raise InputError(*(f"--max-{problem['loc'][0]}: {problem['msg']}" for problem in problems)) from error


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
            yield f"{words}, and its budget is {cap:{digits}}: {allow(name, amount)}"


def allow(cap: str, amount: float) -> str:
    """Where a person raises a cap: on the command line, or in a suite's file. Rounded up, so it is enough."""
    enough = f"{amount:.0f}" if cap == "units" else f"{amount + 0.005:.2f}"
    return f"allow it with --max-{cap} {enough} (in a suite: max_{cap} in [run])"


QUESTION: Final = "Go on? [y/N] "
AGREED: Final = ("y", "yes")
NEEDS_YES: Final = "a run outside this machine costs money and needs consent; without a terminal, add --yes"
WARM_STAYS: Final = (
    "warm throughput may rise with the load; AWS never lowers it, and infrastructure as code shows the drift"
)
DECLINED: Final = "nothing was started; --yes goes on without asking"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undertaking:
    """One run to agree to."""

    scenario: Scenario
    target: Target
    bill: "Bill"
    budget: BudgetSpec
    duration_s: float | None  # None: until stopped
    guards: Guards = field(default_factory=Guards)
    least: "Bill | None" = None  # what it costs even if nothing is sent, where it may be stopped at any time

    def lines(self) -> Iterator[str]:
        existing, bill = self.guards.table, self.bill
        table = existing or self.scenario.table.name
        lasting = "until it is stopped" if self.duration_s is None else f"for {self.duration_s:g} s"
        where = f"{self.target.url}, {self.target.region}"
        yield f"{self.scenario.name} loads table {table} at {where}, {lasting}"
        if existing is not None:
            items = "deleted" if self.guards.clean_up else "kept"
            yield f"table {existing} is there, and stays; the items that are written to it are {items}"
            if self.target.aws:
                yield f"its {WARM_STAYS}"
        for spec in [*([] if existing else [self.scenario.table]), *self.scenario.companions]:
            keep = self.guards.keep_table or spec.on_end == "keep"
            fate = "kept, and costs until deleted" if keep else "deleted when the run is over"
            yield f"table {spec.name} is created if it is not there, and then {fate}"
        yield (
            f"it costs at most {_money(bill.dollars)} ({bill.prices.title}), "
            f"for {bill.write_units:,.0f} write and {bill.read_units:,.0f} read units"
            + (", if it lasts as long as its scenario says" if self.duration_s is None else "")
        )
        if bill.unpriced:
            yield f"it also costs what has no price on that list: {', '.join(bill.unpriced)}"
        caps = [f"{self.budget.dollars:,g} dollars"]
        caps += [] if self.budget.units is None else [f"{self.budget.units:,.0f} units"]
        caps += [] if self.budget.minutes is None else [f"{self.budget.minutes:g} minutes"]
        yield f"it is stopped at {' or '.join(caps)}"


def _money(dollars: float) -> str:
    return f"{dollars:,.2f} dollars" if dollars >= 0.005 else "a cent"


def consent(
    undertakings: Sequence[Undertaking],
    *,
    yes: bool,
    ask: Callable[[str], str] | None,
    show: Callable[[str], None],
) -> None:
    """Have a person agree once to all runs, each of which has to be within its budget.

    `show` prints what is asked for, `ask` a question; None without a terminal. Raises `TableRefused`.
    """
    several = len(undertakings) > 1
    reasons = [
        (f"{run.scenario.name}: " if several else "") + line
        for run in undertakings
        for line in over_budget(run.budget, run.least or run.bill, run.duration_s or 0.0)
    ]
    if reasons:
        raise TableRefused(*reasons)
    if yes:
        return
    if ask is None:
        raise TableRefused(NEEDS_YES)
    parts = ["\n".join(f"  {line}" for line in run.lines()) for run in undertakings]
    if several:
        dollars = sum(run.bill.dollars for run in undertakings)
        parts.append(f"  {len(undertakings)} runs, together at most {_money(dollars)}")
    show("\n\n".join(parts))
    if not agrees(ask):
        raise TableRefused(DECLINED)


def is_interactive(person: TextIO | None = None) -> bool:
    """Whether there is a terminal to ask on. A service or a scheduler may give a process no input at all."""
    person = person or sys.stdin
    return person is not None and person.isatty()


def agrees(ask: Callable[[str], str]) -> bool:
    """Return whether the person says yes; anything else, and an end of the input, is a no."""
    try:
        return ask(QUESTION).strip().lower() in AGREED
    except EOFError:
        return False
