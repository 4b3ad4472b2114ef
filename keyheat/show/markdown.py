"""An answer as Markdown, for a ticket or a chat."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from keyheat.runfiles import write_atomically
from keyheat.show.answer import Answer, Table
from keyheat.words import plain_in_markdown


def markdown_of(answer: Answer) -> str:
    """The answer, its parts below it under headings of their own."""
    return "\n".join(_lines(answer, "##")) + "\n"


def write_markdown(path: Path, answer: Answer) -> None:
    """Write the file, whole or not at all. Raises `CannotWrite`."""
    body = markdown_of(answer).encode()
    write_atomically(path, lambda file: file.write(body))


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
    yield f"\n{plain_in_markdown(table.title)}\n"
    yield _row(table.columns)
    yield _row(["---"] * len(table.columns), plain=False)
    yield from map(_row, table.cells)


def _row(cells: Sequence[str], *, plain: bool = True) -> str:
    return f"| {' | '.join(map(plain_in_markdown, cells) if plain else cells)} |"
