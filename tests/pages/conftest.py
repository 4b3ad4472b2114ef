"""Made-up runs, written once for the whole test session of a worker."""

import re
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest

from keyheat.analysis.report import ReportRun
from keyheat.show.answer import Answer
from keyheat.show.console import PlainConsole
from keyheat.show.render import html_of
from keyheat.show.render import text_of as in_terminal
from keyheat.show.report import report_answer, write_report
from tools.samples import SAMPLES, make_run

GENERATED_AT = datetime(2026, 11, 20, 13, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every made-up run by name; read them, do not write."""
    folder = tmp_path_factory.mktemp("samples")
    return {name: make_run(name, folder / name) for name in SAMPLES}


@pytest.fixture
def address(samples: dict[str, Path]) -> str:
    """Where a browser finds the report of a hot key."""
    return write_report(samples["hotkey"], GENERATED_AT).as_uri()


def on_screen(answer: Answer, width: int = 80) -> str:
    """What a terminal shows of an answer, as verbs print it."""
    console = PlainConsole(width=width, no_color=True)
    with console.capture() as captured:
        console.print(in_terminal(answer))
    return captured.get()


def trimmed(text: str) -> str:
    """Text whose lines end without spaces, as a golden file has it."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def page_of(run: ReportRun, at: datetime = GENERATED_AT) -> str:
    """A report without plotly.js, which is not ours; spaces that glue a number to its unit are plain."""
    return html_of(report_answer(run), at, library="/* plotly.js */").replace("\u00a0", " ")


def skeleton(page: str) -> str:
    """The outline of a page: its parts, headings, facts and columns."""
    body = page[page.index("<body") : page.index("<noscript>")]
    outline = re.findall(r'<(section id="\w+"|h[1-6]|dt|th|summary|li)(?: [^>]*)?>(.*?)(?:<|\n)', body)
    return "".join(f"{tag} {words}".rstrip() + "\n" for tag, words in outline)


BLOCKS = "article|aside|dd|dt|div|footer|h[1-6]|header|li|main|p|section|summary|table|tr"


def text_of(page: str) -> str:
    """What a page says, a line for each block; styles, scripts and attributes left out."""
    page = re.sub(r"<(script|style|svg)\b.*?</\1>", "", page, flags=re.DOTALL)
    page = re.sub(r"\s+", " ", page)
    page = re.sub(rf"</?(?:{BLOCKS})\b[^>]*>", "\n", page)
    page = re.sub(r"</t[dh]>", " | ", page)
    lines = (
        line.strip() for line in unescape(re.sub(r"<[^>]+>", "", page)).replace("\u00a0", " ").split("\n")
    )
    return "".join(f"{line}\n" for line in lines if line)
