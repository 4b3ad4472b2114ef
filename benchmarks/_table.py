"""Claims of speed beside what was measured, as one table."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

WIDTH = 120  # also where the output goes to a file


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured number, and the bound it is to keep, if it has one."""

    what: str
    measured: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def kept(self) -> bool | None:
        """Whether the bound is kept; None where there is none."""
        if self.at_least is not None:
            return self.measured >= self.at_least
        return None if self.at_most is None else self.measured <= self.at_most

    def target(self) -> str:
        """The bound in words."""
        if self.at_least is not None:
            return f"≥ {_shown(self.at_least)}"
        return "" if self.at_most is None else f"≤ {_shown(self.at_most)}"


def show(title: str, rows: Sequence[Row]) -> bool:
    """Print the table; True where every bound is kept."""
    table = Table(title=title, title_justify="left")
    for heading in ("", "target", "measured", "unit", "", "note"):
        table.add_column(heading, justify="right" if heading in ("target", "measured") else "left")
    for row in rows:
        mark = {True: "kept", False: "[red]missed[/red]", None: ""}[row.kept]
        table.add_row(row.what, row.target(), _shown(row.measured), row.unit, mark, row.note)
    Console(width=WIDTH).print(table)
    return all(row.kept is not False for row in rows)


def _shown(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:,.3g}"
