"""An answer in a terminal, by rich."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from keyheat.show.answer import Answer, Fact, Table
from keyheat.terminal.layout import COLOURS, Paragraph

SHORT: Final = 32  # characters of a first column that is not broken
STYLES: Final[Mapping[str, str]] = {**COLOURS, "burst": "yellow", "invalid": "yellow"}


def text_of(answer: Answer) -> RenderableType:
    """The answer, its parts below it."""
    return Group(*_lines(answer))


def _lines(answer: Answer, indent: str = "") -> Iterator[RenderableType]:
    yield Text.assemble(
        indent, (answer.title, "bold"), "  ", (answer.label, f"bold {STYLES[answer.tone]}"),
    )  # fmt: skip
    if answer.context:
        yield Paragraph(answer.context, indent, indent, "dim")
    yield Paragraph(answer.sentence, indent, indent, "bold")
    if answer.facts:
        yield Text("")
        yield from _facts(answer.facts, indent)
    for table in answer.tables:
        yield from _table(table, indent)
    for part in answer.parts:
        yield Text("")
        yield from _lines(part, indent)
    yield from _block(answer.notes, indent)
    if answer.commands:
        yield Text("")
        yield from (Text(f"{indent}{command}", style="bold") for command in answer.commands)


def _facts(facts: Sequence[Fact], indent: str) -> Iterator[RenderableType]:
    """A paragraph for each fact; its command stands below, whole, so that it can be copied."""
    width = max(len(fact.name) for fact in facts) + 2
    below = f"{indent}{' ' * width}"
    for fact in facts:
        said = " · ".join((fact.value, *fact.beside))
        yield Paragraph(said, f"{indent}{fact.name:<{width}}", below)
        if fact.command:
            yield from (Text(f"{below}{line}", style="bold") for line in fact.command.splitlines())


def _table(table: Table, indent: str) -> Iterator[RenderableType]:
    yield Text(f"\n{indent}{table.title}", style="bold")
    made = RichTable(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    made.add_column("", width=len(indent))
    for place, name in enumerate(table.columns):
        right = place in table.amounts
        short = all(len(row[place]) <= SHORT for row in table.cells)
        made.add_column(
            name, justify="right" if right else "left", overflow="fold",
            no_wrap=right or (short and not place),
        )  # fmt: skip
    for row in table.cells:
        made.add_row("", *row)
    yield made


def _block(lines: Sequence[str], indent: str) -> Iterator[RenderableType]:
    if lines:
        yield Text("")
        yield from (Paragraph(line, f"{indent}  - ", f"{indent}    ") for line in lines)
