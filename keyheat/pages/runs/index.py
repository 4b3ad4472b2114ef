"""The page over all runs, of a folder and of the history: one HTML file that needs nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from os.path import relpath
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import orjson
from markupsafe import Markup

from keyheat.pages.page import page, said_at
from keyheat.pages.run.page import REPORT
from keyheat.pages.runs.content import content_of
from keyheat.pages.runs.found import Problem
from keyheat.pages.runs.rows import Row
from keyheat.pages.runs.trends import trends_of
from keyheat.runfiles import write_atomically
from keyheat.shipped import shipped
from keyheat.terminal.console import shown

NAME: Final = "runs.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """All runs that there are, the newest first, and the places where there may be more."""

    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]
    folders: tuple[Path, ...]
    history: Path | None = None

    @property
    def searched(self) -> str:
        """Where was looked."""
        kept = [self.history] if self.history is not None and self.history.exists() else []
        return ", ".join(map(shown, (*self.folders, *kept)))


def place_of(row: Row) -> str:
    """Where a run's files are."""
    return shown(row.folder) if row.folder is not None else row.url or ""


def write_runs(path: Path, runs: Runs, generated_at: datetime) -> None:
    """Write the page. Raises `CannotWrite`."""

    def link(row: Row) -> str | None:
        if row.folder is None or not row.report:
            return None
        return quote(Path(relpath(row.folder / REPORT, path.parent)).as_posix())

    trends = trends_of(runs.rows)
    content = content_of(runs.rows, trends, runs.problems, place=place_of, link=link)
    text = render_runs(content, runs.searched, generated_at).encode("utf-8")
    write_atomically(path, lambda file: file.write(text))


def render_runs(
    content: dict[str, Any], searched: str, generated_at: datetime, *, serve: str | None = None
) -> str:
    """The page; where `serve` is the command of a server, it keeps itself up to date from there."""
    return page(
        "runs.html.j2",
        content=content,
        data=embedded(content),
        where=searched,
        searched=searched,
        live=serve is not None,
        command=serve or "",
        runs_styles=Markup(_template("runs.css")),
        runs_script=Markup(_template("runs.js")),
        generated_at=said_at(generated_at),
    )


def embedded(content: dict[str, Any]) -> Markup:
    """A value as JSON that cannot end the script element it stands in."""
    text = orjson.dumps(content).decode()
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def for_programs(rows: Sequence[Row], problems: Sequence[Problem]) -> dict[str, Any]:
    """The same for another program."""
    return {
        "format": "keyheat.index/1",
        "runs": [_for_programs(row) for row in rows],
        "problems": [{"folder": str(problem.place), "problem": problem.why} for problem in problems],
    }


def _for_programs(row: Row) -> dict[str, Any]:
    place = row.place
    return {
        "scenario": row.scenario,
        "state": row.state,
        "started_at": datetime.fromtimestamp(row.started_s, UTC).isoformat(),
        "folder": None if row.folder is None else str(row.folder),
        "url": row.url,
        "report": str(row.folder / REPORT) if row.folder is not None and row.report else None,
        "summary": None if row.summary is None else row.summary.model_dump(mode="json"),
        "history": None
        if place is None
        else {
            "suite": place.suite,
            "case": place.case,
            "session": place.session,
            "repetition": place.repetition,
            "baseline": place.baseline,
            "worse": list(place.worse),
        },
    }


@cache
def _template(name: str) -> str:
    return (shipped("reports") / "templates" / name).read_text(encoding="utf-8")
