"""What verbs that make runs tell another program: each run, where it is, and what came out."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from keyheat.load.run.jobs import REPORT, Job, made
from keyheat.runfiles import EVIDENCE, FILES
from keyheat.terminal.console import print_json

FORMAT = "keyheat.runs/1"


Verb = Callable[..., Any]


def in_json(what: str) -> Callable[[Verb], Verb]:
    """The option --json of a verb, which prints `what` on stdout and nothing else there."""
    return click.option("--json", "as_json", is_flag=True, help=f"{what} as JSON on stdout")


def tell_runs(jobs: Sequence[Job], codes: Sequence[int], code: int, **more: object) -> None:
    """Print the runs that were made, in order, as one JSON value.

    `codes` are their exit codes; a run that was not begun has none. `more` is added as it is.
    """
    runs = [_told(job, codes[place] if place < len(codes) else None) for place, job in enumerate(jobs)]
    print_json({"format": FORMAT, "exit_code": code, "runs": runs, **more})


def _told(job: Job, code: int | None) -> dict[str, object]:
    from keyheat.analysis.summary import read_summary

    summary = read_summary(job.folder).model_dump(mode="json") if made(job) else None
    return {
        "scenario": job.scenario.name,
        "exit_code": code,
        "folder": str(job.folder),
        "report": _if_there(job.folder / REPORT),
        "evidence": _if_there(job.folder / FILES[EVIDENCE]),
        "summary": summary,
    }


def _if_there(path: Path) -> str | None:
    return str(path) if path.exists() else None
