"""Colours by role, in light and in dark, for the page and for its charts.

Charts are made in the light colours; the page's script swaps each for its dark partner, so every light colour
stands for one role only. Each constraint has a hue and a pattern of its own, so that they can be told apart
at a glance, without colour and on paper; what is hot, what went well, what failed, and throttles of which
no limit is told have none of these hues.
"""

from collections.abc import Mapping
from typing import Any, Final

from keyheat.words import Constraint

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


SHAPES: Final = ("", "/", "x", ".", "-", "+", "|", "\\")


def pattern(constraint: Constraint, number: int = 0) -> dict[str, Any]:
    """The pattern of a constraint, drawn in the ground's colour over the constraint's own.

    `number` tells several series of one constraint in a chart apart, from 0.
    """
    rounds, shape = divmod(SHAPES.index(PATTERNS[constraint]) + number, len(SHAPES))
    return {
        "shape": SHAPES[shape], "fillmode": "overlay", "fgcolor": LIGHT["card"], "size": 6 + 4 * rounds,
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
