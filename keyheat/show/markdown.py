"""An answer as Markdown, for a ticket or a chat."""

from collections.abc import Iterator, Sequence

from keyheat.show.answer import Answer, Section, Table
from keyheat.words import plain_in_markdown


def markdown_of(answer: Answer, *, whole: bool = True) -> str:
    """The answer, its sections and parts under headings; the first screen alone if not `whole`."""
    return "\n".join(_lines(answer, "##", whole)) + "\n"


def _lines(answer: Answer, heading: str, whole: bool) -> Iterator[str]:
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
        yield from _code(fact.command, "  ")
    yield from _list(answer.warnings)
    if not whole:
        return
    for table in answer.tables:
        yield from _table(table)
    for section in answer.sections:
        if not section.page_only:
            yield f"\n{heading}# {plain_in_markdown(section.title)}"
            yield from _section(section)
    for part in answer.parts:
        yield ""
        yield from _lines(part, f"{heading}#", whole)
    yield from _list(answer.notes)
    yield from _code("\n".join(answer.commands), "")


def _section(section: Section) -> Iterator[str]:
    steps = (" ".join((f"{fact.name}.", fact.value, *fact.beside)) for fact in section.facts)
    yield from _list((*section.wrong, *steps, *section.lines))
    for table in section.tables:
        yield from _table(table)


def _list(lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield ""
        yield from (f"- {plain_in_markdown(line)}" for line in lines)


def _code(text: str | None, indent: str) -> Iterator[str]:
    """Lines to type, in a fence that none of them can end."""
    if text:
        yield from (
            "",
            *(f"{indent}{line}" for line in ("```", *text.replace("```", "").splitlines(), "```")),
        )


def _table(table: Table) -> Iterator[str]:
    yield f"\n{plain_in_markdown(table.title)}\n"
    yield _row(table.columns)
    yield _row(["---"] * len(table.columns), plain=False)
    yield from map(_row, table.cells)


def _row(cells: Sequence[str], *, plain: bool = True) -> str:
    return f"| {' | '.join(map(plain_in_markdown, cells) if plain else cells)} |"
