"""Shared by all charts: empty figures, time axes, short numbers, safe names."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from keyheat.numbers import crosses_midnight, rate
from keyheat.show.style import LIGHT

HEAT: Final = [[0.0, LIGHT["heat0"]], [0.35, LIGHT["heat1"]], [0.7, LIGHT["heat2"]], [1.0, LIGHT["heat3"]]]
MOST_POINTS: Final = 1_800
WIDTHS_S: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)


def figure(height: int, headings: Sequence[str] = (), heights: Sequence[float] = (1.0,)) -> go.Figure:
    """Create an empty figure with one or more panels on a shared x axis, each with a heading.

    The page adds the template of `keyheat.show.style`: setting it here would take most of the time.
    """
    empty = go.Figure(layout={"template": go.layout.Template(), "height": height, "minreducedheight": 26})
    chart, tops = empty, [1.0]
    if len(heights) > 1:
        chart = make_subplots(
            rows=len(heights),
            shared_xaxes=True,
            row_heights=list(heights),
            vertical_spacing=0.14,
            figure=empty,
        )
        tops = [axis.domain[1] for axis in chart.select_yaxes()]
    font = {"size": 11, "color": LIGHT["muted"]}
    lay_out(chart, annotations=[
        {"text": text, "x": 0, "xref": "paper", "xanchor": "left", "y": top, "yref": "paper",
         "yanchor": "bottom", "showarrow": False, "font": font}
        for text, top in zip(headings, tops, strict=False)
    ])  # fmt: skip
    return chart


def lay_out(chart: go.Figure, **layout: Any) -> None:
    """Replace parts of the layout; merging them takes six times as long."""
    chart.update_layout(layout, overwrite=True)


def time_axis(start_s: float, end_s: float) -> dict[str, Any]:
    """An x axis over exactly the given span, in UTC; ticks are as fine as the span needs."""
    fine, days = end_s - start_s < 600, crosses_midnight(start_s, end_s - 1)
    return {
        "type": "date",
        "range": [iso(start_s), iso(end_s)],
        "tickformat": "%H:%M:%S" if fine else "%H:%M\n%Y-%m-%d" if days else "%H:%M",
    }


def iso(epoch_s: float) -> str:
    """Format a time for plotly, which shows dates without a zone unchanged: ours are UTC."""
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]


def width_for(length_s: int, most: int = MOST_POINTS) -> int:
    """The narrowest step, in seconds, that shows `length_s` seconds in at most `most` points."""
    return next((width for width in WIDTHS_S if length_s <= width * most), -(-length_s // most))


def coarser(rates: pd.DataFrame, step_s: float) -> pd.DataFrame:
    """Means over longer steps of rows by epoch second; the last step may be shorter."""
    means = rates.groupby((rates.index - rates.index[0]) // step_s).mean()
    return means.set_index(rates.index[0] + means.index * step_s)


def stepped(values: pd.Series, step_s: float) -> dict[str, Any]:
    """A line in equal steps of time; the last value is repeated, to give its step a width."""
    numbers = compact(values)
    return {
        "x0": iso(float(values.index[0])), "dx": step_s * 1000, "y": [*numbers, numbers[-1]],
        "mode": "lines", "line_shape": "hv",
    }  # fmt: skip


def rows_of(frame: pd.DataFrame) -> Iterable[Any]:
    """The rows of a frame, their cells by name."""
    return frame.itertuples()


def highest(frame: pd.DataFrame) -> float:
    """The highest number of a frame; 0 if all are unknown."""
    numbers = frame.to_numpy(np.float64)
    return float(np.nanmax(numbers, initial=0.0))


def compact(values: Any) -> list[float | int | None]:
    """Round numbers to four digits; whole ones become int, unknown ones None."""
    return [_short(float(value)) if pd.notna(value) else None for value in values]


def _short(value: float) -> float | int | None:
    if not isfinite(value):
        return None
    rounded = float(f"{value:.4g}")
    return int(rounded) if rounded.is_integer() else rounded


def named_rows(names: Sequence[str]) -> tuple[list[int], list[dict[str, Any]], dict[str, Any]]:
    """Rows of bars from top to bottom, each below its name: their places, the names, and the axis.

    A name above its bar costs no width, as one beside it would.
    """
    places = [-position for position in range(len(names))]
    notes = [
        {
            "text": safe(name), "showarrow": False, "x": 0, "xref": "paper", "xanchor": "left",
            "y": position, "yref": "y", "yanchor": "bottom", "yshift": 14,
            "font": {"size": 11, "color": LIGHT["muted"]},
        }
        for position, name in zip(places, names, strict=True)
    ]  # fmt: skip
    return places, notes, {"visible": False, "range": [places[-1] - 0.5, 0.65]}


def row_axis(names: Sequence[str]) -> dict[str, Any]:
    """A y axis of named rows, the first one on top."""
    return {
        "tickvals": list(range(len(names))), "ticktext": [safe(name, 24) for name in names],
        "range": [len(names) - 0.5, -0.5], "showgrid": False, "zeroline": False,
        "ticklabelstandoff": 6,
    }  # fmt: skip


def heat_map(rates: pd.DataFrame, step_s: float, most: float, unit: str, **more: Any) -> go.Heatmap:
    """Columns of rates over time, by epoch second, as rows of heat."""
    return go.Heatmap(
        z=[compact(rates[name]) for name in rates], x0=iso(float(rates.index[0]) + step_s / 2),
        dx=step_s * 1000, y=list(range(len(rates.columns))), zmin=0, zmax=most,
        **{"colorscale": HEAT, "colorbar": color_bar(most, unit), "ygap": 2,
           "hovertemplate": f"%{{x}}<br>%{{z:,}} {unit} a second<extra></extra>", **more},
    )  # fmt: skip


def color_bar(most: float, unit: str, x: float = 0) -> dict[str, Any]:
    """A thin scale of colours above a heat map, from nothing to the highest rate."""
    return {
        "orientation": "h", "x": x, "xanchor": "left", "y": 1, "yanchor": "bottom", "lenmode": "pixels",
        "len": 110, "thickness": 8, "xpad": 8, "ypad": 6, "outlinewidth": 0, "tickvals": [0, most],
        "ticktext": ["0", rate(most, unit)], "tickfont": {"size": 11, "color": LIGHT["muted"]},
    }  # fmt: skip


def safe(text: str, longest: int = 60) -> str:
    """Escape and shorten a user's text for a chart: plotly interprets some HTML."""
    cut = shortened(text, longest)
    return cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shortened(text: str, longest: int) -> str:
    """Replace control characters, and cut text that is too long."""
    plain = "".join(sign if sign.isprintable() else "�" for sign in text)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"
