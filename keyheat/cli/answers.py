"""How verbs give an `Answer`: in a terminal, as Markdown or JSON; as a page, with its JSON beside it."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from keyheat.runfiles import write_json
from keyheat.show.answer import Answer
from keyheat.show.console import answer, in_words, out, print_lines, strong

as_markdown = click.option("--markdown", is_flag=True, help="print Markdown, for a ticket or a chat")


def give(shown: Answer, code: int, *, page: Path | None = None, markdown: bool = False) -> int:
    """Print the answer in the form that was asked for, and where its page is; gives the exit code."""
    from keyheat.show.answer import json_of
    from keyheat.show.markdown import markdown_of
    from keyheat.show.text import text_of

    shown = replace(shown, data={**shown.data, "exit_code": code}, link=str(page) if page else None)
    if markdown and in_words():
        print_lines([markdown_of(shown)], to_stderr=False)
        return code
    answer(lambda: json_of(shown), lambda: text_of(shown))
    if page is not None:
        out.print(strong("\nPage: ", page))
    return code


def write_answer(folder: Path, name: str, shown: Answer, code: int) -> Path:
    """Write an answer as a page and as JSON; gives the page."""
    from keyheat.show.answer import FORMAT, json_of
    from keyheat.show.html import html_of, save

    shown = replace(shown, data={**shown.data, "exit_code": code})
    write_json(folder / f"{name}.json", FORMAT, json_of(shown))
    return save(folder / f"{name}.html", html_of(shown, datetime.now(UTC)))
