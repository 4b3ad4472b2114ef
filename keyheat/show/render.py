"""An answer in a terminal by rich, as Markdown for a ticket, and as a page: one file that loads nothing.

Jinja is loaded for a page alone.
"""

import re
import textwrap
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from keyheat.numbers import some
from keyheat.runfiles import write_text
from keyheat.shipped import shipped
from keyheat.show import charts
from keyheat.show.answer import Answer, Fact, Figure, Section, Table
from keyheat.words import capital, glued, plain_in_markdown

if TYPE_CHECKING:
    from jinja2 import Template

SHORT: Final = 32  # characters of a first column that is not broken
NARROW: Final = 80  # a table stands closer together to fit into that
MOST_ROWS: Final = 20  # of a table in a section; the page has all of them
COLOURS: Final[Mapping[str, str]] = {
    "partition": "red",
    "table": "medium_purple",
    "max_on_demand": "dark_orange",
    "account": "magenta",
    "undetermined": "yellow",
    "none": "green",
    "burst": "yellow",
    "invalid": "yellow",
    "failed": "red",
    "neutral": "default",
}


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text wrapped to the console's width; numbers stay with their units."""

    text: str
    first: str = ""  # before the first line
    rest: str = ""  # before every other one
    style: str = ""

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        first = self.first
        for line in self.text.splitlines():
            wrapped = textwrap.wrap(
                glued(line), options.max_width, initial_indent=first, subsequent_indent=self.rest,
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip
            first = self.rest
            yield from (Text(each.replace("\u00a0", " "), style=self.style) for each in wrapped)


def text_of(answer: Answer) -> RenderableType:
    """The answer, its sections and its parts below it."""
    return Group(*_lines(answer))


def _lines(answer: Answer, indent: str = "") -> Iterator[RenderableType]:
    label = ("  ", (answer.label, f"bold {COLOURS[answer.tone]}")) if answer.label else ()
    remark = f"  {answer.remark}" if answer.remark else ""
    yield Text.assemble(indent, (answer.title, "bold"), *label, remark)
    if answer.context:
        yield Paragraph(answer.context, indent, indent, "dim")
    yield Paragraph(answer.sentence, indent, indent, "bold")
    yield from (Paragraph(line, indent, indent, "yellow") for line in answer.warnings)
    if answer.facts:
        yield Text("")
        yield from _facts(answer.facts, indent)
    for table in answer.tables:
        yield from _table(table, indent)
    for section in answer.sections:
        if not section.page_only:
            yield from _section(section)
    for part in answer.parts:
        yield Text("")
        yield from _lines(part, indent)
    if answer.notes:
        yield Text("")
        yield from _list(answer.notes, indent)
    if answer.commands:
        yield Text("")
        yield from (Text(f"{indent}{command}", style="bold") for command in answer.commands)


def _section(section: Section) -> Iterator[RenderableType]:
    """A heading, what is wrong, steps to take, lines and tables: a page shows the figures."""
    yield Text(f"\n{section.title}", style="bold")
    yield from _list(map(_plain, section.wrong), "", "red")
    for fact in section.facts:
        yield Paragraph(fact.name, "  - ", "    ", "bold")
        yield from (Paragraph(_plain(line), "    ", "    ") for line in (fact.value, *fact.beside))
    yield from _list(map(_plain, section.lines))
    for table in section.tables:
        yield from _rows(table, "", MOST_ROWS)


def _facts(facts: Sequence[Fact], indent: str) -> Iterator[RenderableType]:
    """A paragraph for each fact; its command is unwrapped below, to be copied."""
    width = max(len(fact.name) for fact in facts) + 2
    below = f"{indent}{' ' * width}"
    for fact in facts:
        words = _plain(" · ".join((fact.value, *fact.beside)))
        yield Paragraph(words, f"{indent}{fact.name:<{width}}", below)
        if fact.command:
            yield from (Text(f"{below}{line}", style="bold") for line in fact.command.splitlines())


def _table(table: Table, indent: str) -> Iterator[RenderableType]:
    yield Text(f"\n{indent}{table.title}", style="bold")
    yield from _rows(table, indent, len(table.rows))


def _rows(table: Table, indent: str, most: int) -> Iterator[RenderableType]:
    """The first rows of a table, and how many more there are."""
    yield _grid(table, indent, most)
    if len(table.rows) > most:
        yield Text(f"{indent}  and {some(len(table.rows) - most, 'more row')}")


def _grid(table: Table, indent: str, most: int) -> RichTable:
    """The first rows of a table. Amounts and a short first column are never broken, heads between words."""
    columns = list(zip(*table.cells, strict=True))
    widths = [max(map(len, column)) for column in zip(table.columns, *table.cells, strict=True)]
    gap = 1 if len(widths) <= NARROW - len(indent) - sum(widths) < 2 * len(widths) else 2
    grid = RichTable(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="dim")
    grid.add_column("", width=len(indent) + 2 - gap)
    for number, (head, column) in enumerate(zip(table.columns, columns, strict=True)):
        amounts, cells = number in table.amounts, max(map(len, column))
        whole = max(cells, *map(len, head.split())) if amounts or (not number and cells <= SHORT) else None
        grid.add_column(head, justify="right" if amounts else "left", overflow="fold", min_width=whole)
    for row in table.cells[:most]:
        grid.add_row("", *row)
    return grid


def _list(lines: Iterable[str], indent: str = "", style: str = "") -> Iterator[RenderableType]:
    yield from (Paragraph(line, f"{indent}  - ", f"{indent}    ", style) for line in lines)


def _plain(text: str) -> str:
    """Remove the backticks that mark code on pages and in tickets."""
    return text.replace("`", "")


def markdown_of(answer: Answer, *, whole: bool = True) -> str:
    """The answer, its sections and parts under headings; the first screen alone if not `whole`."""
    return "\n".join(_markdown(answer, "##", whole)) + "\n"


def _markdown(answer: Answer, heading: str, whole: bool) -> Iterator[str]:
    label = f": {plain_in_markdown(answer.label)}" if answer.label else ""
    remark = f" ({plain_in_markdown(answer.remark)})" if answer.remark else ""
    yield f"{heading} {plain_in_markdown(answer.title)}{label}{remark}\n"
    if answer.context:
        yield f"{plain_in_markdown(answer.context)}\n"
    yield f"**{plain_in_markdown(answer.sentence)}**"
    yield from [""] if answer.facts else []
    for fact in answer.facts:
        words = " · ".join(map(plain_in_markdown, (fact.value, *fact.beside)))
        yield f"- {plain_in_markdown(fact.name)}: {words}"
        yield from _fence(fact.command, "  ")
    yield from _markdown_list(answer.warnings)
    if not whole:
        return
    for table in answer.tables:
        yield from _markdown_table(table)
    for section in answer.sections:
        if not section.page_only:
            yield f"\n{heading}# {plain_in_markdown(section.title)}"
            steps = (" ".join((f"{fact.name}.", fact.value, *fact.beside)) for fact in section.facts)
            yield from _markdown_list((*section.wrong, *steps, *section.lines))
            for table in section.tables:
                yield from _markdown_table(table)
    for part in answer.parts:
        yield ""
        yield from _markdown(part, f"{heading}#", whole)
    yield from _markdown_list(answer.notes)
    yield from _fence("\n".join(answer.commands), "")


def _markdown_list(lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield from (f"- {plain_in_markdown(line)}" for line in lines)


def _fence(text: str | None, indent: str) -> Iterator[str]:
    """Lines to type, in a fence that none of them can end."""
    if text:
        yield from (
            "",
            *(f"{indent}{line}" for line in ("```", *text.replace("```", "").splitlines(), "```")),
        )


def _markdown_table(table: Table) -> Iterator[str]:
    yield f"\n{plain_in_markdown(table.title)}\n"
    yield _markdown_row(table.columns)
    yield _markdown_row(["---"] * len(table.columns), plain=False)
    yield from map(_markdown_row, table.cells)


def _markdown_row(cells: Sequence[str], *, plain: bool = True) -> str:
    return f"| {' | '.join(map(plain_in_markdown, cells) if plain else cells)} |"


SCRIPTS = ("library.js", "page.js", "ticket.js", "table.js")


def html_of(answer: Answer, generated_at: datetime, *, library: str | None = None) -> str:
    """The page. Links are relative to it; `library` takes the place of the packed plotly, as in a test."""
    from markupsafe import Markup

    ids = _chart_ids(figures_in(answer))
    drawn = {ids[id(figure)]: _plotly_json(figure) for figure in figures_in(answer)}
    content = {
        "figures": drawn, "template": charts.TEMPLATE, "dark": charts.dark_partners(),
        "ticket": markdown_of(answer, whole=False),
    }  # fmt: skip
    packed = library if library is not None else _packed_library() if drawn else ""
    return _page().render(
        answer=answer, id_of=lambda figure: ids[id(figure)], content=Markup(_embedded(content)),
        styles=Markup(charts.css_variables() + _template("style.css")), library=Markup(packed),
        script=Markup("".join(map(_template, SCRIPTS))),
        generated_at=generated_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )  # fmt: skip


def save(path: Path, text: str) -> Path:
    """Write a page, whole or not at all; gives its path. Raises `CannotWrite`."""
    write_text(path, text)
    return path


def figures_in(answer: Answer) -> list[Figure]:
    """Every figure of an answer, of its sections and of its parts."""
    sections = (figure for section in answer.sections for figure in section.figures)
    parts = (figure for answer_part in answer.parts for figure in answer_part.figures)
    return [*parts, *sections, *answer.figures]


def _chart_ids(figures: list[Figure]) -> Mapping[int, str]:
    """An id for each figure, made of its title."""
    names: dict[int, str] = {}
    for figure in figures:
        name = re.sub(r"[^a-z0-9]+", "-", f"chart-{figure.title}".lower()).strip("-")
        candidates = chain([name], (f"{name}-{number}" for number in count(2)))
        names[id(figure)] = next(each for each in candidates if each not in names.values())
    return names


def _plotly_json(figure: Figure) -> dict[str, Any]:
    """A figure without the template, which the page has once."""
    spec: dict[str, Any] = figure.figure.to_plotly_json()
    layout = spec["layout"]
    layout.pop("template", None)
    drawn = [*spec["data"], *layout.get("shapes", ())]
    layout["showlegend"] = any(each.get("name") for each in drawn)
    for each in drawn:  # what has no name would stand there as `trace 1`
        each.setdefault("showlegend", bool(each.get("name")))
    return spec


def _embedded(value: Mapping[str, Any]) -> str:
    """A value as JSON that cannot end the script element it stands in."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_SERIALIZE_NUMPY).decode()
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def _packed_library() -> str:
    path = shipped("reports") / "plotly" / "plotly-cartesian.min.js.gz"
    return b64encode(path.read_bytes()).decode("ascii")


@cache
def _template(name: str) -> str:
    """The text of a file in reports/templates."""
    return (shipped("reports") / "templates" / name).read_text(encoding="utf-8")


@cache
def _page() -> "Template":
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(glued=glued, capital=capital)
    return environment.from_string(_template("show.html.j2"))
