"""A verdict as Markdown, for a ticket or a message: what was found, and what its reader asks next."""

from collections.abc import Iterator

from keyheat.pages.run.hero import Hero
from keyheat.words import plain_in_markdown


def ticket(hero: Hero) -> str:
    """The first screen of a report."""
    return "\n".join(_lines(hero)) + "\n"


def _lines(hero: Hero) -> Iterator[str]:
    expected = f" ({plain_in_markdown(hero.expected)})" if hero.expected else ""
    yield f"**{plain_in_markdown(hero.title)}: {plain_in_markdown(hero.chip)}**{expected}\n"
    yield f"{plain_in_markdown(hero.sentence)}\n"
    for answer in hero.answers:
        yield f"- {plain_in_markdown(answer.question)}: {plain_in_markdown(answer.said)}"
        yield from (f"  - {plain_in_markdown(line)}" for line in answer.beside)
        if answer.command is not None:
            yield f"  - `{answer.command.replace('`', '')}`"
    yield from (f"- {plain_in_markdown(warning)}" for warning in hero.warnings)
    yield f"\n{plain_in_markdown(hero.where)}"
