"""Consent: what a run on an account does and costs, said to a person who agrees to it, or does not."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TextIO

from keyheat.load.guard.options import Guards
from keyheat.load.transport.target import Target
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.part import BudgetSpec
from keyheat.scenario.spec.tables import TableSpec

if TYPE_CHECKING:
    from keyheat.plan.bill import Bill

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

    def lines(self) -> Iterator[str]:
        """Yield what is done, and what it costs, a line each."""
        existing = self.guards.table
        table = existing or self.scenario.table.name
        lasting = "until it is stopped" if self.duration_s is None else f"for {self.duration_s:g} s"
        where = f"{self.target.url}, {self.target.region}"
        yield f"{self.scenario.name} loads table {table} at {where}, {lasting}"
        if existing is not None:
            items = "deleted" if self.guards.clean_up else "kept"
            yield f"table {existing} is there, and stays; the items that are written to it are {items}"
            if self.target.aws:
                yield f"its {WARM_STAYS}"
        tables = [*([] if existing else [self.scenario.table]), *self.scenario.companions]
        for spec in tables:
            yield f"table {spec.name} is created if it is not there, and then {self._fate(spec)}"
        bill = self.bill
        yield (
            f"it costs at most {_money(bill.dollars)} ({bill.prices.title}), "
            f"for {bill.write_units:,.0f} write and {bill.read_units:,.0f} read units"
            + (", if it lasts as long as its scenario says" if self.duration_s is None else "")
        )
        if bill.unpriced:
            yield f"it also costs what has no price on that list: {', '.join(bill.unpriced)}"
        yield f"it is stopped at {_in_words(self.budget)}"

    def _fate(self, spec: TableSpec) -> str:
        if self.guards.keep_table or spec.on_end == "keep":
            return "kept, and costs until deleted"
        return "deleted when the run is over"


def _money(dollars: float) -> str:
    return f"{dollars:,.2f} dollars" if dollars >= 0.005 else "a cent"


def _in_words(budget: BudgetSpec) -> str:
    caps = [f"{budget.dollars:,g} dollars"]
    caps += [] if budget.units is None else [f"{budget.units:,.0f} units"]
    caps += [] if budget.minutes is None else [f"{budget.minutes:g} minutes"]
    return " or ".join(caps)


def announced(undertakings: Sequence[Undertaking]) -> str:
    """Everything that is asked for at once, and the sum of several."""
    parts = ["\n".join(f"  {line}" for line in undertaking.lines()) for undertaking in undertakings]
    if len(undertakings) > 1:
        dollars = sum(undertaking.bill.dollars for undertaking in undertakings)
        parts.append(f"  {len(undertakings)} runs, together at most {_money(dollars)}")
    return "\n\n".join(parts)


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
