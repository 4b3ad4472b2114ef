"""A verdict as Markdown, for a ticket or a message: what was found, and what its reader asks next."""

from collections.abc import Iterator

from keyheat.pages.run.advice import cure_words
from keyheat.pages.run.hero import Hero
from keyheat.pages.run.record import ReportRun
from keyheat.words import plain_in_markdown


def ticket(hero: Hero, run: ReportRun) -> str:
    """The first screen of a report, and the whole cure."""
    return "\n".join(_lines(hero, run)) + "\n"


def _lines(hero: Hero, run: ReportRun) -> Iterator[str]:
    expected = f" ({plain_in_markdown(hero.expected)})" if hero.expected else ""
    yield f"**{plain_in_markdown(hero.title)}: {plain_in_markdown(hero.chip)}**{expected}\n"
    yield f"{plain_in_markdown(hero.sentence)}\n"
    for answer in hero.answers:
        yield f"- {plain_in_markdown(answer.question)}: {plain_in_markdown(answer.said)}"
        yield from (f"  - {plain_in_markdown(line)}" for line in answer.beside)
        if answer.command is not None:
            yield f"  - `{answer.command.replace('`', '')}`"
    yield from (f"- {plain_in_markdown(warning)}" for warning in hero.warnings)
    if run.diagnosis.cure is not None:
        yield f"\n{plain_in_markdown(cure_words(run.diagnosis.cure))}"
    yield f"\n{plain_in_markdown(hero.where)}"
