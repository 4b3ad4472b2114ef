"""What was run so far, as answers: all sessions, one session, trends of measures, all runs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from keyheat.analysis.found import FoundRun, UnreadPlace
from keyheat.masking import short_path
from keyheat.numbers import NOTHING, measured, percent, some, span
from keyheat.regression.history import Session, StoredRun, Trend
from keyheat.regression.outcome import SessionOutcome
from keyheat.regression.phrases import label_words, value
from keyheat.runfiles import REPORT
from keyheat.show.answer import Answer, Figure, Table, link_to
from keyheat.show.regression import outcome_answer
from keyheat.show.verdict import in_two_words, sureness, target_words

FORMAT: Final = "keyheat.history/1"
MOST_DRAWN: Final = 24  # trends on a page, those that regressed first


def sessions_answer(file: Path, sessions: Sequence[Session], good: set[int]) -> Answer:
    """List sessions, newest first; those in `good` are the default baselines."""
    rows = [
        {
            "session": str(session.id), "suite": session.suite,
            "started, UTC": f"{session.started_at:%Y-%m-%d %H:%M}",
            "took": NOTHING if session.took_s is None else span(session.took_s),
            "runs": str(session.runs), "verdict": session.verdict or "not ended",
            "": ", ".join(filter(None, ("last good" if session.id in good else "", session.label))),
        }
        for session in sessions
    ]  # fmt: skip
    none = f"{short_path(file)} has no sessions yet. The first one: keyheat regress SUITE"
    return Answer(
        title="History",
        sentence=f"{short_path(file)}, the newest {some(len(rows), 'session')}." if rows else none,
        tables=(Table(title="Sessions", rows=tuple(rows)),) if rows else (),
        notes=tuple(
            f"Session {session.id} has no verdict: it is running, or it was killed. Its "
            f"{some(session.runs, 'run')} can be read; it is never a baseline."
            for session in sessions
            if session.verdict is None
        ),
        data={"format": FORMAT, "history": file, "sessions": sessions},
    )


def session_answer(
    file: Path, session: Session, runs: Sequence[StoredRun], outcome: SessionOutcome | None
) -> Answer:
    """One session: its outcome as `keyheat regress` printed it, its runs, and where their files are."""
    whole = outcome_answer(outcome) if outcome is not None else Answer(
        title="", label="Not ended", tone="invalid",
        sentence="It has no outcome: it was killed, or is running.",
        context=f"Began {session.started_at:%Y-%m-%d %H:%M:%S} UTC.",
    )  # fmt: skip
    rows = [run_row(run) for run in runs]
    return replace(
        whole,
        title=f"Session {session.id} of {session.suite}",
        tables=(Table(title="Runs", rows=tuple(rows)),) if rows else (),
        notes=tuple(run.folder_url for run in runs),
        data={
            "format": FORMAT, "history": file, "session": session, "runs": runs,
            "outcome": whole.data if outcome is not None else None,
        },
    )  # fmt: skip


def run_row(run: StoredRun) -> dict[str, str]:
    """A run's main numbers as a table row."""
    summary = run.summary
    rates = [summary.measures.get(f"accepted_units_per_s.{side}") for side in ("write", "read")]
    share = summary.measures.get("throttle_share")
    return {
        "case": run.case if run.side == "after" else f"{run.case} (baseline, again)",
        "run": str(run.repetition + 1),
        "label": in_two_words(summary, on_burst=summary.on_burst, throttles=summary.throttled or 0),
        "accepted/s": measured(next((rate for rate in rates if rate is not None), None)),
        "throttled": NOTHING if share is None else percent(share),
        "p99": value(summary.measures.get("p99_ms"), "p99_ms"),
    }


def trends_answer(file: Path, suite: str, trends: Sequence[Trend], *, drawn: bool) -> Answer:
    """Measures over sessions: a table for each case, what regressed, and figures."""
    cases = {trend.case: [other for other in trends if other.case == trend.case] for trend in trends}
    notes = [words for trend in trends if (words := _regressions(trend))]
    sessions = sorted({session for trend in trends for session in trend.sessions})
    changed = sorted(trends, key=lambda other: (not other.regressed, len(set(other.values)) == 1))
    return Answer(
        title=suite,
        label=f"{len(notes)} regressed" if notes else "No regression",
        tone="invalid" if notes else "none",
        sentence=f"{some(len(trends), 'measure')} over {some(len(sessions), 'session')}, "
        f"{sessions[0]} to {sessions[-1]}: {len(notes) or 'none'} regressed.",
        context=short_path(file),
        tables=tuple(
            Table(title=case, rows=tuple(map(_trend_row, of_case))) for case, of_case in cases.items()
        ),
        notes=tuple(notes),
        figures=tuple(_figure(other) for other in changed[:MOST_DRAWN]) if drawn else (),
        data={"format": FORMAT, "history": str(file), "suite": suite, "trends": [*map(_data, trends)]},
    )


def _trend_row(trend: Trend) -> dict[str, str]:
    worst = (min if trend.measure.better == "higher" else max)(trend.values)
    ends = {"oldest": trend.values[0], "newest": trend.values[-1], "worst": worst}
    name = trend.measure.name
    return {"measure": name, **{end: value(number, name) for end, number in ends.items()}}


def _regressions(trend: Trend) -> str:
    """The sessions in which a gate failed as worse; empty without any."""
    lacking = {session: " (it had no number)" for session in {*trend.regressed} - {*trend.sessions}}
    sessions = ", ".join(f"{session}{lacking.get(session, '')}" for session in trend.regressed)
    return f"{trend.case}: {trend.measure.name} regressed in session {sessions}" if sessions else ""


def _figure(trend: Trend) -> Figure:
    """The medians of all sessions, regressions marked."""
    import plotly.graph_objects as go

    from keyheat.show.charts import LIGHT, figure

    medians = go.Scatter(
        x=trend.sessions, y=trend.values, mode="lines+markers", name="median of the runs",
        line={"color": LIGHT["accent"], "width": 1.5}, marker={"size": 5},
    )  # fmt: skip
    bad = [(x, y) for x, y in zip(trend.sessions, trend.values, strict=True) if x in trend.regressed]
    regressed = go.Scatter(
        x=[x for x, _ in bad], y=[y for _, y in bad], mode="markers", name="regressed",
        marker={"color": LIGHT["failed"], "size": 10, "symbol": "x"},
    )  # fmt: skip
    drawn = figure([medians, *([regressed] if bad else [])], 220, xaxis={"title": {"text": "session"}})
    name = trend.measure.name
    first, last = (value(trend.values[at], name) for at in (0, -1))
    calm = "It did not change." if len(set(trend.values)) == 1 else f"From {first} to {last}."
    words = _regressions(trend)
    return Figure(title=f"{trend.case}: {name}", summary=f"{words}." if words else calm, figure=drawn)


def _data(trend: Trend) -> dict[str, Any]:
    return {
        "case": trend.case, "measure": trend.measure.name, "sessions": trend.sessions,
        "values": trend.values, "regressed": trend.regressed,
    }  # fmt: skip


NAME: Final = "runs.html"
RUNS_FORMAT: Final = "keyheat.index/1"
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
        data={"format": RUNS_FORMAT, "runs": runs, "problems": problems},
    )


def _cells(run: FoundRun, measures: Sequence[str]) -> dict[str, str]:
    lasted = NOTHING if run.duration_s is None else f"{run.duration_s:,.0f}"
    return {
        "started, UTC": f"{datetime.fromtimestamp(run.started_s, UTC):%Y-%m-%d %H:%M}",
        "scenario": " · ".join(filter(None, (run.scenario, run.question))),
        "target": " · ".join(filter(None, (target_words(run.target), run.table))),
        "verdict": " · ".join(filter(None, _run_verdict(run))),
        "confidence": sureness(run.summary) if run.summary else NOTHING,
        **{NUMBERS[name][0]: NUMBERS[name][1](_measure(run, name)) for name in measures},
        "lasted, s": lasted,
        "directory": short_path(run.folder),
    }  # fmt: skip


def _run_verdict(run: FoundRun) -> Iterator[str]:
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
