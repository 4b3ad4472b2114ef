"""Colours by role, in light and in dark, for the page and for its charts.

Charts are made in the light colours; the page's script swaps each for its dark partner, so every light colour
stands for one role only. Throttled is always of the red family; constraints within it differ in lightness and
in pattern too, so that they can be told apart without colour and on paper.
"""

from typing import Any

from keyheat.words import Constraint

LIGHT = {
    "page": "#fafaf8",
    "card": "#ffffff",
    "ink": "#1c232c",
    "muted": "#59646f",
    "line": "#e2e5e9",
    "accent": "#1d5fb8",
    "soft": "#dde8f7",
    "ceiling": "#8a6100",
    "calm": "#d5dade",
    "good": "#1f7a4d",
    "partition": "#cf2233",
    "table": "#7a1026",
    "max_on_demand": "#e8636e",
    "account": "#f0a0a6",
    "undetermined": "#a77279",
    "error": "#8b8f94",
    "heat0": "#f4f6f8",
    "heat1": "#a9c5ec",
    "heat2": "#3f7ccf",
    "heat3": "#0c2f68",
}
DARK = {
    "page": "#12161b",
    "card": "#191f26",
    "ink": "#e9edf2",
    "muted": "#a3aeb9",
    "line": "#2d3640",
    "accent": "#82b3ff",
    "soft": "#223a5c",
    "ceiling": "#e3b341",
    "calm": "#3a444e",
    "good": "#63c794",
    "partition": "#f2606c",
    "table": "#c24a64",
    "max_on_demand": "#ff9da3",
    "account": "#ffcdd0",
    "undetermined": "#c99ba1",
    "error": "#868e96",
    "heat0": "#1c232b",
    "heat1": "#274b80",
    "heat2": "#5f97ea",
    "heat3": "#d6e6ff",
}
assert LIGHT.keys() == DARK.keys()
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
    """The light colour of a constraint; calm grey where there is none."""
    return LIGHT["calm" if constraint == "none" else constraint]


def pattern(constraint: Constraint) -> dict[str, Any]:
    """The pattern of a constraint, drawn in the ground's colour over the constraint's own."""
    return {
        "shape": PATTERNS[constraint],
        "fillmode": "overlay",
        "fgcolor": LIGHT["card"],
        "size": 6,
        "solidity": 0.25,
    }


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
