"""Before and after on one scale: accepted and throttled requests over the time of the run."""

from collections.abc import Sequence

import plotly.graph_objects as go

from keyheat.numbers import measured
from keyheat.pages.charts.figures import Chart, Swatch, amounts, figure, heading, held
from keyheat.pages.charts.multiples import Rates, rates_of
from keyheat.pages.series.columns import Column
from keyheat.pages.style import LIGHT

HEIGHT = 250
LINES = (("before", "partition", "dash"), ("after", "good", "line"))
DASHES = {"dash": "dash", "line": "solid"}


def charts_of(columns: Sequence[Column]) -> tuple[Chart, ...]:
    """The first run of each side, laid over each other; nothing where their seconds are missing."""
    first = {side: next((one for one in columns if one.label.startswith(side)), None) for side, *_ in LINES}
    found = rates_of([one for one in first.values() if one is not None])
    if len(found) != len(LINES) or any(one is None for one in found):
        return ()
    rates = [one for one in found if one is not None]
    top = max(one.highest for one in rates)
    return tuple(_chart(name, rates, top) for name in ("accepted", "throttled"))


def _chart(name: str, rates: Sequence[Rates], top: float) -> Chart:
    made = figure(height=HEIGHT)
    values = [one.accepted if name == "accepted" else one.throttled for one in rates]
    for (side, role, mark), one, line in zip(LINES, rates, values, strict=True):
        made.add_trace(
            go.Scatter(
                x=[place * one.step_s for place in range(len(line) + 1)], y=held(line), mode="lines",
                line={"color": LIGHT[role], "width": 2, "shape": "hv", "dash": DASHES[mark]},
                hovertemplate=f"after %{{x}}: %{{y:,}} a second {name}, {side}<extra></extra>",
            )
        )  # fmt: skip
    longest_s = max(one.length_s for one in rates)
    made.update_layout(
        annotations=[heading("requests per second", 1.0)],
        xaxis=amounts(range=[0, longest_s], ticksuffix=" s", gridcolor="rgba(0,0,0,0)", nticks=5),
        yaxis=amounts(range=[0, top * 1.06 or 1.0], nticks=4),
    )
    before, after = (measured(float(line.mean())) for line in values)
    return Chart(
        id=f"chart-{name}",
        title=f"{name.capitalize()} requests",
        summary=f"{before} a second before, {after} after, on average.",
        figure=made,
        legend=tuple(Swatch(name=side, role=role, mark=mark) for side, role, mark in LINES),  # type: ignore[arg-type]
    )
