"""The figures of retry policies: what becomes of requests, how long they take, and attempts over time."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from keyheat.analysis.report.bins import Floats, joined_up, width_for
from keyheat.numbers import measured, milliseconds, percent, rate, some, span, whole
from keyheat.pages.charts.figures import (
    amounts,
    area,
    compact,
    figure,
    heading,
    held,
    lay_out,
    named_rows,
    safe,
)
from keyheat.show.answer import Figure, Table
from keyheat.show.style import LIGHT
from keyheat.simulator.requests import SERVICE_S
from keyheat.simulator.retrying import RetriedRun
from keyheat.terms import CONFLICT, DEMAND, GIVEN_UP, P50, P99, RESPONSE_TIME, titled

Runs = Sequence[RetriedRun]
ROW_PX, AROUND_PX, TIME_PX = 46, 56, 210
MOST_POINTS: Final = 600
MOST_ROWS: Final = 24
LEGIBLE: Final = 0.1  # part of all requests from which on there is room for a number in its bar
DECADES_S: Final = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0)
FATES: Final = (
    ("accepted at once", "accent", "card", "accent", ""),
    ("accepted later", "soft", "ink", "accent", ""),
    (GIVEN_UP, "failed", "card", "failed", ""),
    (CONFLICT, "card", "ink", "failed", "/"),
    ("still waiting", "calm", "ink", "muted", "/"),
)
"""What can become of a request: its name, the colours of bar, number and border, and its pattern."""


def fates_of(run: RetriedRun) -> tuple[int, ...]:
    """Requests by their fate; what was retried, or held back for as long, took the time of two attempts."""
    at_once = int((run.response_s < 2 * SERVICE_S).sum())
    return at_once, run.accepted - at_once, run.given_up, run.conflicts, run.waiting


def fates_figure(runs: Runs) -> Figure:
    """For each policy all its requests as one bar, divided by what became of them."""
    made = figure(height=AROUND_PX + ROW_PX * len(runs), barmode="stack")
    places, names, rows = named_rows([run.policy.name for run in runs])
    lay_out(
        made, bargap=0.5, annotations=[heading("% of the requests", 1.0), *names],
        xaxis=amounts(range=[0, 100], nticks=6), yaxis=rows,
    )  # fmt: skip
    for fate, counts in zip(FATES, zip(*map(fates_of, runs), strict=True), strict=True):
        if any(counts):
            made.add_trace(_part(fate, counts, runs, places))
    lost = "; ".join(f"{run.policy.name}: {percent(run.lost / run.requests)}" for run in runs if run.lost)
    return Figure(
        title="What becomes of the requests",
        summary=f"Given up or still waiting: {lost or 'none'}.",
        figure=made,
    )


def _part(fate: tuple[str, ...], counts: Sequence[int], runs: Runs, places: Sequence[int]) -> go.Bar:
    name, role, ink, border, pattern = fate
    shares = [count / run.requests if run.requests else 0.0 for count, run in zip(counts, runs, strict=True)]
    marker: dict[str, Any] = {"color": LIGHT[role], "line": {"color": LIGHT[border], "width": 1}}
    if pattern:
        marker["pattern"] = {"shape": pattern, "fillmode": "overlay", "fgcolor": LIGHT[border], "size": 6}
    return go.Bar(
        name=name, x=compact([share * 100 for share in shares]), y=list(places), orientation="h",
        marker=marker, text=[percent(share) if share >= LEGIBLE else "" for share in shares],
        textposition="inside", insidetextanchor="middle", textangle=0,
        textfont={"color": LIGHT[ink], "size": 11},
        customdata=[
            f"{safe(run.policy.name)}: {whole(count)} {name} ({percent(share)})"
            for run, count, share in zip(runs, counts, shares, strict=True)
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def response_figure(runs: Runs) -> Iterator[Figure]:
    """Median and slowest hundredth of what was accepted, of every policy, in equal ratios."""
    timed = [run for run in runs if run.accepted]
    if not timed:
        return
    policies = [run.policy.name for run in timed]
    p50, p99 = ([run.within_s(part) or 0.0 for run in timed] for part in (0.5, 0.99))
    made = figure(height=AROUND_PX + ROW_PX * len(timed))
    places, names, rows = named_rows(policies)
    lay_out(
        made, annotations=[heading("time until the answer, in equal ratios", 1.0), *names],
        xaxis=amounts(
            type="log", rangemode="normal", range=[np.log10(min(p50)) - 0.8, np.log10(max(p99)) + 0.8],
            tickmode="array", tickvals=list(DECADES_S), ticktext=list(map(_time, DECADES_S)),
        ),
        yaxis=rows,
    )  # fmt: skip
    for name, role, seconds in ((P50, "accent", p50), (P99, "ink", p99)):
        made.add_trace(_points(name, role, seconds, policies, places))
    rows_said = zip(policies, map(_time, p50), map(_time, p99), strict=True)
    said = "; ".join(f"{name}: {half}, {most}" for name, half, most in rows_said)
    title = f"{titled(RESPONSE_TIME)} of what is accepted"
    yield Figure(title=title, summary=f"{said} ({P50}, {P99}).", figure=made)


def _time(seconds: float) -> str:
    return milliseconds(round(seconds, 4) * 1000)


def _points(name: str, role: str, seconds: list[float], policies: list[str], places: list[int]) -> go.Scatter:
    said = list(map(_time, seconds))
    side = "middle left" if name == P50 else "middle right"
    return go.Scatter(
        name=name, x=compact(seconds), y=places, mode="markers+text", cliponaxis=False, text=said,
        textposition=side, textfont={"color": LIGHT["ink"], "size": 11},
        marker={"size": 10, "color": LIGHT[role], "line": {"color": LIGHT[role], "width": 2}},
        customdata=[f"{safe(policy)}, {name}: {words}" for policy, words in zip(policies, said, strict=True)],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def time_figures(runs: Runs) -> Iterator[Figure]:
    """Attempts a second of every policy on one scale; the first run is the demand without retries."""
    length_s = max(len(run.attempts_per_s) for run in runs)
    width_s = width_for(length_s, MOST_POINTS)
    most = max(float(_means(run.attempts_per_s, width_s).max()) for run in runs)
    for run in runs:
        made = figure(height=TIME_PX)
        made.add_traces(list(_areas(run, width_s)))
        if run is not runs[0]:
            made.add_traces(_demand(runs[0], width_s))
        lay_out(
            made, annotations=[heading("attempts per second", 1.0)],
            xaxis=amounts(
                range=[0, length_s], gridcolor="rgba(0,0,0,0)", ticklabelstandoff=5,
                title={"text": "seconds from the beginning", "font": {"size": 11}},
            ),
            yaxis=amounts(range=[0, most * 1.05 or 1.0], nticks=4),
            shapes=[_end(run.load_s)] if length_s > run.load_s else [],
        )  # fmt: skip
        yield Figure(title=run.policy.name, summary=_of_time(run), figure=made, table=_time_table(run))


def _means(per_s: Sequence[int], width_s: int) -> Floats:
    return joined_up(np.array(per_s, np.float64), width_s)


def _areas(run: RetriedRun, width_s: int) -> Iterator[go.Scatter]:
    """Attempts that were accepted, throttled, and cancelled, on top of each other."""
    throttled, conflicts = _means(run.throttled_per_s, width_s), _means(run.conflicts_per_s, width_s)
    accepted = _means(run.attempts_per_s, width_s) - throttled - conflicts
    parts = (
        ("accepted", "accent", accepted),
        ("throttled", "throttled", throttled),
        (CONFLICT, "failed", conflicts),
    )
    for name, role, values in parts:
        if name == "accepted" or values.any():
            hover = f"%{{x:,}} s: %{{y:,}} a second {name}"
            inside = LIGHT["soft" if name == "accepted" else role]
            yield area(values, LIGHT[role], inside, hover, x0=0, dx=width_s, stackgroup="attempts", name=name)


def _demand(none: RetriedRun, width_s: int) -> list[go.Scatter]:
    """Dashes on a ground of their own: they are seen on what is throttled, too."""
    values = held(_means(none.attempts_per_s[: none.load_s], width_s))
    line: dict[str, Any] = {"y": values, "x0": 0, "dx": width_s, "mode": "lines"}
    hover = f"%{{x:,}} s: %{{y:,}} a second {DEMAND}<extra></extra>"
    dashes = {"color": LIGHT["ink"], "width": 1.5, "shape": "hv", "dash": "dash"}
    return [
        go.Scatter(line={"color": LIGHT["card"], "width": 3, "shape": "hv"}, hoverinfo="skip", **line),
        go.Scatter(name=DEMAND, line=dashes, hovertemplate=hover, **line),
    ]


def _end(load_s: int) -> dict[str, Any]:
    return {
        "type": "line", "xref": "x", "x0": load_s, "x1": load_s, "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": LIGHT["muted"], "dash": "dot", "width": 1.5}, "name": "the load ends",
    }  # fmt: skip


def _time_table(run: RetriedRun) -> Table:
    """Means of some seconds each: a few rows."""
    width_s = width_for(len(run.attempts_per_s), MOST_ROWS)
    sent, refused = _means(run.attempts_per_s, width_s), _means(run.throttled_per_s, width_s)
    rows = (
        {"from, s": str(number * width_s), "attempts/s": measured(one), "throttled/s": measured(other)}
        for number, (one, other) in enumerate(zip(sent, refused, strict=True))
    )
    return Table(title=f"{run.policy.name}, means of {span(width_s)}", rows=tuple(rows))


def _of_time(run: RetriedRun) -> str:
    most, throttled = max(run.attempts_per_s), max(run.throttled_per_s)
    said = f"At most {rate(most, 'attempts')}"
    if not throttled:
        return f"{said}, none throttled."
    retried = run.attempts - run.requests
    again = f"; {some(retried, 'retry', 'retries')}" if retried > 0 else ""
    return f"{said}, {measured(throttled)} throttled; calm from {run.calm_from_s} s on{again}."
