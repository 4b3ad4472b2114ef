"""The figures of answers: numbers that were tried, retry policies, and a fix before and after."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import plotly.graph_objects as go

from keyheat.analysis.advice.proof import Tried
from keyheat.numbers import exact_percent, percent, rate
from keyheat.show.answer import Figure
from keyheat.show.charts.base import coarser, compact, figure, named_rows, safe, width_for
from keyheat.show.style import LIGHT
from keyheat.show.whatif import Found, number
from keyheat.simulator.retrying import RetriedRun
from keyheat.terms import CONFLICT, GIVEN_UP

HEIGHT, ROW_PX, AROUND_PX = 250, 46, 96
MOST_POINTS: Final = 600


def search_figure(result: Found) -> Figure:
    """The throttled share of each number that was tried, against what is allowed; the answer is green."""
    steps, answer = result.search.in_order, result.search.answer
    allowed = result.search.question.share_most
    chart = figure(HEIGHT, ["% of the attempts throttled"])
    chart.add_hline(
        allowed * 100, line={"color": LIGHT["ink"], "dash": "dash", "width": 1.5},
        name=f"allowed: {exact_percent(allowed)}",
    )  # fmt: skip
    rest = [step for step in steps if answer is None or step.value != answer.value]
    at = [step for step in steps if step not in rest]
    for name, role, drawn in (("throttled", "throttled", rest), ("the answer", "good", at)):
        if drawn:
            chart.add_trace(
                go.Scatter(
                    name=name, x=[number(step.value) for step in drawn],
                    y=compact([step.share * 100 for step in drawn]), mode="markers", cliponaxis=False,
                    marker={"size": 12, "color": LIGHT[role]}, customdata=list(map(result.throttled, drawn)),
                    hovertemplate=f"%{{x}} {result.unit}: %{{customdata}} throttled<extra></extra>",
                )
            )  # fmt: skip
    chart.update_xaxes(
        type="category", showgrid=False, ticklabelstandoff=8, title_text=result.unit,
        categoryorder="array", categoryarray=[number(step.value) for step in steps],
    )  # fmt: skip
    chart.update_yaxes(rangemode="tozero")
    worst = max(step.share for step in steps)
    summary = f"At most {percent(worst)} of the attempts throttled." if worst else "Nothing throttled."
    if answer is not None:
        summary += f" The answer is {result.amount(answer.value)}."
    return Figure(title="Throttled, by what was tried", summary=summary, figure=chart)


FATES: Final = (
    ("accepted", "accent", "card", ""),
    (GIVEN_UP, "failed", "card", ""),
    (CONFLICT, "card", "ink", "/"),
    ("still waiting", "calm", "ink", "."),
)
"""What can become of a request: its name, the colours of its bar and of the number inside, its pattern."""
LEGIBLE: Final = 0.1  # part of all requests from which on there is room for a number in its bar


def retry_figure(runs: Sequence[RetriedRun]) -> Figure:
    """Outcomes of the requests under each policy."""
    names = [run.policy.name for run in runs]
    places, notes, rows = named_rows(names)
    chart = figure(AROUND_PX + ROW_PX * len(runs))
    chart.update_layout(barmode="stack", bargap=0.5, annotations=notes, yaxis=rows)
    chart.update_xaxes(range=[0, 100], title_text="% of the requests")
    counts = zip(*((run.accepted, run.given_up, run.conflicts, run.waiting) for run in runs), strict=True)
    for fate, of_runs in zip(FATES, counts, strict=True):
        if any(of_runs):
            shares = [count / run.requests for count, run in zip(of_runs, runs, strict=True)]
            chart.add_trace(_fate(fate, shares, names, places))
    lost = "; ".join(f"{run.policy.name}: {percent(run.lost / run.requests)}" for run in runs if run.lost)
    summary = f"Given up or still waiting: {lost or 'none'}."
    return Figure(title="What becomes of the requests", summary=summary, figure=chart)


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


def fix_figure(sides: Sequence[Sequence[Tried]]) -> Iterator[Figure]:
    """Throttles per second of the first run of each side; nothing if a side has no run."""
    if not all(sides):
        return
    chart, most = figure(HEIGHT, ["throttles per second"]), []
    for name, role, dash, side in zip(
        ("before", "after"), ("muted", "good"), ("dash", "solid"), sides, strict=True
    ):
        measured = side[0].measured
        write, read = measured.write.by_second, measured.read.by_second
        throttled = (write["throttled"] + read["throttled"]).reset_index(drop=True)
        width_s = width_for(len(throttled), MOST_POINTS)
        means = coarser(throttled.to_frame(), width_s)["throttled"]
        chart.add_trace(
            go.Scatter(
                name=name, x0=0, dx=width_s, y=compact([*means, *means[-1:]]), mode="lines",
                line={"color": LIGHT[role], "width": 2, "shape": "hv", "dash": dash},
                hovertemplate=f"after %{{x:,}} s: %{{y:,}} a second, {name}<extra></extra>",
            )
        )  # fmt: skip
        most.append(rate(float(throttled.max()), "throttles"))
    chart.update_xaxes(ticksuffix=" s", showgrid=False, ticklabelstandoff=5)
    chart.update_yaxes(rangemode="tozero")
    summary = f"At most {most[0]} before, {most[1]} after."
    yield Figure(title="Throttles over time", summary=summary, figure=chart)
