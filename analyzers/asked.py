"""Evidence as a person asks for it: of a run or any table, from CloudWatch or what the AWS CLI printed."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import orjson

from analyzers import evidence
from analyzers.answers import from_cli_output
from analyzers.formats import Evidence, TableFacts, Window
from analyzers.waiting import Clock, Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked for: a run directory, or a table with a window; `answers` is the AWS CLI's output."""

    folder: Path | None
    table: str | None
    start: datetime | None
    end: datetime | None
    answers: Path | None


def evidence_for(asked: Asked, *, clock: Clock, progress: Progress) -> Evidence:
    """The evidence. Raises `ValueError` where it cannot be had as asked, and `FileProblem`."""
    if asked.folder is not None:
        if asked.answers is not None:
            return evidence.collect_from_cli(asked.folder, _json_of(asked.answers), now_s=clock())
        return evidence.collect(asked.folder, clock=clock, progress=progress)
    if not (asked.table and asked.start and asked.end):
        raise ValueError("say which: --run DIR, or --table T --start A --end B")
    if asked.end <= asked.start:
        raise ValueError(f"--end {asked.end:%FT%TZ} is not after --start {asked.start:%FT%TZ}")
    if asked.answers is not None:
        table, window = TableFacts(name=asked.table), Window(start=asked.start, end=asked.end)
        return from_cli_output(_json_of(asked.answers), table=table, window=window)
    return evidence.collect_table(asked.table, asked.start, asked.end, clock=clock, progress=progress)


def _json_of(path: Path) -> object:
    try:
        return orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
