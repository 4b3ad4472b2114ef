"""The throttles of a fix over time, before and after."""

from collections.abc import Iterator, Sequence
from typing import Final

import plotly.graph_objects as go

from keyheat.analysis.advice.proof import Tried
from keyheat.numbers import rate
from keyheat.show.answer import Figure
from keyheat.show.charts.base import coarser, compact, figure, width_for
from keyheat.show.style import LIGHT

HEIGHT, MOST_POINTS = 250, 600
LINES: Final = (("before", "muted", "dash"), ("after", "good", "solid"))
"""Name, colour and dash of each side."""


def fix_figure(sides: Sequence[Sequence[Tried]]) -> Iterator[Figure]:
    """Throttles per second of the first run of each side; nothing if a side has no run."""
    if not all(sides):
        return
    chart, most = figure(HEIGHT, ["throttles per second"]), []
    for (name, role, dash), side in zip(LINES, sides, strict=True):
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
