"""How verbs give an `Answer`: in a terminal, as Markdown or JSON; as a page, with its JSON beside it."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from keyheat.runfiles import write_json
from keyheat.show.answer import FORMAT, Answer, json_of
from keyheat.show.console import in_words, out, print_json, print_lines, strong

AS_MARKDOWN: Final = "print Markdown, for a ticket or a chat"


def give(
    answer: Answer, code: int, *, page: Path | None = None, markdown: bool = False, data_alone: bool = False
) -> int:
    """Print the answer as text, Markdown or JSON, and where its page is; return the exit code.

    `data_alone`: as JSON its data, which has a format of its own.
    """
    link = str(page) if page else None
    if not in_words():
        whole = replace(answer, data={**answer.data, "exit_code": code}, link=link)
        print_json(answer.data if data_alone else json_of(whole))
    elif markdown:
        from keyheat.show.render import markdown_of

        print_lines([markdown_of(replace(answer, link=link))], to_stderr=False)
    else:
        from keyheat.show.render import text_of

        out.print(text_of(answer))
        if page is not None:
            out.print(strong("\nPage: ", page))
    return code


def write_answer(folder: Path, name: str, answer: Answer, code: int) -> Path:
    """Write an answer as a page and as JSON; gives the page."""
    from keyheat.show.render import html_of, save

    answer = replace(answer, data={**answer.data, "exit_code": code})
    write_json(folder / f"{name}.json", FORMAT, json_of(answer))
    return save(folder / f"{name}.html", html_of(answer, datetime.now(UTC)))
