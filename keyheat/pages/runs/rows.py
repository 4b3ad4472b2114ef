"""A run as a row of the index, from its directory or the history."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from keyheat.analysis.setup import target_of
from keyheat.analysis.summary import RunSummary
from keyheat.runfiles import SIMULATED
from keyheat.show.constraints import in_two_words, tone_of

if TYPE_CHECKING:
    from keyheat.pages.runs.found import FoundRun, State
    from keyheat.regression.outcome import Verdict

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
    side: str
    verdict: "Verdict | None"  # of the whole session; None: it has not ended
    baseline: bool = False  # it is one of those that later ones are held against
    worse: tuple[str, ...] = ()  # measures, or `labels`, that were found to be worse than the baseline's


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRun:
    """A run as the history has it, wherever its files are now."""

    summary: RunSummary
    url: str | None
    place: SuitePlace
    at_s: float | None = None  # when it was kept, in seconds since 1970


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run.

    `started_s` is when it was made, in seconds since 1970: the clock of a simulated run is a virtual one,
    the same each time.
    """

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
        return in_two_words(
            self.summary, on_burst=self.summary.on_burst, throttles=self.summary.throttled or 0
        )

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


def rows_of(found: "Iterable[FoundRun]", remembered: Iterable[HistoryRun] = ()) -> tuple[RunRow, ...]:
    """Every run once, the newest first; one that the history knows too has its place there."""
    here = {run.folder.absolute(): _of_found(run) for run in found}
    elsewhere = []
    for run in remembered:
        path = local_path(run.url)
        if path in here:
            here[path] = replace(here[path], place=run.place)
        else:
            elsewhere.append(_of_remembered(run))
    return tuple(sorted((*here.values(), *elsewhere), key=lambda row: -row.started_s))


def local_path(url: str | None) -> Path | None:
    """The directory that a URL names on this machine, if it does."""
    parts = urlsplit(url or "")
    return Path(unquote(parts.path)) if parts.scheme == "file" and parts.path else None


def _of_found(found: "FoundRun") -> RunRow:
    if found.summary is not None:
        return replace(
            _of_summary(found.summary, found.made_s),
            folder=found.folder,
            table=found.table,
            report=found.report,
        )
    assert found.manifest is not None, "a run without a summary has a manifest"
    manifest, target = found.manifest, target_of(found.manifest)
    return RunRow(
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
    return replace(_of_summary(one.summary, one.at_s), url=one.url, place=one.place)


def _of_summary(summary: RunSummary, made_s: float | None) -> RunRow:
    return RunRow(
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
