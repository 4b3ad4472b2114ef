"""From rows of the file to what a history gives."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final

from pydantic import TypeAdapter

from keyheat.analysis.summary import RunSummary
from keyheat.masking import masked
from keyheat.regression.finding import Finding
from keyheat.regression.history.makers import Maker
from keyheat.regression.history.records import Kept, Pin, Point, Session
from keyheat.regression.history.seals import whole

Row = Sequence[Any]

SESSION: Final = (
    "SELECT id, suite, suite_digest, label, command, started_at, ended_at, state, verdict, "
    f"host, boot, pid, process_began, {whole('sessions')} FROM sessions"
)
KEPT: Final = f"SELECT case_name, repetition, side, summary, folder_url, at, {whole('runs')} FROM runs"
PIN: Final = f"SELECT name, session, at, {whole('pins')} FROM pins"

_FINDINGS: Final = TypeAdapter(tuple[Finding, ...])


class Changed(ValueError):
    """A row that is not what was written."""


def check_whole(is_whole: int, which: str = "") -> None:
    """Raise `Changed` for a row whose digest is not that of its columns."""
    if not is_whole:
        raise Changed(f"{which}it is not what was written")


def session_of(row: Row, asker: Maker) -> Session:
    """A session; one that is running by the file, and whose process is gone, is lost."""
    number, suite, digest, label, command, started_at, ended_at, state, verdict, *made, is_whole = row
    check_whole(is_whole)
    host, boot, pid, began = made
    maker = Maker(host=host, boot=boot, pid=pid, began=began)
    if state == "running" and maker.fate(asker) == "gone":
        state = "lost"
    return Session(
        id=number,
        suite=suite,
        suite_digest=digest,
        label=label,
        command=command,
        started_at=time_of(started_at),
        ended_at=None if ended_at is None else time_of(ended_at),
        state=state,
        verdict=verdict,
        maker=maker,
    )


def kept_of(row: Row) -> Kept:
    """A run."""
    case, repetition, side, summary, url, at, is_whole = row
    check_whole(
        is_whole, f"{case}, repetition {repetition + 1} ({side}): " if isinstance(repetition, int) else ""
    )
    return Kept(
        case=case,
        repetition=repetition,
        side=side,
        summary=RunSummary.model_validate_json(summary),
        folder_url=masked(url),  # an older Keyheat kept it as it was said
        at=time_of(at),
    )


def pin_of(row: Row) -> Pin:
    """A pin."""
    name, session, at, is_whole = row
    check_whole(is_whole, f"{name}: ")
    return Pin(name=name, session=session, at=time_of(at))


def points_of(rows: Iterable[Row]) -> tuple[Point, ...]:
    """A point for each session, of rows `session, started_at, verdict, label, value, whole` that stand
    together.
    """
    rows = tuple(rows)
    for row in rows:
        check_whole(row[5], f"session {row[0]}: ")
    return tuple(
        Point(
            session=session,
            started_at=time_of(started_at),
            verdict=verdict,
            label=label,
            values=tuple(row[4] for row in together),
        )
        for (session, started_at, verdict, label), together in groupby(rows, key=lambda row: tuple(row[:4]))
    )


def findings_of(text: str) -> tuple[Finding, ...]:
    """Findings, from how they are kept."""
    return _FINDINGS.validate_json(text)


def findings_text(findings: Sequence[Finding]) -> str:
    """Findings, as they are kept."""
    return _FINDINGS.dump_json(tuple(findings)).decode()


def time_of(text: str) -> datetime:
    """A moment, from how it is kept."""
    return datetime.fromisoformat(text)


def time_text(moment: datetime) -> str:
    """A moment as it is kept: in UTC, to the microsecond."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
