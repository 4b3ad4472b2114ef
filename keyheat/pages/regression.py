"""The page of a regress: the verdict, each gate before and after with its interval, and every run.

    worse  <---------|=========|--------->  better        the change in smallest changes that matter:
                 [-----o----]                             within |===| nobody cares

The unit is the gate's own least effect, so the zone is in the same place for every gate, and what is worse is
always on the left, whichever way the measure is better.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from os.path import relpath
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from markupsafe import Markup

from keyheat.analysis.measures import MEASURES
from keyheat.numbers import some, span
from keyheat.pages.page import Stat, page, said_at
from keyheat.regression.outcome import (
    CaseMade,
    Decision,
    GateFinding,
    RunMade,
    SessionOutcome,
    Verdict,
    is_idle,
    worst_first,
)
from keyheat.regression.phrases import (
    DECISIONS,
    SHOWN,
    against,
    changed,
    headline,
    interval,
    is_vague,
    relative,
    value,
)
from keyheat.show.html import save

WIDTH, HEIGHT = 160, 24
EDGE: Final = 8  # room for the arrow of what lies beyond
MOST: Final = 4.0  # least effects on each side
LEAST: Final = 0.01  # the unit of a gate that has none, such as an exact one
STRIP_WIDTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeInterval:
    """Places on a line, in its own units of length; `beyond` says on which side the change lies outside."""

    low: float
    high: float
    at: float
    zone: tuple[float, float] | None  # where no change matters; None: any does
    beyond: str | None  # left | right
    said: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueStrip:
    """The places of every run on a line from the smallest value to the largest."""

    before: tuple[float, ...]
    after: tuple[float, ...]
    said: str


def interval_of(finding: GateFinding) -> ChangeInterval | None:
    """The change of a gate; None where it has none."""
    change = finding.change
    if change is None:
        return None
    unit = finding.gate.least_effect or LEAST
    measure = MEASURES.get(finding.gate.measure)
    way = -1.0 if measure is not None and measure.better == "lower" else 1.0
    ends = [change if end is None else end for end in (finding.low, finding.high)]
    low, high = sorted(way * end / unit for end in ends)
    at = way * change / unit
    return ChangeInterval(
        low=_place(low),
        high=_place(high),
        at=_place(at),
        zone=(_place(-1.0), _place(1.0)) if finding.gate.least_effect else None,
        beyond="left" if at < -MOST else "right" if at > MOST else None,
        said=f"{changed(finding)}; changes up to {value(finding.gate.least_effect, 'throttle_share')} do not "
        "matter",
    )


def strip_of(before: Sequence[float], after: Sequence[float], measure: str) -> ValueStrip | None:
    """Every run of a measure, before and after; None where there is none."""
    values = [*before, *after]
    if not values:
        return None
    least, span = min(values), max(values) - min(values)

    def place(one: float) -> float:
        share = (one - least) / span if span else 0.5
        return round(EDGE + share * (STRIP_WIDTH - 2 * EDGE), 1)

    said = [f"{side} {_listed(of, measure)}" for side, of in (("before", before), ("now", after)) if of]
    return ValueStrip(before=tuple(map(place, before)), after=tuple(map(place, after)), said="; ".join(said))


def _listed(values: Sequence[float], measure: str) -> str:
    return ", ".join(value(one, measure) for one in values)


def _place(effects: float) -> float:
    """A place on the line, at its end where it lies beyond."""
    bounded = max(-MOST, min(MOST, effects))
    return round(WIDTH / 2 + bounded / MOST * (WIDTH / 2 - EDGE), 1)


NAME: Final = "regression.html"
UNBROKEN: Final = 20
ROLES: Final[dict[Verdict, str]] = {
    "good": "none", "baseline": "none", "unaccepted": "invalid", "regressed": "failed",
    "invalid": "invalid", "not_compared": "invalid", "refused": "invalid", "interrupted": "invalid",
}  # fmt: skip
TONES: Final[dict[Decision, str]] = {
    "worse": "failed", "missing": "failed", "undecided": "ceiling", "better": "good", "same": "muted",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRow:
    """One gate of a case, as the page shows it."""

    measure: str
    says: str
    decision: str
    tone: str
    before: str
    after: str
    change: str
    within: str  # what interval
    because: str
    interval: ChangeInterval | None
    strip: ValueStrip | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLink:
    """One run; `link` is None where a browser cannot follow its address."""

    run: RunMade
    side: str
    link: str | None
    words: str  # of the link
    took: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseSection:
    """One case: its gates, the worst first, and its runs."""

    case: CaseMade
    tone: str
    rows: tuple[GateRow, ...]
    idle: tuple[str, ...]  # gates that have nothing to measure
    runs: tuple[RunLink, ...]


def write_regression(path: Path, outcome: SessionOutcome, generated_at: datetime) -> Path:
    """Write the page, whole or not at all; gives its path. Raises `CannotWrite`."""
    return save(path, render(outcome, path.parent, generated_at))


def render(outcome: SessionOutcome, out_dir: Path, generated_at: datetime) -> str:
    """The page; its links are relative to `out_dir`."""
    shown = [_shown(outcome, case, out_dir) for case in outcome.cases]
    return page(
        "regression.html.j2",
        outcome=outcome,
        title=f"{outcome.suite}: {SHOWN[outcome.verdict].lower()}",
        chip=SHOWN[outcome.verdict],
        role=ROLES[outcome.verdict],
        sentence=headline(outcome),
        against=against(outcome),
        stats=tuple(_stats(outcome)),
        cases=shown,
        wbr=Markup(".<wbr>"),
        width=WIDTH,
        height=HEIGHT,
        strip_width=STRIP_WIDTH,
        generated_at=said_at(generated_at),
    )


def _stats(outcome: SessionOutcome) -> Iterator[Stat]:
    gates, failed = len(outcome.measured), len(outcome.failed)
    undecided = len(outcome.of("undecided"))
    if gates:
        beside = f"{undecided} cannot be told" if undecided else "the others held" if failed else "all held"
        yield Stat(name="Gates", value=f"{failed} of {gates} failed", beside=beside)
    bad = sum(not run.valid for run in outcome.runs)
    yield Stat(
        name="Runs", value=some(len(outcome.runs), "run"), beside=f"{bad} not valid" if bad else "all valid"
    )
    yield Stat(name="Took", value=span(outcome.took_s), beside=f"from {outcome.started_at:%H:%M} UTC")
    if outcome.baseline is not None:
        value = f"{outcome.baseline.started_at:%Y-%m-%d %H:%M}"
        yield Stat(name="Held against", value=value, beside=outcome.baseline.how)


def _shown(outcome: SessionOutcome, case: CaseMade, out_dir: Path) -> CaseSection:
    found = outcome.of_case(case.name)
    rows = tuple(_row(finding, case) for finding in worst_first(found) if not is_idle(finding))
    sides = (("before", case.before), ("now", case.after))
    return CaseSection(
        case=case,
        tone=rows[0].tone if rows else "muted",
        rows=rows,
        idle=tuple(finding.gate.measure for finding in found if is_idle(finding)),
        runs=tuple(_linked(run, side, out_dir) for side, runs in sides for run in runs),
    )


def _row(finding: GateFinding, case: CaseMade) -> GateRow:
    name = finding.gate.measure
    measure = MEASURES.get(name)
    return GateRow(
        measure=name,
        says=measure.says if measure else "what was limited, at any time",
        decision=DECISIONS[finding.decision],
        tone=TONES[finding.decision],
        before=_unbroken(value(finding.before, name)),
        after=_unbroken(value(finding.after, name)),
        change=DECISIONS["undecided"] if is_vague(finding) else _unbroken(relative(finding.change)),
        within=_unbroken(interval(finding)),
        because=finding.because,
        interval=interval_of(finding),
        strip=strip_of(_values(case.before, name), _values(case.after, name), name),
    )


def _unbroken(text: str) -> str:
    """A number on one line with its unit; what is longer may be broken."""
    return text.replace(" ", "\u00a0") if len(text) <= UNBROKEN else text


def _values(runs: Sequence[RunMade], measure: str) -> list[float]:
    return [run.measures[measure] for run in runs if run.valid and measure in run.measures]


def _linked(run: RunMade, side: str, out_dir: Path) -> RunLink:
    return RunLink(
        run=run,
        side=side,
        link=link_to(run.report or run.url, out_dir),
        words="report" if run.report else "files",
        took="–" if run.took_s is None else span(run.took_s),
    )


def link_to(url: str, out_dir: Path) -> str | None:
    """An address as a browser follows it from a page in `out_dir`; None where it cannot, as an s3 address."""
    parts = urlsplit(url)
    if parts.scheme in ("http", "https"):
        return url
    if parts.scheme != "file":
        return None
    return quote(Path(relpath(unquote(parts.path), out_dir.absolute())).as_posix())
