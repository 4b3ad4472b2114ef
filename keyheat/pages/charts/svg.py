"""Charts as pictures in SVG, drawn here: for pages without a script.

Of plotly's figures it reads what ours have: lines, stepped, stacked or filled; bars, upright or lying; heat
maps; words, limits and notes; times, amounts, powers of ten. A long series is joined to the steps that can be
seen. Colours stand in the picture as the light ones, and a page's style gives their dark partners.
"""

from collections.abc import Iterator, Sequence
from html import escape, unescape
from itertools import pairwise
from math import ceil
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from keyheat.analysis.report.bins import Floats, joined_up
from keyheat.pages.charts.figures import Chart, epoch
from keyheat.pages.charts.heat import HEAT
from keyheat.pages.charts.partitions import REFUSED
from keyheat.pages.charts.svg_axes import RIGHT, SIGN, WIDTH, Axes, Axis, axis_of, floats
from keyheat.pages.style import LIGHT, dark_partners

MOST_STEPS: Final = 360
MOST_COLUMNS: Final = 120
SHADES: Final = 20
DASHES: Final = {"dash": "9 6", "dot": "2 3"}
STRIPES: Final = {"/": "M0 6L6 0", "x": "M0 6L6 0M0 0L6 6", "-": "M0 3H6", ".": "M2 3h2"}


def svg_of(chart: Chart) -> str:
    """A chart as one SVG element."""
    return _Picture(chart).drawn()


def dark_rules() -> str:
    """What gives the colours of all pictures their dark partners, for a page's style."""
    pairs = {**dark_partners(), **_dark_shades()}
    return "".join(
        f'svg [fill="{light}"]{{fill:{dark}}}svg [stroke="{light}"]{{stroke:{dark}}}'
        for light, dark in pairs.items()
    )


class _Picture:
    """One picture as it is being drawn."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        figure = chart.figure.to_plotly_json()
        self.traces: Sequence[Any] = figure["data"]
        self.layout: Any = figure["layout"]
        self.height = int(self.layout["height"])
        self.axes = Axes(self.traces, self.layout, self.height)
        self.parts: list[str] = []
        self.defined: dict[str, str] = {}
        self.stacks: dict[tuple[str, str], Floats] = {}

    def drawn(self) -> str:
        for name, ticks in self.axes.ticks.items():
            self._draw_amounts(name, ticks)
        self._draw_below()
        for trace in self.traces:
            getattr(self, f"_draw_{trace['type']}")(trace)
        for shape in self.layout.get("shapes", ()):
            self._draw_limit(shape)
        for note in self.layout.get("annotations", ()):
            self._draw_note(note)
        head = f'<svg viewBox="0 0 {WIDTH} {self.height}" width="{WIDTH}" height="{self.height}" role="img"'
        said = escape(f"{self.chart.title}. {self.chart.summary}")
        defined = f"<defs>{''.join(self.defined.values())}</defs>" if self.defined else ""
        return f'{head} aria-label="{said}" font-size="12">{defined}{"".join(self.parts)}</svg>'

    def _draw_amounts(self, name: str, ticks: Sequence[tuple[float, str]]) -> None:
        shown = self.layout[name].get("showgrid") is not False
        for value, text in ticks:
            height = self.axes.y[name].at(value)
            if shown:
                self._line(self.axes.left, height, WIDTH - RIGHT, height, LIGHT["line"], 1)
            for place, line in enumerate(lines := text.split("<br>")):
                lower = height + 4 + 15 * (place - (len(lines) - 1) / 2)
                self._text(self.axes.left - 6, lower, line, LIGHT["muted"], "end")

    def _draw_below(self) -> None:
        axis = self.layout["xaxis"]
        for value, text in self.axes.ticks_below():
            across = self.axes.x.at(value)
            if not self.axes.timed:
                self._line(across, self.axes.top, across, self.axes.bottom, LIGHT["line"], 1)
            half = SIGN * len(text) / 2
            inside = min(across, WIDTH - 2 - half)
            self._text(inside, self.axes.bottom + 16, text, LIGHT["muted"], "middle")
        self._line(self.axes.left, self.axes.bottom, WIDTH - RIGHT, self.axes.bottom, LIGHT["line"], 1)
        if "title" in axis:
            middle = (self.axes.left + WIDTH - RIGHT) / 2
            self._text(middle, self.axes.bottom + 34, axis["title"]["text"], LIGHT["muted"], "middle")

    def _draw_scatter(self, trace: Any) -> None:
        axis = self.axes.y[axis_of(trace)]
        if trace.get("mode") == "text":
            for x, y, text in zip(trace["x"], trace["y"], trace["text"], strict=True):
                self._text(self.axes.x.at(x) + 4, axis.at(y) + 4, text, LIGHT["ink"], "start")
            return
        stepped = trace.get("line", {}).get("shape") == "hv"
        places, values = self._points(trace, stepped)
        base = np.zeros(len(values))
        if trace.get("stackgroup"):
            key = (axis_of(trace), trace["stackgroup"])
            base = self.stacks.get(key, base)
            values = np.nan_to_num(values) + base
            self.stacks[key] = values
        line = trace.get("line", {})
        filled = self._fill(trace.get("fillcolor", ""), trace.get("fillpattern"))
        for run in _known_runs(values, axis.log):
            upper = self._path(places[run], values[run], axis, stepped)
            if trace.get("fill") or trace.get("stackgroup"):
                lower = self._path(places[run][::-1], base[run][::-1], axis, stepped, back=True)
                self.parts.append(f'<path fill="{filled}" d="M{upper}L{lower}Z"/>')
            dash = DASHES.get(line.get("dash", ""))
            more = f' stroke-dasharray="{dash}"' if dash else ""
            width = line.get("width", 2)
            self.parts.append(
                f'<path fill="none" stroke="{line["color"]}" stroke-width="{width}"{more} d="M{upper}"/>'
            )

    def _points(self, trace: Any, stepped: bool) -> tuple[Floats, Floats]:
        """Where its points are, and their values; of many, the means of as many as can be told apart."""
        values = floats(trace["y"])
        if trace.get("x") is not None:
            moments = [epoch(one) for one in trace["x"]] if self.axes.timed else trace["x"]
            return floats(moments), values
        start_s, step_s = epoch(trace["x0"]), trace["dx"] / 1_000
        if stepped:
            values = values[:-1]  # the last one stands twice, for its width
        each = max(1, ceil(len(values) / MOST_STEPS))
        ends = np.minimum(np.arange(ceil(len(values) / each) + 1) * each, len(values))
        joined = joined_up(values, each) if each > 1 else values
        if stepped:
            return start_s + ends * step_s, np.append(joined, joined[-1])
        return start_s + ends[:-1] * step_s, joined

    def _path(self, places: Floats, values: Floats, axis: Axis, stepped: bool, *, back: bool = False) -> str:
        points = [
            (self.axes.x.at(x), axis.at(y)) for x, y in zip(places.tolist(), values.tolist(), strict=True)
        ]
        if not stepped:
            return "L".join(f"{x:g} {y:g}" for x, y in points)
        said = [f"{points[0][0]:g} {points[0][1]:g}"]
        for (_, height), (x, y) in pairwise(points):
            if y == height:
                said.append(f"H{x:g}")
            else:
                said.append(f"V{y:g}H{x:g}" if back else f"H{x:g}V{y:g}")
        return "".join(said)

    def _draw_bar(self, trace: Any) -> None:
        marker = trace["marker"]
        axis = self.axes.y[axis_of(trace)]
        colours = marker["color"]
        for place, (x, y, width, base) in enumerate(self._bars(trace)):
            colour = colours if isinstance(colours, str) else colours[place]
            left, right = sorted((self.axes.x.at(x), self.axes.x.at(x + width)))
            over, under = sorted((axis.at(base), axis.at(y)))
            fill = self._fill(colour, marker.get("pattern"))
            self.parts.append(
                f'<rect x="{left:g}" y="{over:g}" width="{max(right - left, 0.5):.1f}"'
                f' height="{max(under - over, 0.0):.1f}" fill="{fill}"/>'
            )

    def _bars(self, trace: Any) -> Iterator[tuple[float, float, float, float]]:
        """The left end of each bar, its top, its width and its foot."""
        if trace.get("orientation") == "h":
            half = trace["width"] / 2
            bases = [epoch(one) for one in trace["base"]] if trace.get("base") is not None else None
            for place, (length, row) in enumerate(zip(trace["x"], trace["y"], strict=True)):
                begin = bases[place] if bases else 0.0
                yield begin, row + half, length / 1_000 if bases else length, row - half
            return
        places, values = self._points(trace, stepped=False)
        width_s = float(places[1] - places[0]) * 0.94 if len(places) > 1 else trace["dx"] / 1_000 * 0.94
        key = (axis_of(trace), "bars")
        feet = self.stacks.get(key, np.zeros(len(values)))
        self.stacks[key] = feet + np.nan_to_num(values)
        for x, y, foot in zip(places.tolist(), values.tolist(), feet.tolist(), strict=True):
            if np.isfinite(y) and y > 0:
                yield x, foot + y, width_s, foot

    def _draw_heatmap(self, trace: Any) -> None:
        """One path for each shade: cells beside each other that have it are one rectangle."""
        axis = self.axes.y["yaxis"]
        step_s = trace["dx"] / 1_000
        start_s = epoch(trace["x0"]) - step_s / 2
        cells: dict[int, list[str]] = {}
        gap = trace.get("ygap", 0)
        for row, values in zip(trace["y"], trace["z"], strict=True):
            each = max(1, ceil(len(values) / MOST_COLUMNS))
            shades = _shades(joined_up(floats(values), each), trace["zmax"])
            over, under = sorted((axis.at(row - 0.5), axis.at(row + 0.5)))
            edges = np.flatnonzero(np.diff(shades, prepend=-2, append=-2))
            for begin, end in pairwise(edges.tolist()):
                if shades[begin] < 0:
                    continue
                left = self.axes.x.at(start_s + begin * each * step_s)
                right = self.axes.x.at(start_s + min(end * each, len(values)) * step_s)
                cells.setdefault(int(shades[begin]), []).append(
                    f"M{left:g} {over + gap / 2:g}H{right:g}V{under - gap / 2:g}H{left:g}z"
                )
        colours = _scale(trace["colorscale"])
        self.parts += [
            f'<path fill="{colours[shade]}" d="{"".join(found)}"/>' for shade, found in sorted(cells.items())
        ]

    def _draw_limit(self, shape: Any) -> None:
        low, high = float(self.axes.top), float(self.axes.bottom)
        if shape.get("xref") == "paper":
            first, last = self.axes.left, float(WIDTH - RIGHT)
            low = high = self.axes.y[f"yaxis{shape['yref'][1:]}"].at(shape["y0"])
        else:
            first = last = self.axes.x.at(epoch(shape["x0"]) if self.axes.timed else shape["x0"])
            if shape.get("yref") != "paper":
                axis = self.axes.y[f"yaxis{(shape.get('yref') or 'y')[1:]}"]
                low, high = axis.at(shape["y0"]), axis.at(shape["y1"])
        line = shape["line"]
        dash = DASHES.get(line.get("dash", ""), "")
        self._line(first, low, last, high, line["color"], line["width"], dash)

    def _draw_note(self, note: Any) -> None:
        across = self.axes.left + note["x"] * (WIDTH - RIGHT - self.axes.left)
        height = self.axes.bottom - note["y"] * (self.axes.bottom - self.axes.top) - note.get("yshift", 0) - 3
        anchor = {"left": "start", "right": "end"}.get(note.get("xanchor", ""), "middle")
        self._text(across, height, note["text"], LIGHT["muted"], anchor)

    def _fill(self, colour: str, pattern: Any) -> str:
        """A colour, or the address of a pattern over it."""
        stripes = STRIPES.get((pattern or {}).get("shape", ""))
        if stripes is None:
            return colour
        name = f"{self.chart.id}-{colour[1:]}-{list(STRIPES.values()).index(stripes)}"
        self.defined[name] = (
            f'<pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<path fill="{colour}" d="M0 0h6v6H0z"/>'
            f'<path fill="none" stroke="{LIGHT["card"]}" d="{stripes}"/>'
            "</pattern>"
        )
        return f"url(#{name})"

    def _line(
        self, x: float, y: float, to_x: float, to_y: float, colour: str, width: float, dash: str = ""
    ) -> None:
        more = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<path stroke="{colour}" stroke-width="{width:g}"{more} d="M{x:g} {y:g}L{to_x:g} {to_y:g}"/>'
        )

    def _text(self, x: float, y: float, text: str, colour: str, anchor: str) -> None:
        """Words of a figure have their signs escaped for plotly already."""
        said = escape(unescape(str(text)))
        self.parts.append(f'<text x="{x:g}" y="{y:g}" fill="{colour}" text-anchor="{anchor}">{said}</text>')


def _known_runs(values: Floats, positive: bool) -> Iterator[slice]:
    """The stretches without a gap."""
    known = np.isfinite(values) & (values > 0) if positive else np.isfinite(values)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(np.int8)))
    yield from (slice(int(first), int(past)) for first, past in zip(edges[::2], edges[1::2], strict=True))


def _shades(values: Floats, highest: float) -> npt.NDArray[np.int64]:
    """Each value as one of so many shades; -1 where it is not known."""
    part = np.clip(np.nan_to_num(values) / (highest or 1.0), 0, 1)
    return np.where(np.isfinite(values), np.round(part * (SHADES - 1)), -1).astype(np.int64)


def _scale(scale: Sequence[tuple[float, str]]) -> list[str]:
    """The colours of all shades."""
    stops = [float(place) for place, _ in scale]
    parts = [[int(colour[at : at + 2], 16) for _, colour in scale] for at in (1, 3, 5)]
    where = np.linspace(0, 1, SHADES)
    mixed = np.round([np.interp(where, stops, part) for part in parts]).astype(int).T
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in mixed.tolist()]


def _dark_shades() -> dict[str, str]:
    partners = dark_partners()
    found: dict[str, str] = {}
    for made in (HEAT, REFUSED):
        scale = [(float(str(place)), str(colour)) for place, colour in made]
        dark = [(place, partners[colour]) for place, colour in scale]
        found |= dict(zip(_scale(scale), _scale(dark), strict=True))
    return found
