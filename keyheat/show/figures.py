"""The figures of answers: numbers that were tried, retry policies, and a fix before and after."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from keyheat.analysis.advice.proof import Tried
from keyheat.analysis.report.bins import joined_up, width_for
from keyheat.numbers import exact_percent, percent, rate
from keyheat.pages.charts.figures import (
    amounts,
    compact,
    figure,
    heading,
    held,
    lay_out,
    level,
    named_rows,
    safe,
)
from keyheat.show.answer import Figure
from keyheat.show.steps import Found, number, share_words
from keyheat.show.style import LIGHT
from keyheat.simulator.retrying import RetriedRun, best_of, usual_of
from keyheat.terms import CONFLICT, DEMAND, GIVEN_UP

HEIGHT, ROW_PX, AROUND_PX = 250, 46, 56
MOST_POINTS: Final = 600
PLAIN: Final = "rgba(0,0,0,0)"


def search_figure(found: Found) -> Figure:
    """The throttled share of each number that was tried, against what is allowed; the answer is green."""
    steps, answer = found.search.in_order, found.search.answer
    allowed = found.search.question.share_most
    made = figure(height=HEIGHT)
    lay_out(
        made, annotations=[heading("% of the attempts throttled", 1.0)], yaxis=amounts(),
        shapes=[level(allowed * 100, "ink", "dash") | {"name": f"allowed: {exact_percent(allowed)}"}],
        xaxis=amounts(
            type="category", gridcolor=PLAIN, ticklabelstandoff=8,
            title={"text": found.unit, "font": {"size": 11}},
        ),
    )  # fmt: skip
    sides = [("throttled", "throttled", [step for step in steps if step is not answer])]
    if answer is not None:
        sides.append(("the answer", "good", [step for step in steps if step.value == answer.value]))
    made.update_xaxes(categoryorder="array", categoryarray=[number(step.value) for step in steps])
    for name, role, drawn in sides:
        made.add_trace(
            go.Scatter(
                name=name, x=[number(step.value) for step in drawn],
                y=compact([step.share * 100 for step in drawn]), mode="markers", cliponaxis=False,
                marker={"size": 12, "color": LIGHT[role]}, customdata=list(map(share_words, drawn)),
                hovertemplate=f"%{{x}} {found.unit}: %{{customdata}} throttled<extra></extra>",
            )
        )  # fmt: skip
    worst = max(step.share for step in steps)
    summary = f"At most {percent(worst)} of the attempts throttled." if worst else "Nothing throttled."
    if answer is not None:
        summary += f" The answer is {found.amount(answer.value)}."
    return Figure(title="Throttled, by what was tried", summary=summary, figure=made)


FATES: Final = (
    ("accepted", "accent", "card", ""),
    (GIVEN_UP, "failed", "card", ""),
    (CONFLICT, "card", "ink", "/"),
    ("still waiting", "calm", "ink", "/"),
)
"""What can become of a request: its name, the colours of its bar and of the number inside, its pattern."""
LEGIBLE: Final = 0.1  # part of all requests from which on there is room for a number in its bar


def retry_figures(runs: Sequence[RetriedRun]) -> Iterator[Figure]:
    """What becomes of the requests under each policy, and what the usual and the best one send."""
    made = figure(height=AROUND_PX + ROW_PX * len(runs), barmode="stack")
    places, names, rows = named_rows([run.policy.name for run in runs])
    lay_out(
        made, bargap=0.5, annotations=[heading("% of the requests", 1.0), *names],
        xaxis=amounts(range=[0, 100], nticks=6), yaxis=rows,
    )  # fmt: skip
    counts = zip(*((run.accepted, run.given_up, run.conflicts, run.waiting) for run in runs), strict=True)
    for fate, of_runs in zip(FATES, counts, strict=True):
        if any(of_runs):
            shares = [count / run.requests for count, run in zip(of_runs, runs, strict=True)]
            made.add_trace(_fate(fate, shares, [run.policy.name for run in runs], places))
    lost = "; ".join(f"{run.policy.name}: {percent(run.lost / run.requests)}" for run in runs if run.lost)
    summary = f"Given up or still waiting: {lost or 'none'}."
    yield Figure(title="What becomes of the requests", summary=summary, figure=made)
    yield _attempts_figure(runs)


def _fate(fate: tuple[str, ...], shares: Sequence[float], names: Sequence[str], places: list[int]) -> go.Bar:
    name, role, ink, pattern = fate
    marker: dict[str, Any] = {"color": LIGHT[role], "line": {"color": LIGHT["muted"], "width": 1}}
    if pattern:
        marker["pattern"] = {"shape": pattern, "fillmode": "overlay", "fgcolor": LIGHT["muted"], "size": 6}
    return go.Bar(
        name=name, x=compact([share * 100 for share in shares]), y=places, orientation="h", marker=marker,
        text=[percent(share) if share >= LEGIBLE else "" for share in shares], textposition="inside",
        insidetextanchor="middle", textangle=0, textfont={"color": LIGHT[ink], "size": 11},
        customdata=[f"{safe(of)}: {percent(share)} {name}" for of, share in zip(names, shares, strict=True)],
        hovertemplate="%{customdata}<extra></extra>",
    )  # fmt: skip


def _attempts_figure(runs: Sequence[RetriedRun]) -> Figure:
    """Attempts a second over the load and after it: without retries, and with two policies."""
    length_s = max(len(run.attempts_per_s) for run in runs)
    width_s, usual, best = width_for(length_s, MOST_POINTS), usual_of(runs), best_of(runs)
    drawn = {DEMAND: (runs[0], "ink", "dash"), usual.policy.name: (usual, "throttled", "solid")}
    if best is not usual:
        drawn[best.policy.name] = (best, "accent", "solid")
    made = figure(height=HEIGHT)
    lay_out(
        made, annotations=[heading("attempts per second", 1.0)], yaxis=amounts(nticks=4),
        xaxis=amounts(range=[0, length_s], ticksuffix=" s", gridcolor=PLAIN, ticklabelstandoff=5),
    )  # fmt: skip
    for name, (run, role, dash) in drawn.items():
        values = held(joined_up(np.array(run.attempts_per_s, np.float64), width_s))
        made.add_trace(_line(name, values, width_s, role, dash))
    most = max(drawn.values(), key=lambda one: max(one[0].attempts_per_s))[0]
    summary = f"At most {rate(max(most.attempts_per_s), 'attempts')}, with {most.policy.name}."
    return Figure(title="Attempts over time", summary=summary, figure=made)


def _line(
    name: str, values: Sequence[float | int | None], width_s: float, role: str, dash: str
) -> go.Scatter:
    return go.Scatter(
        name=name, x0=0, dx=width_s, y=values, mode="lines",
        line={"color": LIGHT[role], "width": 2, "shape": "hv", "dash": dash},
        hovertemplate=f"after %{{x:,}} s: %{{y:,}} a second, {safe(name)}<extra></extra>",
    )  # fmt: skip


def fix_figure(sides: Sequence[Sequence[Tried]]) -> Iterator[Figure]:
    """Throttles per second of the first run of each side; nothing if a side has no run."""
    if not all(sides):
        return
    values = [
        one[0].measured.write.by_second.throttled + one[0].measured.read.by_second.throttled for one in sides
    ]
    length_s = max(map(len, values))
    width_s = width_for(length_s, MOST_POINTS)
    made = figure(height=HEIGHT)
    lay_out(
        made, annotations=[heading("throttles per second", 1.0)], yaxis=amounts(nticks=4),
        xaxis=amounts(range=[0, length_s], ticksuffix=" s", gridcolor=PLAIN, ticklabelstandoff=5),
    )  # fmt: skip
    for name, role, dash, line in zip(
        ("before", "after"), ("muted", "good"), ("dash", "solid"), values, strict=True
    ):
        made.add_trace(_line(name, held(joined_up(line, width_s)), width_s, role, dash))
    before, after = (rate(float(line.max()), "throttles") for line in values)
    yield Figure(title="Throttles over time", summary=f"At most {before} before, {after} after.", figure=made)
