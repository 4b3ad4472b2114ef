"""How charts look: colours by role in light and in dark, patterns, axes, short numbers.

Charts are made in the light colours; the page's script swaps each for its dark partner, so every light colour
stands for one role only. Each constraint has a hue and a pattern of its own, so that they can be told apart
at a glance, without colour and on paper; what is hot, what went well, what failed, and throttles of which
no limit is told have none of these hues.

Plotly and pandas are loaded where a chart is made: a page without charts does without them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from keyheat.numbers import crosses_midnight, rate
from keyheat.words import Constraint

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

FONT: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
COLOURS: Final = {
    "page": ("#fafaf8", "#12161b"),
    "card": ("#ffffff", "#191f26"),
    "ink": ("#1c232c", "#e9edf2"),
    "muted": ("#59646f", "#a3aeb9"),
    "line": ("#e2e5e9", "#2d3640"),
    "accent": ("#1d5fb8", "#82b3ff"),
    "soft": ("#dde8f7", "#223a5c"),
    "ceiling": ("#8a6100", "#e3b341"),
    "calm": ("#d5dade", "#3a444e"),
    "good": ("#3d7a1c", "#9ccb6c"),
    "failed": ("#10161d", "#f7fafd"),
    "throttled": ("#3d5268", "#b3c5d8"),
    "partition": ("#cf2233", "#f2606c"),
    "table": ("#6d3bb5", "#b595f2"),
    "max_on_demand": ("#c05a0e", "#f29a52"),
    "account": ("#b0307f", "#ef8cc5"),
    "undetermined": ("#7d7468", "#b9afa2"),
    "error": ("#8b8f94", "#868e96"),
    "throttles0": ("#f6cdd1", "#4d252b"),
    "throttles1": ("#e4808a", "#a3424e"),
    "heat0": ("#f4f6f8", "#1c232b"),
    "heat1": ("#a3d6cd", "#14514a"),
    "heat2": ("#2b9385", "#2fae9f"),
    "heat3": ("#06413c", "#d3f7f0"),
}
"""Each role in light and in dark."""
LIGHT: Final = {role: light for role, (light, _) in COLOURS.items()}
DARK: Final = {role: dark for role, (_, dark) in COLOURS.items()}
assert len(set(LIGHT.values())) == len(LIGHT)

PATTERNS: dict[Constraint, str] = {
    "partition": "",
    "table": "/",
    "max_on_demand": "x",
    "account": ".",
    "undetermined": "-",
    "none": "",
}


def colour_of(constraint: Constraint) -> str:
    """The light colour of a constraint; grey without one."""
    return LIGHT["calm" if constraint == "none" else constraint]


def pattern(constraint: Constraint) -> dict[str, Any]:
    """The pattern of a constraint, drawn in the ground's colour over the constraint's own."""
    return {
        "shape": PATTERNS[constraint], "fillmode": "overlay", "fgcolor": LIGHT["card"], "size": 6,
        "solidity": 0.25,
    }  # fmt: skip


_AXIS: Final = {
    "automargin": True,
    "linecolor": LIGHT["line"],
    "zerolinecolor": LIGHT["line"],
    "tickfont": {"color": LIGHT["muted"]},
    "exponentformat": "none",
    "ticks": "",
    "separatethousands": True,
}
TEMPLATE: Final[Mapping[str, Any]] = {
    "layout": {
        "font": {"family": FONT, "size": 12, "color": LIGHT["ink"]},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "margin": {"l": 8, "r": 12, "t": 50, "b": 8, "autoexpand": True},
        "hoverlabel": {"bgcolor": LIGHT["card"], "bordercolor": LIGHT["line"],
                       "font": {"color": LIGHT["ink"]}},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yref": "container",
                   "yanchor": "top", "traceorder": "normal"},
        "separators": ".,",
        "bargap": 0.15,
        "xaxis": {**_AXIS, "gridcolor": "rgba(0,0,0,0)", "nticks": 7, "ticklabelstandoff": 5,
                  "hoverformat": "%Y-%m-%d %H:%M:%S UTC"},
        "yaxis": {**_AXIS, "gridcolor": LIGHT["line"], "nticks": 6, "rangemode": "tozero",
                  "fixedrange": True},
    },
}  # fmt: skip
"""How every chart is drawn, in the light colours: the page's script swaps them as it does a chart's own."""


def dark_partners() -> dict[str, str]:
    """Light colour -> dark colour, as the page's script swaps them."""
    return {LIGHT[role]: DARK[role] for role in LIGHT}


def css_variables() -> str:
    """The roles as CSS variables: light, dark where the reader's system is dark, light again on paper."""

    def block(colours: dict[str, str]) -> str:
        return "".join(f"--{role.replace('_', '-')}:{value};" for role, value in colours.items())

    light, dark = block(LIGHT), block(DARK)
    return (
        f":root{{color-scheme:light dark;{light}}}\n"
        f"@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
        f"@media print{{:root{{color-scheme:light;{light}}}}}\n"
    )


SMALL: Final = {"size": 11, "color": LIGHT["muted"]}
HEAT: Final = [[0.0, LIGHT["heat0"]], [0.35, LIGHT["heat1"]], [0.7, LIGHT["heat2"]], [1.0, LIGHT["heat3"]]]
MOST_POINTS: Final = 1_800
WIDTHS_S: Final = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 43_200, 86_400)


def figure(traces: Iterable[Any], height: int, heading: str = "", **layout: Any) -> "go.Figure":
    """A figure of traces, with a heading above it; `layout` is plotly's.

    All is given at once, for merging updates takes several times as long. The page adds `TEMPLATE`.
    """
    import plotly.graph_objects as go

    notes = [*([panel_heading(heading)] if heading else []), *layout.pop("annotations", ())]
    layout |= {"template": go.layout.Template(), "height": height, "minreducedheight": 26}
    return go.Figure(list(traces), layout | {"annotations": notes})


def panel_heading(text: str, top: float = 1.0) -> dict[str, Any]:
    """The heading of a panel that ends at `top`, from 0 to 1 of the height."""
    return {
        "text": text, "x": 0, "xref": "paper", "xanchor": "left", "y": top, "yref": "paper",
        "yanchor": "bottom", "showarrow": False, "font": SMALL,
    }  # fmt: skip


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


def coarser(rates: "pd.DataFrame", step_s: float) -> "pd.DataFrame":
    """Means over longer steps of rows by epoch second; the last step may be shorter."""
    means = rates.groupby((rates.index - rates.index[0]) // step_s).mean()
    return means.set_index(rates.index[0] + means.index * step_s)


def stepped(values: "pd.Series", step_s: float) -> dict[str, Any]:
    """A line in equal steps of time; the last value is repeated, to give its step a width."""
    numbers = compact(values)
    return {
        "x0": iso(float(values.index[0])), "dx": step_s * 1000, "y": [*numbers, numbers[-1]],
        "mode": "lines", "line_shape": "hv",
    }  # fmt: skip


def rows_of(frame: "pd.DataFrame") -> Iterable[Any]:
    """The rows of a frame, their cells by name."""
    return frame.itertuples()


def highest(frame: "pd.DataFrame") -> float:
    """The highest number of a frame; 0 if all are unknown."""
    return max(0.0, float(frame.fillna(0.0).to_numpy().max(initial=0.0)))


def compact(values: Iterable[float]) -> list[float | int | None]:
    """Round numbers to four digits; whole ones become int, unknown ones None."""
    rounded = (float(f"{value:.4g}") if isfinite(value) else None for value in values)
    return [int(value) if value is not None and value.is_integer() else value for value in rounded]


def named_rows(names: Sequence[str]) -> tuple[list[int], list[dict[str, Any]], dict[str, Any]]:
    """Rows of bars from top to bottom, each below its name: their places, the names, and the axis.

    A name above its bar costs no width, as one beside it would.
    """
    places = [-position for position in range(len(names))]
    notes = [
        {
            "text": safe(name), "showarrow": False, "x": 0, "xref": "paper", "xanchor": "left",
            "y": position, "yref": "y", "yanchor": "bottom", "yshift": 14,
            "font": SMALL,
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


def heat_map(rates: "pd.DataFrame", step_s: float, most: float, unit: str, **more: Any) -> "go.Heatmap":
    """Columns of rates over time, by epoch second, as rows of heat."""
    import plotly.graph_objects as go

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
        "ticktext": ["0", rate(most, unit)], "tickfont": SMALL,
    }  # fmt: skip


def safe(text: str, longest: int = 60) -> str:
    """Escape and shorten a user's text for a chart: plotly interprets some HTML."""
    cut = shortened(text, longest)
    return cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shortened(text: str, longest: int) -> str:
    """Replace control characters, and cut text that is too long."""
    plain = "".join(sign if sign.isprintable() else "�" for sign in text)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"
