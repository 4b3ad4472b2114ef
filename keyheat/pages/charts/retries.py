"""The charts of retry policies: what becomes of requests, how long they take, and attempts over time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go

from keyheat.analysis.report.bins import Floats, joined_up, width_for
from keyheat.numbers import NOTHING, measured, percent, rate, some, span, whole
from keyheat.pages.charts.figures import (
    Chart,
    Mark,
    PageTable,
    Swatch,
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
from keyheat.pages.style import LIGHT
from keyheat.simulator.clients import SERVICE_S
from keyheat.simulator.retrying import RetriedRun
from keyheat.terms import CONFLICT, DEMAND, GIVEN_UP, P50, P99, RESPONSE_TIME, titled
from keyheat.wording.retries import duration

Runs = Sequence[RetriedRun]
ROW_PX, AROUND_PX, TIME_PX = 46, 56, 210
MOST_POINTS: Final = 600
MOST_ROWS: Final = 24
LEGIBLE: Final = 0.1  # part of all requests from which on there is room for a number in its bar
DECADES_S: Final = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What can become of a request, and how it is drawn."""

    name: str
    role: str
    ink: str  # of the number inside
    border: str
    swatch: tuple[str, Mark] | None = None  # else a bar of its role

    @property
    def legend(self) -> Swatch:
        """Its entry of the legend."""
        role, mark = self.swatch or (self.role, "bar")
        return Swatch(name=self.name, role=role, mark=mark)


FATES: Final = (
    Fate(name="accepted at once", role="accent", ink="card", border="accent"),
    Fate(name="accepted later", role="soft", ink="ink", border="accent", swatch=("accent", "area")),
    Fate(name=GIVEN_UP, role="failed", ink="card", border="failed"),
    Fate(name=CONFLICT, role="card", ink="ink", border="failed", swatch=("failed", "stripe")),
    Fate(name="still waiting", role="calm", ink="ink", border="muted", swatch=("muted", "stripe")),
)


def fates_of(run: RetriedRun) -> tuple[int, ...]:
    """Requests by their fate; what was retried, or held back for as long, took the time of two attempts."""
    at_once = int((run.response_s < 2 * SERVICE_S).sum())
    return at_once, run.accepted - at_once, run.given_up, run.conflicts, run.waiting


def fates_chart(runs: Runs) -> Chart:
    """For each policy all its requests as one bar, divided by what became of them."""
    made = figure(height=AROUND_PX + ROW_PX * len(runs), barmode="stack")
    places, names, rows = named_rows([run.policy.name for run in runs])
    lay_out(
        made,
        bargap=0.5,
        annotations=[heading("% of the requests", 1.0), *names],
        xaxis=amounts(range=[0, 100], nticks=6),
        yaxis=rows,
    )
    counts = list(zip(*map(fates_of, runs), strict=True))
    shown = [(fate, mine) for fate, mine in zip(FATES, counts, strict=True) if any(mine)]
    for fate, mine in shown:
        made.add_trace(_part(fate, mine, runs, places))
    return Chart(
        id="chart-fates",
        title="What becomes of the requests",
        summary=_of_fates(runs),
        figure=made,
        legend=tuple(fate.legend for fate, _ in shown),
        table=_fates_table(runs),
    )


def _part(fate: Fate, counts: Sequence[int], runs: Runs, places: Sequence[int]) -> go.Bar:
    shares = [count / run.requests if run.requests else 0.0 for count, run in zip(counts, runs, strict=True)]
    marker: dict[str, Any] = {"color": LIGHT[fate.role], "line": {"color": LIGHT[fate.border], "width": 1}}
    if fate.legend.mark == "stripe":
        marker["pattern"] = {"shape": "/", "fillmode": "overlay", "fgcolor": LIGHT[fate.border], "size": 6}
    return go.Bar(
        x=compact([share * 100 for share in shares]),
        y=list(places),
        orientation="h",
        marker=marker,
        text=[percent(share) if share >= LEGIBLE else "" for share in shares],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"color": LIGHT[fate.ink], "size": 11},
        customdata=[
            [safe(run.policy.name), whole(count), percent(share)]
            for run, count, share in zip(runs, counts, shares, strict=True)
        ],
        hovertemplate="%{customdata[0]}: %{customdata[1]} "
        + fate.name
        + " (%{customdata[2]})<extra></extra>",
    )


def _of_fates(runs: Runs) -> str:
    said = []
    for run in runs:
        lost = percent(run.given_up_share) if run.given_up else "none"
        waiting = f", {percent(run.waiting / run.requests)} still waiting" if run.waiting else ""
        said.append(f"{run.policy.name}: {lost} {GIVEN_UP}{waiting}")
    return f"{'; '.join(said)}."


def _fates_table(runs: Runs) -> PageTable:
    met = any(run.conflicts for run in runs)
    shown = [place for place, fate in enumerate(FATES) if met or fate.name != CONFLICT]
    rows = tuple(
        (
            run.policy.name,
            whole(run.requests),
            *(whole(fates_of(run)[place]) for place in shown),
            whole(run.quota_ran_out),
        )
        for run in runs
    )
    columns = ("SDK", "requests", *(FATES[place].name for place in shown), "given up for want of quota")
    return PageTable(
        caption="Requests", columns=columns, rows=rows, numeric=frozenset(range(1, len(columns)))
    )


def response_chart(runs: Runs) -> Chart:
    """Median and slowest hundredth of what was accepted, of every policy, in equal ratios."""
    timed = [(run, run.within_s(0.5) or 0.0, run.within_s(0.99) or 0.0) for run in runs if run.accepted]
    made = figure(height=AROUND_PX + ROW_PX * max(len(timed), 1))
    places, names, rows = named_rows([run.policy.name for run, _, _ in timed] or [""])
    least = min((p50_s for _, p50_s, _ in timed), default=SERVICE_S)
    most = max((p99_s for _, _, p99_s in timed), default=SERVICE_S)
    lay_out(
        made, annotations=[heading("time until the answer, in equal ratios", 1.0), *names],
        xaxis=amounts(
            type="log", rangemode="normal", range=[np.log10(least) - 0.8, np.log10(most) + 0.8],
            tickmode="array", tickvals=list(DECADES_S), ticktext=[duration(one) for one in DECADES_S],
        ),
        yaxis=rows,
    )  # fmt: skip
    for (run, p50_s, p99_s), place in zip(timed, places, strict=False):
        made.add_trace(_between(run.policy.name, p50_s, p99_s, place))
    return Chart(
        id="chart-response",
        title=f"{titled(RESPONSE_TIME)} of what is accepted",
        summary="; ".join(f"{run.policy.name}: {duration(p50)}, {duration(p99)}" for run, p50, p99 in timed)
        + f" ({P50}, {P99}).",
        figure=made,
        legend=(Swatch(name=P50, role="accent", mark="bar"), Swatch(name=P99, role="ink", mark="bar")),
        table=_response_table(runs),
    )


def _between(name: str, p50_s: float, p99_s: float, place: int) -> go.Scatter:
    """A line from the median, a ring, to the slowest hundredth, a full point."""
    said = [duration(p50_s), duration(p99_s)]
    return go.Scatter(
        x=compact([p50_s, p99_s]),
        y=[place, place],
        mode="lines+markers+text",
        cliponaxis=False,
        line={"color": LIGHT["muted"], "width": 2},
        marker={
            "opacity": 1,
            "size": [13, 8],
            "color": [LIGHT["card"], LIGHT["ink"]],
            "line": {"color": [LIGHT["accent"], LIGHT["ink"]], "width": 2},
        },
        text=said,
        textposition=["middle left", "middle right"],
        textfont={"color": LIGHT["ink"], "size": 11},
        customdata=[[P50, said[0]], [P99, said[1]]],
        hovertemplate=f"{safe(name)}, %{{customdata[0]}}: %{{customdata[1]}}<extra></extra>",
    )


def _response_table(runs: Runs) -> PageTable:
    parts = (0.5, 0.9, 0.99, 0.999, 1.0)
    rows = tuple((run.policy.name, *(duration(run.within_s(part)) for part in parts)) for run in runs)
    return PageTable(
        caption=titled(RESPONSE_TIME),
        columns=("SDK", P50, "p90", P99, "p99.9", "max"),
        rows=rows,
        numeric=frozenset(range(1, 6)),
    )


def time_charts(runs: Runs) -> tuple[Chart, ...]:
    """Attempts a second of every policy on one scale; the first run is the demand without retries."""
    length_s = max(len(run.attempts_per_s) for run in runs)
    width_s = width_for(length_s, MOST_POINTS)
    most = max(float(_means(run.attempts_per_s, width_s).max()) for run in runs)
    return tuple(
        _time_chart(f"chart-time-{number}", run, runs[0], length_s, width_s, most)
        for number, run in enumerate(runs)
    )


def _means(per_s: Sequence[int], width_s: int) -> Floats:
    return joined_up(np.array(per_s, np.float64), width_s)


def _time_chart(
    chart_id: str, run: RetriedRun, none: RetriedRun, length_s: int, width_s: int, most: float
) -> Chart:
    throttled = _means(run.throttled_per_s, width_s)
    conflicts = _means(run.conflicts_per_s, width_s)
    accepted = _means(run.attempts_per_s, width_s) - throttled - conflicts
    made = figure(height=TIME_PX)
    parts = [("accepted", "accent", "soft", accepted), ("throttled", "throttled", "throttled", throttled)]
    if run.conflicts:
        parts.append((f"cancelled for a {CONFLICT}", "failed", "failed", conflicts))
    for name, role, inside, values in parts:
        hover = f"%{{x:,}} s: %{{y:,}} a second {name}"
        made.add_trace(
            area(values, LIGHT[role], LIGHT[inside], hover, x0=0, dx=width_s, stackgroup="attempts")
        )
    if run is not none:
        made.add_traces(_demand(none, width_s))
    over = length_s > run.load_s
    lay_out(
        made, annotations=[heading("attempts per second", 1.0)],
        xaxis=amounts(
            range=[0, length_s], gridcolor="rgba(0,0,0,0)", ticklabelstandoff=5,
            title={"text": "seconds from the beginning", "font": {"size": 11}},
        ),
        yaxis=amounts(range=[0, most * 1.05 or 1.0], nticks=4),
        shapes=[_end(run.load_s)] if over else [],
    )  # fmt: skip
    return Chart(
        id=chart_id,
        title=run.policy.name if run is not none else f"{run.policy.name}: {run.policy.says}",
        summary=_of_time(run),
        figure=made,
        legend=_time_legend(run, demand=run is not none, end=over),
        table=_time_table(run),
    )


def _demand(none: RetriedRun, width_s: int) -> list[go.Scatter]:
    """Dashes on a ground of their own: they are seen on what is throttled, too."""
    values = held(_means(none.attempts_per_s[: none.load_s], width_s))
    line: dict[str, Any] = {"y": values, "x0": 0, "dx": width_s, "mode": "lines"}
    hover = f"%{{x:,}} s: %{{y:,}} a second {DEMAND}<extra></extra>"
    return [
        go.Scatter(line={"color": LIGHT["card"], "width": 3, "shape": "hv"}, hoverinfo="skip", **line),
        go.Scatter(
            line={"color": LIGHT["ink"], "width": 1.5, "shape": "hv", "dash": "dash"},
            hovertemplate=hover,
            **line,
        ),
    ]


def _end(load_s: int) -> dict[str, Any]:
    return {
        "type": "line", "xref": "x", "x0": load_s, "x1": load_s, "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": LIGHT["muted"], "dash": "dot", "width": 1.5},
    }  # fmt: skip


def _time_legend(run: RetriedRun, *, demand: bool, end: bool) -> tuple[Swatch, ...]:
    shown = (
        (True, Swatch(name="accepted", role="accent", mark="area")),
        (any(run.throttled_per_s), Swatch(name="throttled", role="throttled", mark="bar")),
        (run.conflicts > 0, Swatch(name=CONFLICT, role="failed", mark="bar")),
        (demand, Swatch(name=DEMAND, role="ink", mark="dash")),
        (end, Swatch(name="the load ends", role="muted", mark="dot")),
    )
    return tuple(swatch for is_there, swatch in shown if is_there)


def _of_time(run: RetriedRun) -> str:
    most, throttled = max(run.attempts_per_s), max(run.throttled_per_s)
    said = f"At most {rate(most, 'attempts')}"
    if not throttled:
        return f"{said}, none throttled."
    retried = run.attempts - run.requests
    calm = f"calm from {run.calm_from_s} s on"
    again = f"; {some(retried, 'retry', 'retries')}" if retried > 0 else ""
    return f"{said}, {measured(throttled)} throttled; {calm}{again}."


def _time_table(run: RetriedRun) -> PageTable:
    """Means of some seconds each: twenty-four rows at most."""
    width_s = width_for(len(run.attempts_per_s), MOST_ROWS)
    attempts, throttled = _means(run.attempts_per_s, width_s), _means(run.throttled_per_s, width_s)
    rows = tuple(
        (
            str(number * width_s),
            measured(sent),
            measured(refused),
            percent(refused / sent) if sent else NOTHING,
        )
        for number, (sent, refused) in enumerate(zip(attempts.tolist(), throttled.tolist(), strict=True))
    )
    columns = ("from, s", "attempts/s", "throttled/s", "throttled")
    caption = f"{run.policy.name}, means of {span(width_s)}"
    return PageTable(caption=caption, columns=columns, rows=rows, numeric=frozenset(range(4)))
