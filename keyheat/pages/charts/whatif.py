"""The charts of a what-if search: what each number throttles, and what changes from one to the answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from keyheat.numbers import exact_percent, percent, whole
from keyheat.pages.charts.figures import (
    Chart,
    Swatch,
    amounts,
    compact,
    figure,
    heading,
    lay_out,
    level,
    named_rows,
    safe,
)
from keyheat.pages.charts.knee import ticks
from keyheat.pages.style import LIGHT
from keyheat.simulator.search import WhatIfSearch
from keyheat.words import capital

HEIGHT = 270
PAIR_PX, AROUND_PX = 64, 56


def tried_chart(search: WhatIfSearch, unit: str, attempts: str) -> Chart:
    """The throttled share of the attempts for every number that was tried; the answer is the large point."""
    tried, found = search.candidates, search.answer
    made = figure(height=HEIGHT)
    values = [one.value for one in tried]
    marks = [tick for tick in ticks(values) if tick == int(tick)]
    lay_out(
        made, annotations=[heading(f"% of the {attempts}", 1.0)],
        xaxis=amounts(
            type="log", rangemode="normal", gridcolor="rgba(0,0,0,0)", ticklabelstandoff=8,
            tickmode="array", tickvals=marks, ticktext=[f"{mark:,.0f}" for mark in marks],
            title={"text": unit, "font": {"size": 11}},
        ),
        yaxis=amounts(),
        shapes=[level(search.share_most * 100, "ink", "dash")],
    )  # fmt: skip
    made.add_trace(
        go.Scatter(
            x=values, y=compact([one.share * 100 for one in tried]), mode="lines+markers", cliponaxis=False,
            line={"color": LIGHT["throttled"], "width": 2},
            marker={
                "opacity": 1,  # points of several sizes are half transparent by themselves
                "size": [14 if one is found else 8 for one in tried],
                "color": [LIGHT["good"] if one.enough else LIGHT["card"] for one in tried],
                "line": {
                    "color": [LIGHT["good"] if one.enough else LIGHT["throttled"] for one in tried],
                    "width": 2,
                },
            },
            customdata=[percent(one.share) if one.share else "none" for one in tried],
            hovertemplate=f"%{{x:,}} {unit}: %{{customdata}} throttled<extra></extra>",
        )
    )  # fmt: skip
    worst = max(one.share for one in tried)
    enough = f"{whole(found.value)} {unit}: enough." if found else "none is enough."
    return Chart(
        id="chart-tried",
        title="Throttled, by what was tried",
        summary=f"At most {percent(worst)} throttled; {enough}" if worst else f"Nothing throttled; {enough}",
        figure=made,
        legend=(
            Swatch(name="throttled", role="throttled", mark="line"),
            Swatch(name="enough", role="good", mark="bar"),
            Swatch(name=f"allowed: {exact_percent(search.share_most)}", role="ink", mark="dash"),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One quantity before and after; None where it is not known."""

    name: str
    before: float | None
    after: float | None


def pairs_chart(
    chart_id: str,
    title: str,
    counted: str,
    pairs: Sequence[Pair],
    sides: tuple[str, str],
    say: Callable[[float | None], str],
    *,
    limit: float | None = None,
) -> Chart:
    """Two bars for each quantity, one below the other, under its name; `limit` is a line across them all."""
    made = figure(height=AROUND_PX + PAIR_PX * len(pairs), barmode="group")
    places, names, rows = named_rows([pair.name for pair in pairs])
    known = [value for pair in pairs for value in (pair.before, pair.after) if value is not None]
    most = max([*known, limit or 0.0], default=0.0)
    lay_out(
        made,
        bargap=0.5,
        annotations=[heading(counted, 1.0), *names],
        xaxis=amounts(range=[0, most * 1.3 or 1.0], nticks=4),
        yaxis=rows,
        shapes=[] if limit is None else [_line(limit)],
    )
    values = [[pair.after for pair in pairs], [pair.before for pair in pairs]]
    for name, role, side in zip(reversed(sides), ("accent", "error"), values, strict=True):
        made.add_trace(_bars(name, LIGHT[role], pairs, places, side, say))
    said = "; ".join(f"{pair.name}: {say(pair.before)}, then {say(pair.after)}" for pair in pairs)
    lines = () if limit is None else (Swatch(name=f"the limit: {say(limit)}", role="ink", mark="dash"),)
    return Chart(
        id=chart_id,
        title=title,
        summary=f"{capital(said)}.",
        figure=made,
        legend=(
            Swatch(name=sides[0], role="error", mark="bar"),
            Swatch(name=sides[1], role="accent", mark="bar"),
            *lines,
        ),
    )


def _bars(
    name: str,
    colour: str,
    pairs: Sequence[Pair],
    places: Sequence[int],
    values: Sequence[float | None],
    say: Callable[[float | None], str],
) -> go.Bar:
    """The later of two in a group is drawn above."""
    return go.Bar(
        x=compact([float("nan") if value is None else value for value in values]),
        y=list(places),
        orientation="h",
        marker={"color": colour},
        text=[say(value) for value in values],
        textposition="outside",
        textfont={"color": LIGHT["ink"], "size": 11},
        cliponaxis=False,
        customdata=[safe(pair.name) for pair in pairs],
        hovertemplate=f"%{{customdata}}, {name}: %{{text}}<extra></extra>",
    )


def _line(limit: float) -> dict[str, object]:
    return {
        "type": "line", "layer": "below", "xref": "x", "x0": limit, "x1": limit,
        "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": LIGHT["ink"], "dash": "dash", "width": 1.5},
    }  # fmt: skip
