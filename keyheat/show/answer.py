"""What a verb answers: one value, which every renderer shows whole.

A verb, or an analyzer, makes an `Answer` and no text of its own. `keyheat.show.text` prints it,
`keyheat.show.markdown` makes a ticket of it, `keyheat.show.html` a page, `keyheat.show.data` JSON.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from keyheat.words import Constraint

if TYPE_CHECKING:
    import plotly.graph_objects as go

AMOUNT: Final = re.compile(r"[$x]? ?\d[\d,.]*( ?[a-zA-Z%/]+){0,2}|none|–|always|under 0\.1 %")
Tone = Constraint | Literal["burst", "invalid"]
"""The colour of an answer: a limit that throttled, `none` for good news, `burst` for good news that will not
last, `invalid` where the evidence does not decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that a reader asks next: its name, the answer in a few words, what stands below it.

    `command` is what to type about it, whole, so that it can be copied.
    """

    name: str
    value: str
    beside: tuple[str, ...] = ()
    command: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under a title, each a value by column; columns are shown as they are named."""

    title: str
    rows: tuple[Mapping[str, Any], ...]

    @property
    def columns(self) -> list[str]:
        """The names of the columns; none if there are no rows."""
        return list(self.rows[0]) if self.rows else []

    @property
    def cells(self) -> list[list[str]]:
        """Every row as text."""
        return [list(map(str, row.values())) for row in self.rows]

    @property
    def amounts(self) -> frozenset[int]:
        """The places of the columns that hold amounts, which are set right."""
        columns = list(zip(*self.cells, strict=True))
        return frozenset(
            place
            for place, cells in enumerate(columns)
            if all(map(AMOUNT.fullmatch, cells)) and any(map(str.isdigit, "".join(cells)))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A plotly figure with its title, in one sentence what it shows, and its numbers."""

    title: str
    summary: str
    figure: "go.Figure"
    table: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The whole answer. `parts` are answers about parts of the question, each shown below it.

    `title` says what it is about, `label` the outcome in two words, `sentence` the outcome with its numbers.
    `link` leads to the page that says more, relative to the page of this answer. `reading` are terms with
    their meanings, for a page that somebody else reads. `data` is for programs.
    """

    title: str
    sentence: str
    tone: Tone
    label: str = ""
    context: str = ""  # where and when, in one line
    facts: tuple[Fact, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()  # what to type next
    parts: tuple["Answer", ...] = ()
    link: str | None = None
    reading: tuple[tuple[str, str], ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
