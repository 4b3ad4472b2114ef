"""A run as a row of the index, from its directory or the history."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from keyheat.analysis.setup import target_of
from keyheat.analysis.summary import RunSummary
from keyheat.runfiles import SIMULATED
from keyheat.wording.constraints import in_two_words, tone_of

if TYPE_CHECKING:
    from keyheat.pages.runs.found import FoundRun, State
    from keyheat.regression.outcome import Verdict

CANDIDATE: Final = "candidate"  # the side that a session measures
KEY_DIGITS: Final = 12
WORDS: Final["Mapping[State, str]"] = {
    "under way": "Under way",
    "not analyzed": "Not analyzed",
    "never ended": "Never ended",
}
"""What stands in a verdict's place, of a run that has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePlace:
    """Where a run stands in the history, and what came of it there."""

    suite: str
    case: str
    session: str
    repetition: int
    side: str = CANDIDATE
    baseline: bool = False  # it is one of those that later ones are held against
    worse: tuple[str, ...] = ()  # measures, or `labels`, that were found to be worse than the baseline's
    verdict: "Verdict | None" = None  # of the whole session; None: it has not ended
    judged: bool = False  # gates of the case were held against a baseline


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRun:
    """A run as the history has it, wherever its files are now."""

    summary: RunSummary
    url: str | None
    place: SuitePlace
    at_s: float | None = None  # when it was kept, in seconds since 1970


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run. `key` names it, and says nothing about where it is; no key of an item is in it.

    `started_s` is when it was made, in seconds since 1970: the clock of a simulated run is a virtual one,
    the same each time.
    """

    key: str
    scenario: str
    question: str
    target: str
    table: str | None
    started_s: float
    duration_s: float | None
    status: str
    state: "State"
    summary: RunSummary | None
    folder: Path | None  # None: its files are somewhere else, or nowhere
    url: str | None = None
    report: bool = False
    place: SuitePlace | None = None

    @property
    def verdict(self) -> str:
        """The verdict in two words, or how far the run has come."""
        if self.summary is None:
            return WORDS[self.state]
        return in_two_words(self.summary, on_burst=self.summary.on_burst)

    @property
    def tone(self) -> str:
        """What the verdict is about: a constraint, `burst`, `invalid`, or `idle` where there is none."""
        return "idle" if self.summary is None else tone_of(self.summary, on_burst=self.summary.on_burst)

    @property
    def limited(self) -> str:
        """What was limited: `table writes`."""
        summary = self.summary
        if summary is None or summary.resource is None or summary.direction is None:
            return ""
        return f"{summary.resource} {summary.direction}s"

    @property
    def comparable(self) -> bool:
        """Whether its numbers say something about the table."""
        return self.summary is not None and self.summary.comparable


def rows_of(found: "Iterable[FoundRun]", remembered: Iterable[HistoryRun] = ()) -> tuple[RunRow, ...]:
    """Every run once, the newest first; one that the history knows too has its place there."""
    rows = {str(one.folder.absolute()): _of_found(one) for one in found}
    for one in remembered:
        path = local_path(one.url)
        here = None if path is None else rows.get(str(path))
        if here is not None and path is not None:
            rows[str(path)] = replace(here, place=one.place)
        else:
            row = _of_remembered(one)
            rows[row.key] = row
    return tuple(sorted(rows.values(), key=lambda row: (-row.started_s, row.key)))


def local_path(url: str | None) -> Path | None:
    """The directory that a URL names on this machine, if it does."""
    parts = urlsplit(url or "")
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.path else None


def key_of(name: str) -> str:
    """A short name for a run that says nothing about where it is."""
    return sha256(name.encode()).hexdigest()[:KEY_DIGITS]


def _of_found(found: "FoundRun") -> RunRow:
    key, summary = key_of(str(found.folder.absolute())), found.summary
    if summary is not None:
        return replace(
            _of_summary(key, summary, found.made_s),
            folder=found.folder,
            table=found.table,
            report=found.report,
        )
    assert found.manifest is not None, "a run without a summary has a manifest"
    manifest, target = found.manifest, target_of(found.manifest)
    return RunRow(
        key=key,
        scenario=manifest.name or found.folder.name,
        question=manifest.question or "",
        target=target,
        table=found.table,
        started_s=_when(manifest.started_at, target, found.made_s),
        duration_s=manifest.duration_s,
        status=manifest.status,
        state=found.state,
        summary=None,
        folder=found.folder,
    )


def _of_remembered(one: HistoryRun) -> RunRow:
    place = one.place
    name = f"{place.suite}\n{place.session}\n{place.case}\n{place.side}\n{place.repetition}"
    return replace(_of_summary(key_of(name), one.summary, one.at_s), url=one.url, place=place)


def _of_summary(key: str, summary: RunSummary, made_s: float | None) -> RunRow:
    return RunRow(
        key=key,
        scenario=summary.scenario,
        question=summary.question,
        target=summary.setup.target,
        table=None,
        started_s=_when(summary.started_at, summary.setup.target, made_s),
        duration_s=summary.duration_s,
        status=summary.status,
        state="done",
        summary=summary,
        folder=None,
    )


def _when(started_at: datetime, target: str, made_s: float | None) -> float:
    """When a run was made; the clock of a simulated one says something else."""
    return made_s if target == SIMULATED and made_s is not None else started_at.timestamp()
