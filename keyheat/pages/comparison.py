"""One page over several runs: the answer first, every measure in one table, a small chart of each run.

`keyheat compare` and `keyheat run A B C` end in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from keyheat.analysis.report.bins import Floats, mean_rates, width_for
from keyheat.numbers import percent, some, whole
from keyheat.pages.charts.figures import Chart, Section, Swatch, amounts, area, figure, heading, lay_out
from keyheat.pages.page import PageAnswer, figures_json, library, page, said_at
from keyheat.pages.series import RunColumn, groups_of
from keyheat.plan.prices import Prices
from keyheat.runfiles import SIMULATED
from keyheat.show.constraints import BURST, limit_of
from keyheat.show.html import save
from keyheat.show.style import LIGHT
from keyheat.terms import MEANINGS, RESPONSE_TIME, SERVICE_TIME, titled
from keyheat.words import TABLE

MOST_BINS = 240
LEGEND = (
    Swatch(name="accepted", role="accent", mark="area"),
    Swatch(name="throttled", role="throttled", mark="bar"),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RequestRates:
    """Requests per second of one run, in equal steps from its first second on."""

    step_s: int
    accepted: Floats
    throttled: Floats

    @property
    def length_s(self) -> int:
        return self.step_s * len(self.accepted)

    @property
    def highest(self) -> float:
        return float((self.accepted + self.throttled).max())


def multiples(columns: Sequence[RunColumn]) -> tuple[Chart | None, ...]:
    """One chart for each run, None where its seconds are not there; all have the same axes."""
    longest_s = max((_length_s(_table_rows(column)) for column in columns), default=0)
    found = rates_of(columns)
    top = max((one.highest for one in found if one is not None), default=0.0)
    return tuple(
        None if one is None else _chart(column, one, f"chart-run-{place}", longest_s, top)
        for place, (column, one) in enumerate(zip(columns, found, strict=True))
    )


def rates_of(columns: Sequence[RunColumn]) -> list[RequestRates | None]:
    """The rates of each run in steps of the same length, None where its seconds are not there."""
    rows = [_table_rows(column) for column in columns]
    step_s = width_for(max(1, *map(_length_s, rows), 1), MOST_BINS)
    return [_rates(one, step_s) for one in rows]


def _table_rows(column: RunColumn) -> pd.DataFrame | None:
    seconds = column.run.seconds if column.run else None
    own = None if seconds is None else seconds[seconds["resource"] == TABLE]
    return None if own is None or own.empty else own


def _length_s(rows: pd.DataFrame | None) -> int:
    return 0 if rows is None else int((rows["second"].max() - rows["second"].min()).total_seconds()) + 1


def _rates(rows: pd.DataFrame | None, step_s: int) -> RequestRates | None:
    if rows is None:
        return None
    second = np.asarray(rows["second"].astype("int64"), np.int64)
    start_s, end_s = int(second.min()), int(second.max()) + 1
    accepted, throttled = (
        mean_rates(second, rows[name].to_numpy(np.float64), start_s=start_s, end_s=end_s, width_s=step_s)
        for name in ("accepted", "throttled")
    )
    return RequestRates(step_s=step_s, accepted=accepted, throttled=throttled)


def _chart(column: RunColumn, rates: RequestRates, chart_id: str, longest_s: int, top: float) -> Chart:
    made = over_elapsed(190, longest_s, top)
    made.add_trace(_area("accepted", rates.accepted, rates.step_s, LIGHT["accent"], LIGHT["soft"]))
    if rates.throttled.any():
        made.add_trace(
            _area("throttled", rates.throttled, rates.step_s, LIGHT["throttled"], LIGHT["throttled"])
        )
    return Chart(id=chart_id, title=column.label, summary=_said(rates), figure=made)


def over_elapsed(height: int, longest_s: int, top: float) -> go.Figure:
    """An empty figure of requests per second over the seconds since a run began."""
    made = figure(height=height)
    lay_out(
        made,
        annotations=[heading("requests per second", 1.0)],
        xaxis=amounts(
            range=[0, longest_s], ticksuffix=" s", gridcolor="rgba(0,0,0,0)", nticks=5, ticklabelstandoff=5
        ),
        yaxis=amounts(range=[0, top * 1.06 or 1.0], nticks=4),
    )
    return made


def elapsed(values: Floats, step_s: int) -> list[int]:
    """Where the steps of a stepped line begin, and the last one ends: seconds since its run began."""
    return [place * step_s for place in range(len(values) + 1)]


def _area(name: str, values: Floats, step_s: int, line: str, fill: str) -> go.Scatter:
    said = f"after %{{x}}: %{{y:,}} a second {name}"
    return area(values, line, fill, said, x=elapsed(values, step_s), stackgroup="requests")


def _said(rates: RequestRates) -> str:
    accepted, refused = (float(np.sum(one)) * rates.step_s for one in (rates.accepted, rates.throttled))
    said = f"{some(round(accepted), 'request')} accepted"
    share = f" ({percent(refused / (accepted + refused))})" if refused else ""
    return f"{said}, {whole(refused) if refused else 'none'} throttled{share}."


NAME = "compare.html"
MOST_NAMED = 5  # runs of one kind that the first sentence names


def write_comparison(path: Path, folders: Sequence[Path], prices: Prices, generated_at: datetime) -> bool:
    """Write the page over run directories; whether each of them says something about its table.

    Raises `CannotWrite`.
    """
    columns = [RunColumn.of_run(folder, prices) for folder in folders]
    write_page(path, columns, answer_of(columns), prices, generated_at)
    return all(column.valid for column in columns)


def write_page(
    path: Path,
    columns: Sequence[RunColumn],
    answer: PageAnswer,
    prices: Prices,
    generated_at: datetime,
    sections: Sequence[Section] = (),
) -> Path:
    """Write the page; gives its path. Raises `CannotWrite`."""
    return save(path, render(columns, answer, prices, path.parent, generated_at, sections))


def render(
    columns: Sequence[RunColumn],
    answer: PageAnswer,
    prices: Prices,
    out_dir: Path,
    generated_at: datetime,
    sections: Sequence[Section] = (),
    *,
    plotlyjs: str | None = None,
) -> str:
    """The page; its links are relative to `out_dir`."""
    charts = multiples(columns)
    drawn = [chart for section in sections for chart in section.charts]
    links = [column.entry.link_from(out_dir) for column in columns]
    questions = {column.entry.hero.question for column in columns if column.entry.hero}
    return page(
        "side-by-side.html.j2",
        answer=answer,
        sections=sections,
        runs=list(zip(columns, links, charts, strict=True)),
        several=len(questions) > 1,
        groups=groups_of(columns),
        legend=LEGEND,
        reading=reading(prices),
        figures=figures_json([*drawn, *(chart for chart in charts if chart is not None)]),
        generated_at=said_at(generated_at),
        plotlyjs=library(plotlyjs),
    )


def answer_of(columns: Sequence[RunColumn]) -> PageAnswer:
    """What a comparison says first: which runs were throttled, and by what."""
    throttled = [column for column in columns if _is_throttled(column)]
    invalid = [column for column in columns if not column.valid]
    heroes = [column.entry.hero for column in columns]
    stated = [hero for hero in heroes if hero is not None and hero.remark]
    surprises = [hero for hero in stated if hero.surprise]
    return PageAnswer(
        kind="comparison",
        title=f"{some(len(columns), 'run')} side by side",
        chip=_chip(len(columns), len(throttled), len(invalid)),
        role=_role(columns, throttled),
        sentence=sentence_of(columns),
        question=_question(columns),
        warnings=warnings_of(columns),
        expected=_expected(len(stated), len(surprises)),
        surprise=bool(surprises),
    )


def sentence_of(columns: Sequence[RunColumn]) -> str:
    """Which runs were throttled and by what, then those that were not, and those that cannot tell."""
    throttled = [column for column in columns if _is_throttled(column)]
    calm = [column for column in columns if column.valid and _role_of(column) in ("none", BURST)]
    silent = [column for column in columns if column not in throttled and column not in calm]
    said = {
        "Throttled": _listed(list(map(_by_what, throttled))),
        "Not throttled": _listed(list(map(_calm, calm))),
        "Not known": _listed(list(map(_silent, silent))),
    }
    return " ".join(f"{what}: {which}." for what, which in said.items() if which)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join([*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def _is_throttled(column: RunColumn) -> bool:
    return column.valid and column.entry.throttles > 0


def _role_of(column: RunColumn) -> str:
    return column.entry.hero.tone if column.entry.hero else "invalid"


def _by_what(column: RunColumn) -> str:
    """A throttled run with its limit: `hotkey by a partition limit of the table (37 %)`."""
    assert column.run is not None, "what cannot be read is not valid"
    verdict, share = column.run.diagnosis.verdict, column.entry.throttled_share
    part = f" ({percent(share)})" if share is not None else ""
    return f"{column.label} by {limit_of(verdict.constraint, verdict.resource)}{part}"


def _calm(column: RunColumn) -> str:
    return f"{column.label} (on saved burst)" if _role_of(column) == BURST else column.label


def _silent(column: RunColumn) -> str:
    hero = column.entry.hero
    return f"{column.label} ({hero.label.lower() if hero else 'no diagnosis'})"


def _role(columns: Sequence[RunColumn], throttled: Sequence[RunColumn]) -> str:
    """The tone of the page: throttles before everything, and calm only where every run is."""
    if not all(column.valid for column in columns):
        return "invalid"
    roles = [_role_of(column) for column in throttled or columns]
    return next((role for role in roles if role not in ("none", "undetermined")), max(roles))


def _expected(stated: int, surprises: int) -> str | None:
    if not stated:
        return None
    what = "their scenarios expect" if stated > 1 else "its scenario expects"
    return f"{stated - surprises} of {stated} as {what}" if surprises else f"all as {what}"


def warnings_of(columns: Sequence[RunColumn]) -> tuple[str, ...]:
    """What makes runs hard to compare: invalid ones, other scales, other places."""
    said = [
        f"{column.label}: the run says nothing about its table; {_why(column)}"
        for column in columns
        if not column.valid
    ]
    said += [
        f"{column.label}: {column.run.diagnosis.generator.shortfall}"
        for column in columns
        if column.valid and column.run is not None and column.run.diagnosis.generator.bound
    ]
    runs = [column.run for column in columns if column.run is not None]
    if len({run.scale for run in runs}) > 1:
        said.append("The runs have different scales: their rates cannot be held against each other.")
    targets = {run.manifest.target for run in runs if run.manifest}
    if SIMULATED in targets:
        which = "The runs are" if len(targets) == 1 else "Some of the runs are"
        said.append(f"{which} simulated: nothing was sent, and there are no latencies.")
    elif len(targets) > 1:
        said.append("The runs went to different places, and some to a local table.")
    return tuple(said)


def _why(column: RunColumn) -> str:
    if column.run is None:
        return column.entry.problem or "it cannot be read"
    bound = column.run.diagnosis.generator.bound
    return "the load generator was the limit." if bound else "evidence is missing."


def _chip(runs: int, throttled: int, invalid: int) -> str:
    if invalid:
        return f"{some(invalid, 'run')} not valid"
    return f"{throttled} of {runs} throttled" if throttled else "None throttled"


def _question(columns: Sequence[RunColumn]) -> str | None:
    """The question, where all runs have the same."""
    questions = {column.entry.hero.question for column in columns if column.entry.hero}
    return questions.pop() if len(questions) == 1 else None


def reading(prices: Prices) -> tuple[tuple[str, str], ...]:
    """What the measures are."""
    return (
        (
            "Accepted",
            "Capacity units of the table and its indexes that were consumed per second, on average over the "
            "whole seconds of the load, its burst included.",
        ),
        ("Throttled", "The share of the requests that were refused, of all that were sent."),
        (titled(SERVICE_TIME), f"{MEANINGS[SERVICE_TIME]} Of accepted attempts."),
        (titled(RESPONSE_TIME), MEANINGS[RESPONSE_TIME]),
        ("Whole operation", "More than one request: a read of every shard, or a write with its retries."),
        (
            "RCU per whole read",
            "What one checked read of a whole collection consumed, over all its requests.",
        ),
        (
            "A million writes",
            f"In dollars, {prices.shown}. On-demand: the write units that accepted writes took, those of "
            "tables beside it included. As provisioned: what the provisioned write capacity cost while a "
            "million writes were accepted, so throttled writes make the others dearer.",
        ),
        ("–", "Not known, or not a part of that run; never zero."),
    )
