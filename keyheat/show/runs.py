"""All runs below some folders, in one sortable table."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from keyheat.analysis.found import FoundRun, UnreadPlace
from keyheat.masking import short_path
from keyheat.numbers import NOTHING, measured, percent, some
from keyheat.regression.phrases import label_words
from keyheat.runfiles import REPORT
from keyheat.show.answer import Answer, Table, link_to
from keyheat.show.verdict import in_two_words, sureness, target_words

NAME: Final = "runs.html"
FORMAT: Final = "keyheat.index/1"
NUMBERS: Final = {
    "accepted_units_per_s.write": ("WCU/s", measured),
    "accepted_units_per_s.read": ("RCU/s", measured),
    "throttle_share": ("throttled", percent),
    "p99_ms": ("p99, ms", measured),
}
"""Measures of the table, with their heads."""
FIRST_STEPS: Final = ("keyheat simulate hotkey", "keyheat demo")


def runs_answer(
    runs: Sequence[FoundRun], problems: Sequence[UnreadPlace], searched: Sequence[Path], folder: Path
) -> Answer:
    """The runs, the newest first; links of the page are relative to `folder`, where it stands."""
    runs = sorted(runs, key=lambda run: -run.started_s)
    where = ", ".join(map(short_path, searched))
    scenarios = some(len({run.scenario for run in runs}), "scenario")
    measures = [name for name in NUMBERS if any(_measure(run, name) is not None for run in runs)]
    table = Table(
        title="Runs", rows=tuple(_cells(run, measures) for run in runs), sortable=True,
        links=tuple(link_to(run.folder / REPORT, folder) if run.report else None for run in runs),
    )  # fmt: skip
    return Answer(
        title="All runs",
        tone="neutral",
        sentence=f"{some(len(runs), 'run')} of {scenarios}." if runs else f"No run yet in {where}.",
        context=where,
        tables=(table,) if runs else (),
        notes=tuple(f"Not read: {short_path(problem.folder)}: {problem.why}" for problem in problems),
        commands=() if runs else FIRST_STEPS,
        data={
            "format": FORMAT,
            "runs": [_data(run) for run in runs],
            "problems": [{"folder": str(problem.folder), "problem": problem.why} for problem in problems],
        },
    )


def _cells(run: FoundRun, measures: Sequence[str]) -> dict[str, str]:
    lasted = NOTHING if run.duration_s is None else f"{run.duration_s:,.0f}"
    return {
        "started, UTC": f"{datetime.fromtimestamp(run.started_s, UTC):%Y-%m-%d %H:%M}",
        "scenario": " · ".join(filter(None, (run.scenario, run.question))),
        "target": " · ".join(filter(None, (target_words(run.target), run.table))),
        "verdict": " · ".join(filter(None, _verdict(run))),
        "confidence": sureness(run.summary) if run.summary else NOTHING,
        **{NUMBERS[name][0]: NUMBERS[name][1](_measure(run, name)) for name in measures},
        "lasted, s": lasted,
        "directory": short_path(run.folder),
    }  # fmt: skip


def _verdict(run: FoundRun) -> Iterator[str]:
    """Verdict, limited resources and broken thresholds, or the state of an unfinished run."""
    if (summary := run.summary) is None:
        yield run.state.capitalize()
        return
    yield in_two_words(summary, on_burst=summary.on_burst, throttles=summary.throttled or 0)
    limited = f"{summary.resource} {summary.direction}s" if summary.resource and summary.direction else ""
    yield ", ".join(map(label_words, summary.labels)) if len(summary.labels) > 1 else limited
    yield f"broken: {'; '.join(summary.broken)}" if summary.broken else ""


def _measure(run: FoundRun, name: str) -> float | None:
    return run.summary.measures.get(name) if run.summary else None


def _data(run: FoundRun) -> dict[str, Any]:
    return {
        "scenario": run.scenario,
        "state": run.state,
        "started_at": datetime.fromtimestamp(run.started_s, UTC).isoformat(),
        "folder": str(run.folder),
        "report": str(run.folder / REPORT) if run.report else None,
        "summary": None if run.summary is None else run.summary.model_dump(mode="json"),
    }  # fmt: skip
