"""What a verb answers: one value, which every renderer shows whole.

A verb, or an analyzer, makes an `Answer` and no text of its own. `keyheat.show.render` prints it and makes a
ticket or a page of it, `json_of` JSON.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from os.path import relpath
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

import orjson

from keyheat.words import Constraint

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Drawing
else:
    Drawing = Any  # loaded by the code that draws; an answer without figures does without plotly

AMOUNT: Final = re.compile(r"[$x±]? ?\d[\d,.]*( ?[a-zA-Z%/]+){0,2}|none|–|always|under 0\.1 %")
Tone = Constraint | Literal["burst", "invalid", "failed", "neutral"]
"""The colour of an answer: a limit that throttled, `none` for good news, `burst` for good news that will not
last, `invalid` where the evidence does not decide, `failed` for a check that did not hold, `neutral`
for a list without news."""
Mark = Literal["area", "dash", "dot", "bar"]
"""How a line of a picture is drawn: consumption, a limit, a partition's limit, throttles."""


def link_to(path: Path, folder: Path) -> str:
    """The address of a file for a page in `folder`."""
    return quote(Path(relpath(path, folder)).as_posix())


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that a reader asks next: its name, the answer in a few words, what stands below it.

    `command` is what to type about it, whole, so that it can be copied. `id` is its place on a page:
    `now`, `do`, `cost`, `sure` ...
    """

    name: str
    value: str
    beside: tuple[str, ...] = ()
    command: str | None = None
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under a title, each a value by column; columns are shown as they are named.

    `links` has an address for the first cell of each row, None without one. A `folded` table is opened by its
    reader, a `sortable` one is sorted by its heads and filtered by words.
    """

    title: str
    rows: tuple[Mapping[str, Any], ...]
    folded: bool = False
    sortable: bool = False
    links: tuple[str | None, ...] = ()

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
            number
            for number, cells in enumerate(columns)
            if all(map(AMOUNT.fullmatch, cells)) and any(map(str.isdigit, "".join(cells)))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A plotly figure with its title, in one sentence what it shows, and its numbers."""

    title: str
    summary: str
    figure: Drawing
    table: Table | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A small drawing without axes: SVG paths in a box of 320 x 96, and what each mark stands for."""

    summary: str
    paths: tuple[tuple[Mark, str], ...]
    legend: tuple[tuple[Mark, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of an answer under a heading: what is wrong first, then lines, facts, figures and tables.

    A terminal shows it unless it is for the page alone. `short` names it where pages list their sections.
    """

    id: str
    title: str
    short: str = ""
    wrong: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    page_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The whole answer. `parts` are answers about parts of the question, each shown below it.

    `title` says what it is about, `label` the outcome in two words, `sentence` the outcome with its numbers.
    `remark` stands beside the label, as whether the outcome was expected; `surprise` makes it stand out.
    `link` leads to the page that says more, relative to the page of this answer. `data` is for
    programs.
    """

    title: str
    sentence: str
    tone: Tone = "none"
    label: str = ""
    context: str = ""  # where and when, in one line
    question: str = ""
    remark: str = ""
    surprise: bool = False
    picture: Picture | None = None
    facts: tuple[Fact, ...] = ()
    warnings: tuple[str, ...] = ()  # what to know before anything is relied on
    sections: tuple[Section, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()  # what to type next
    parts: tuple["Answer", ...] = ()
    link: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


FORMAT: Final = "keyheat.answer/1"


def json_schema() -> dict[str, Any]:
    """The JSON Schema of an answer: figures are plotly's own JSON."""
    from pydantic import TypeAdapter

    return TypeAdapter(Answer).json_schema(mode="serialization")


def json_of(answer: Answer) -> dict[str, Any]:
    """The answer with its format; tables are lists of rows by column, figures are plotly's own JSON."""
    content = {"format": FORMAT, **asdict(answer)}
    plain: dict[str, Any] = orjson.loads(
        orjson.dumps(
            content, default=plain_value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
        )
    )
    return plain


def plain_value(value: Any) -> Any:
    """What orjson does not know, as it does: a figure, a path, a model, a set."""
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    return orjson.loads(value.to_json()) if hasattr(value, "to_json") else sorted(value)
