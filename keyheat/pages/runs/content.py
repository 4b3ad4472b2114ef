"""The index of runs as its page's script takes it: columns instead of rows, and every word once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from keyheat.analysis.measures.catalogue import MEASURES
from keyheat.numbers import some
from keyheat.pages.run.hero import PLACES
from keyheat.pages.runs.found import Problem
from keyheat.pages.runs.rows import Row
from keyheat.pages.runs.trends import Series, Trend

DIGITS: Final = 4  # of a measured number: more than any page shows
TITLES: Final[Mapping[str, str]] = {
    "accepted_units_per_s.write": "Accepted WCU/s",
    "accepted_units_per_s.read": "Accepted RCU/s",
    "throttle_share": "Throttled",
    "p99_ms": "p99",
}

Place = Callable[[Row], str]
"""Where a run's directory is, as the reader of the page would type it."""
Link = Callable[[Row], str | None]
"""The address of a run's page as seen from the index; None where there is none."""


@dataclass(slots=True)
class Words:
    """Each text once, and its number wherever it stands."""

    _numbers: dict[str, int]

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def listed(self) -> list[str]:
        return list(self._numbers)


def content_of(
    rows: Sequence[Row],
    trends: Sequence[Trend],
    problems: Sequence[Problem],
    *,
    place: Place,
    link: Link,
) -> dict[str, Any]:
    """What the page shows, without the runs that are under way."""
    words = Words({})
    numbers = {row.key: number for number, row in enumerate(rows)}
    return {
        "sentence": sentence_of(rows, trends),
        "columns": _columns(rows, words, place, link),
        "words": words.listed,
        "says": {name: measure.says for name, measure in MEASURES.items()},
        "trends": [_trend(trend, numbers) for trend in trends],
        "problems": [[str(problem.place), problem.why] for problem in problems],
    }


def sentence_of(rows: Sequence[Row], trends: Sequence[Trend]) -> str:
    """The index in a sentence: how much there is, and what became worse."""
    if not rows:
        return "No run yet."
    what = f"{some(len(rows), 'run')} of {some(len({row.scenario for row in rows}), 'scenario')}"
    worse = [trend for trend in trends if trend.worse]
    if worse:
        names = sorted({trend.scenario for trend in worse})
        rest = f" and {len(names) - 3} more" if len(names) > 3 else ""
        said = f"{', '.join(names[:3])}{rest} became worse"
    else:
        said = "nothing became worse"
    return f"{what}: {said}." if trends else f"{what}."


def _columns(rows: Sequence[Row], words: Words, place: Place, link: Link) -> dict[str, list[Any]]:
    measures = [
        name for name in MEASURES if any(row.summary and name in row.summary.measures for row in rows)
    ]

    def named(text: Callable[[Row], str]) -> list[int]:
        return [words.number(text(row)) for row in rows]

    return {
        "key": [row.key for row in rows],
        "started": [round(row.started_s) for row in rows],
        "duration": [None if row.duration_s is None else round(row.duration_s) for row in rows],
        "scenario": named(lambda row: row.scenario),
        "question": named(lambda row: row.question),
        "target": named(lambda row: PLACES.get(row.target, row.target)),
        "table": named(lambda row: row.table or ""),
        "verdict": named(lambda row: row.verdict),
        "tone": named(lambda row: row.tone),
        "limited": named(lambda row: row.limited),
        "labels": named(lambda row: ", ".join(row.summary.labels) if row.summary else ""),
        "broken": named(lambda row: "; ".join(row.summary.broken) if row.summary else ""),
        "status": named(lambda row: row.status),
        "suite": named(lambda row: f"{row.place.suite}, {row.place.case}" if row.place else ""),
        "session": named(lambda row: row.place.session if row.place else ""),
        "worse": [1 if row.place and row.place.worse else 0 for row in rows],
        "baseline": [1 if row.place and row.place.baseline else 0 for row in rows],
        "machine": named(lambda row: (row.summary.setup.machine_says or "") if row.summary else ""),
        "seed": [row.summary.seed if row.summary else None for row in rows],
        "sure": [row.summary.confidence if row.summary else None for row in rows],
        "attempts": [row.summary.attempts if row.summary else None for row in rows],
        "throttled": [row.summary.throttled if row.summary else None for row in rows],
        "folder": [place(row) for row in rows],
        "link": [link(row) for row in rows],
        **{
            name: [_short(row.summary.measures.get(name)) if row.summary else None for row in rows]
            for name in measures
        },
    }


def _trend(trend: Trend, numbers: Mapping[str, int]) -> dict[str, Any]:
    return {
        "scenario": trend.scenario,
        "target": trend.target,
        "says": trend.says,
        "left_out": trend.left_out,
        "worse": trend.worse,
        "rows": [numbers[row.key] for row in trend.rows],
        "series": [_series(one) for one in trend.series],
    }


def _series(one: Series) -> dict[str, Any]:
    return {
        "measure": one.measure.name,
        "title": TITLES[one.measure.name],
        "unit": one.measure.unit,
        "better": one.measure.better,
        "says": one.measure.says,
        "baseline": _short(one.baseline),
        "changes": [
            [change.at, _short(change.before), _short(change.after), int(one.is_worse(change))]
            for change in one.changes
        ],
        "worse": list(one.worse),
    }


def _short(value: float | None) -> float | int | None:
    """A number with as many digits as were measured."""
    if value is None or not isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() else short
