"""An answer as Markdown, for a ticket or a chat."""

from collections.abc import Iterator

from keyheat.show.answer import Answer, Table
from keyheat.words import plain_in_markdown


def markdown_of(answer: Answer) -> str:
    """The answer, its parts below it under headings of their own."""
    return "\n".join(_lines(answer, "##")) + "\n"


def _lines(answer: Answer, heading: str) -> Iterator[str]:
    label = f": {plain_in_markdown(answer.label)}" if answer.label else ""
    yield f"{heading} {plain_in_markdown(answer.title)}{label}\n"
    if answer.context:
        yield f"{plain_in_markdown(answer.context)}\n"
    yield f"**{plain_in_markdown(answer.sentence)}**"
    yield from [""] if answer.facts else []
    for fact in answer.facts:
        said = " · ".join(map(plain_in_markdown, (fact.value, *fact.beside)))
        yield f"- {plain_in_markdown(fact.name)}: {said}"
        yield from _code(fact.command, "  ")
    for table in answer.tables:
        yield from _table(table)
    for part in answer.parts:
        yield ""
        yield from _lines(part, f"{heading}#")
    yield from [""] if answer.notes else []
    yield from (f"- {plain_in_markdown(note)}" for note in answer.notes)
    yield from _code("\n".join(answer.commands), "")


def _code(text: str | None, indent: str) -> Iterator[str]:
    """Lines to type, in a fence that none of them can end."""
    if text:
        yield from (
            "",
            *(f"{indent}{line}" for line in ("```", *text.replace("```", "").splitlines(), "```")),
        )


def _table(table: Table) -> Iterator[str]:
    columns = list(table.frame.columns)
    yield f"\n{plain_in_markdown(table.title)}\n"
    yield _row(columns)
    yield _row(["---"] * len(columns), plain=False)
    yield from (_row(row) for row in table.frame.itertuples(index=False))


def _row(cells: object, *, plain: bool = True) -> str:
    texts = [str(cell) for cell in cells]  # type: ignore[attr-defined]
    return f"| {' | '.join(map(plain_in_markdown, texts) if plain else texts)} |"
