"""Suites in a terminal: what a regress came to, how small a change can be told, and the history of both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from keyheat.numbers import NOTHING, measured, percent, some, span
from keyheat.regression.history.records import Kept, Pin, Session
from keyheat.regression.history.trend import Trend
from keyheat.regression.outcome import GateFinding, SessionOutcome, Verdict, is_idle, worst_first
from keyheat.regression.phrases import DECISIONS, against, decision, headline, relative, value
from keyheat.show.constraints import NAMES
from keyheat.show.layout import Strip
from keyheat.show.text import Paragraph
from keyheat.words import capital

STYLES: Final[dict[Verdict, str]] = {
    "good": "green", "baseline": "green", "regressed": "red", "unaccepted": "yellow", "invalid": "yellow",
    "not_compared": "yellow", "refused": "yellow", "interrupted": "yellow",
}  # fmt: skip
DECIDED: Final = {"worse": "bold red", "missing": "bold red", "undecided": "yellow", "better": "green"}
MOST: Final = 10  # of a kind; the page has all
INDENT: Final = "  "
WIDEST: Final = max(len(word) for word in DECISIONS.values())


def regression_text(outcome: SessionOutcome, page: str | None) -> RenderableType:
    """The whole answer, narrow enough for 80 columns. `page` is where all of it is shown."""
    return Group(*_parts(outcome, page))


def _parts(outcome: SessionOutcome, page: str | None) -> Iterator[RenderableType]:
    colour = STYLES[outcome.verdict]
    yield Paragraph(headline(outcome), style=f"bold {colour}")
    yield Paragraph(f"{capital(against(outcome))}.", style="bold yellow" if outcome.forced else "")
    yield from _lines("", outcome.because)
    yield from _lines("What differs", [one.said for one in outcome.differences])
    yield from _gates(outcome)
    yield Text("")
    yield Paragraph(_ending(outcome))
    if page is not None:
        yield Text.assemble("All of it: ", (page, "bold"))


def _gates(outcome: SessionOutcome) -> Iterator[RenderableType]:
    """Those that did not hold, two lines each; the others counted."""
    told = [one for one in worst_first(outcome.measured) if one.decision != "same"]
    held = len(outcome.of("same"))
    if told or held:
        yield Text("")
    for one in told[:MOST]:
        yield from _gate(one)
    if len(told) > MOST:
        yield Text(f"{INDENT}and {len(told) - MOST} more")
    if held:
        yield Text(f"{INDENT}{some(held, 'gate')} {'is' if held == 1 else 'are'} as good as before")
    if idle := len(outcome.findings) - len(outcome.measured):
        yield Text(f"{INDENT}{some(idle, 'gate')} {'has' if idle == 1 else 'have'} nothing to measure")


def _gate(one: GateFinding) -> Iterator[RenderableType]:
    word = Text(f"{DECISIONS[one.decision]:<{WIDEST}}", style=DECIDED[one.decision])
    yield Text.assemble(INDENT, word, "  ", (f"{one.case}: {one.gate.measure}", "bold"))
    indent = INDENT + " " * (WIDEST + 2)
    yield Paragraph(one.because, indent, indent)


def _lines(heading: str, lines: Sequence[str]) -> Iterator[RenderableType]:
    if not lines:
        return
    yield Text(f"\n{heading}" if heading else "", style="bold")
    yield from (Paragraph(line, "  - ", "    ") for line in lines[:MOST])
    if len(lines) > MOST:
        yield Text(f"  - and {len(lines) - MOST} more")


def _ending(outcome: SessionOutcome) -> str:
    runs, bad = len(outcome.runs), sum(not run.valid for run in outcome.runs)
    again = sum(len(case.before) for case in outcome.cases) if outcome.paired else 0
    beside = f" beside {some(again, 'run')} of the baseline's scenarios" if again else ""
    valid = f"{bad} of them not valid" if bad else "all valid" if runs else "none made"
    where = f"Session {outcome.session} in {outcome.history}."
    return f"{some(runs, 'run')}{beside} in {span(outcome.took_s)}, {valid}. {where}"


TICKS: Final = "▁▂▃▄▅▆▇█"
WIDTH: Final = 16  # of a bar
NARROW: Final = 30  # sessions of a small chart, the newest
CALM: Final = (0.9, 1.1)  # of the median: a small chart is at least as high as that
WORSE, BETTER = "bold red", "green"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """A session as a list shows it."""

    session: Session
    runs: int
    pins: tuple[str, ...]
    baseline: bool  # the one that the next session of its suite is held against


def list_text(listed: Sequence[SessionRow]) -> RenderableType:
    """Sessions, the newest first, narrow enough for 80 columns, and what became of those that did not end."""
    table = _table(("session", "suite", "started, UTC", "took", "runs", "verdict", ""), right=(0, 3, 4))
    for one in listed:
        session = one.session
        table.add_row(
            str(session.id), session.suite, f"{session.started_at:%Y-%m-%d %H:%M}",
            _took(session), str(one.runs), _verdict(session), ", ".join(_marks(one)),
        )  # fmt: skip
    return Group(table, *(Paragraph(note, style="yellow") for one in listed for note in _notes(one)))


def _took(session: Session) -> str:
    return NOTHING if session.took_s is None else span(session.took_s)


def _marks(one: SessionRow) -> Iterator[str]:
    if one.baseline:
        yield "last good"
    yield from (f"pinned {name}" for name in one.pins)
    if one.session.label:
        yield one.session.label


def _notes(one: SessionRow) -> Iterator[str]:
    session = one.session
    if session.state == "lost":
        yield (
            f"\nSession {session.id} is lost: {session.process} ended without a word. "
            f"Its {some(one.runs, 'run')} can be read; it is never a baseline."
        )
    elif session.state == "running" and session.elsewhere:
        yield (
            f"\nSession {session.id} runs as {session.process}, which cannot be seen from here. If it is "
            "gone, the session stays as it is; it is never a baseline."
        )


def _verdict(session: Session) -> Text:
    if session.verdict is None:
        return Text(session.state, style="yellow" if session.state == "lost" else "")
    return Text(session.verdict, style=STYLES[session.verdict])


def session_text(
    session: Session, runs: Sequence[Kept], findings: Sequence[GateFinding], pins: Sequence[Pin]
) -> RenderableType:
    """One session: when, of what, its runs with their labels, what the gates found, where the files are."""
    names = [pin.name for pin in pins if pin.session == session.id]
    return Group(
        Text.assemble((f"Session {session.id} of {session.suite}: ", "bold"), _verdict(session)),
        Paragraph(" ".join(_facts(session, names))),
        Text(""),
        _runs(runs) if runs else Text("No run was kept."),
        *_findings(findings),
        *_folders(runs),
    )


def _facts(session: Session, pins: Sequence[str]) -> Iterator[str]:
    yield f"Began {session.started_at:%Y-%m-%d %H:%M:%S} UTC as {session.process}"
    if session.took_s is not None:
        yield f"and took {span(session.took_s)}."
    else:
        yield "and has not ended." if session.state == "running" else "and ended without a word."
    yield f"The suite was {session.suite_digest}."
    if session.label:
        yield f"Label: {session.label}."
    if pins:
        yield f"Pinned as {', '.join(pins)}."


def _runs(runs: Sequence[Kept]) -> Table:
    table = _table(("case", "run", "label", "accepted/s", "throttled", "p99"), right=(1, 3, 4, 5))
    for run in runs:
        summary = run.summary
        rates = [summary.measures.get(f"accepted_units_per_s.{side}") for side in ("write", "read")]
        share = summary.measures.get("throttle_share")
        table.add_row(
            run.case if run.side == "candidate" else f"{run.case} (baseline, again)",
            str(run.repetition + 1),
            NAMES[summary.constraint] if summary.valid else "Not valid",
            measured(next((rate for rate in rates if rate is not None), None)),
            NOTHING if share is None else percent(share),
            value(summary.measures.get("p99_ms"), "p99_ms"),
        )  # fmt: skip
    return table


def _findings(findings: Sequence[GateFinding]) -> Iterator[RenderableType]:
    told = [one for one in findings if not is_idle(one)]
    if told:
        held = sum(one.decision in ("same", "better") for one in told)
        yield Text(f"\n{held} of {some(len(told), 'gate')} held", style="bold")
    for one in told:
        if one.decision != "same":
            word = Text(f"  {decision(one)}  ", style=DECIDED[one.decision])
            yield Text.assemble(word, (f"{one.case}: {one.gate.measure}", "bold"))
            yield Paragraph(one.because, "    ", "    ")


def _folders(runs: Sequence[Kept]) -> Iterator[RenderableType]:
    if runs:
        yield Text("\nWhere they are", style="bold")
    yield from (Text(f"  {run.folder_url}", overflow="ignore", no_wrap=True) for run in runs)


def trends_text(trends: Sequence[Trend]) -> RenderableType:
    """Case by case a row for each measure, its sessions as a small chart; then what changed."""
    cases = {trend.case: [one for one in trends if one.case == trend.case] for trend in trends}
    return Group(*(part for case, of_case in cases.items() for part in _case(case, of_case)))


def _case(case: str, trends: Sequence[Trend]) -> Iterator[RenderableType]:
    yield Text(case, style="bold")
    table = _table(("measure", "up to the newest session", "newest"), right=(2,), drawn=1)
    for trend in trends:
        if not trend.constant:
            newest = value(trend.values[-1], trend.measure.name)
            table.add_row(trend.measure.name, Strip(partial(_spark, trend), NARROW), newest)
    if table.row_count:
        yield table
    yield from (Paragraph(line, "  - ", "    ", style) for trend in trends for line, style in _changes(trend))
    still = [
        f"{one.measure.name} {value(one.values[-1], one.measure.name)}"
        for one in trends
        if one.constant and not one.regressed
    ]
    if still:
        yield Paragraph(f"The same in every session: {', '.join(still)}.", style="dim")
    yield Text("")


def _spark(trend: Trend, width: int) -> Text:
    """The newest sessions, each as high as its median; noise of one percent stays low."""
    level = median(trend.values)
    low, high = min(*trend.values, CALM[0] * level), max(*trend.values, CALM[1] * level)
    text = Text()
    for point in trend.points[-width:]:
        place = round((point.median - low) / (high - low) * (len(TICKS) - 1))
        text.append(TICKS[place], style=_style(trend, point.session))
    return text


def _changes(trend: Trend) -> Iterator[tuple[str, str]]:
    """Changes of the level, and the newest regression, each with its colour."""
    name = trend.measure.name
    for one in trend.changes:
        levels = f"{value(one.before, name)} before, {value(one.after, name)} after"
        session = trend.points[one.index].session
        yield (
            f"{name} changed with session {session}: {relative(one.change)} ({levels})",
            WORSE if trend.is_worse(one) else BETTER,
        )
    if trend.regressed:
        measured = {point.session for point in trend.points}
        worse = (f"{one}{'' if one in measured else ' (it had no number)'}" for one in trend.regressed)
        yield f"{name} regressed in session {', '.join(worse)}", WORSE


def trend_text(trend: Trend) -> RenderableType:
    """One measure, a row for each session with its median as a bar, changes of the level marked."""
    better = {"higher": "more is better", "lower": "less is better", "same": ""}[trend.measure.better]
    table = _table(("session", "started, UTC", "median", "", ""), right=(0, 2), drawn=3)
    most = max((abs(one) for one in trend.values), default=0.0)
    for point in trend.points:
        style = _style(trend, point.session) or "cyan"
        bar = partial(_bar, abs(point.median) / most if most else 0.0, style)
        table.add_row(
            str(point.session), f"{point.started_at:%Y-%m-%d %H:%M}", value(point.median, trend.measure.name),
            Strip(bar, WIDTH), _mark(trend, point.session),
        )  # fmt: skip
    head = f"{trend.case}: {trend.measure.name}, {trend.measure.says}{f' ({better})' if better else ''}"
    return Group(Paragraph(head, style="bold"), Text(""), table)


def _bar(part: float, style: str, width: int) -> Text:
    return Text("█" * max(1 if part else 0, round(width * part)), style=style)


def _mark(trend: Trend, session: int) -> str:
    words = []
    for change in trend.changes:
        if trend.points[change.index].session == session:
            by = "another level" if change.change is None else relative(change.change)
            words.append(f"{by} from here")
    if session in trend.regressed:
        words.append("regressed")
    return ", ".join(words)


def _style(trend: Trend, session: int) -> str:
    if session in trend.regressed:
        return WORSE
    for change in trend.changes:
        if trend.points[change.index].session == session:
            return WORSE if trend.is_worse(change) else BETTER
    return ""


def _table(columns: Sequence[str], right: Sequence[int] = (), drawn: int | None = None) -> Table:
    """A table in which the last column gives way where there is little room, and that which is `drawn`."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    gives_way = {drawn, len(columns) - 1}
    for place, name in enumerate(columns):
        table.add_column(name, justify="right" if place in right else "left", no_wrap=place not in gives_way)
    return table
