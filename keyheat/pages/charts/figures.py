"""What all charts share: the value a chart is, the calm layout, numbers and text made safe and small."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from keyheat.show.answer import Table
from keyheat.show.constraints import crosses_midnight
from keyheat.show.style import LIGHT

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
Mark = Literal["area", "line", "dash", "dot", "bar", "stripe", "cross", "dots", "level", "heat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTable:
    """Rows of text under their headings; `numeric` columns are set right."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Swatch:
    """One entry of a legend: its words, its role in the palette, how it is drawn."""

    name: str
    role: str
    mark: Mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A figure with its words: what it shows in a sentence, its legend, and its numbers as a table."""

    id: str
    title: str
    summary: str
    figure: go.Figure
    legend: tuple[Swatch, ...] = ()
    table: PageTable | None = field(default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with its charts, and what is to be said where they cannot be drawn."""

    id: str
    title: str
    short: str
    charts: tuple[Chart, ...]
    notes: tuple[str, ...]
    wrong: tuple[str, ...] = ()  # what is not right, said before anything else
    tables: tuple[PageTable, ...] = ()  # shown open: they are what the section is about


def figure(*, height: int, **layout: Any) -> go.Figure:
    """An empty figure in the report's manner: no box, thousands set apart."""
    return go.Figure(
        layout={
            "template": go.layout.Template(),
            "height": height,
            "margin": {"l": 8, "r": 12, "t": 26, "b": 8, "autoexpand": True},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": FONT, "size": 12, "color": LIGHT["ink"]},
            "hoverlabel": {
                "bgcolor": LIGHT["card"],
                "bordercolor": LIGHT["line"],
                "font": {"color": LIGHT["ink"], "family": FONT},
            },
            "separators": ".,",
            "showlegend": False,
            "bargap": 0.15,
            **layout,
        }
    )


def lay_out(made: go.Figure, **layout: Any) -> None:
    """Say more of how a figure is laid out; what it says of the same until now is replaced.

    To merge the two, as `update_layout` else does, takes plotly six times as long.
    """
    made.update_layout(layout, overwrite=True)


def amounts(**more: Any) -> dict[str, Any]:
    """A value axis from zero."""
    return {
        "rangemode": "tozero",
        "gridcolor": LIGHT["line"],
        "zerolinecolor": LIGHT["line"],
        "tickfont": {"color": LIGHT["muted"]},
        "nticks": 6,
        "automargin": True,
        "fixedrange": True,
        "exponentformat": "none",
        "separatethousands": True,
        **more,
    }


def times(start_s: float, end_s: float, **more: Any) -> dict[str, Any]:
    """A time axis over exactly the given span, in UTC."""
    return {
        "type": "date",
        "range": [iso(start_s), iso(end_s)],
        "tickformat": _tick_format(start_s, end_s),
        "hoverformat": "%Y-%m-%d %H:%M:%S UTC",
        "gridcolor": "rgba(0,0,0,0)",
        "linecolor": LIGHT["line"],
        "tickfont": {"color": LIGHT["muted"]},
        "nticks": 7,
        "ticklabelstandoff": 5,  # else the first stands on the zero of the other axis
        "automargin": True,
        **more,
    }


def _tick_format(start_s: float, end_s: float) -> str:
    """Times as fine as they are apart; the second line, the day, is written by plotly where it changes."""
    if end_s - start_s < 600:
        return "%H:%M:%S"
    return "%H:%M\n%Y-%m-%d" if crosses_midnight(start_s, end_s - 1) else "%H:%M"


def note(text: str, **where: Any) -> dict[str, Any]:
    """A few words on the chart itself. `text` is ours; what users wrote goes through `safe` first."""
    return {
        "text": text,
        "showarrow": False,
        "font": {"size": 11, "color": LIGHT["muted"]},
        "xref": "paper",
        "yref": "paper",
        **where,
    }


def heading(text: str, top: float) -> dict[str, Any]:
    """What a panel counts, above its top left corner: it costs no width, as a turned axis title would."""
    return note(text, x=0, y=top, xanchor="left", yanchor="bottom", yshift=3)


def named_rows(names: Sequence[str]) -> tuple[list[int], list[dict[str, Any]], dict[str, Any]]:
    """Rows of bars from top to bottom, each below its name: their places, the names, and the axis.

    A name above its bar costs no width, as one beside it would.
    """
    places = [-place for place in range(len(names))]
    notes = [
        note(safe(name), x=0, y=place, yref="y", xanchor="left", yanchor="bottom", yshift=14)
        for place, name in zip(places, names, strict=True)
    ]
    return places, notes, {"visible": False, "fixedrange": True, "range": [places[-1] - 0.5, 0.65]}


def level(value: float, role: str, dash: str) -> dict[str, Any]:
    """A limit as a line across the panel; the legend names it, with its number."""
    return {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "yref": "y",
        "y0": value,
        "y1": value,
        "line": {"color": LIGHT[role], "dash": dash, "width": 1.5},
    }


def iso(epoch_s: float) -> str:
    """A moment as plotly takes it; dates without a zone are shown as they are, and ours are UTC."""
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3]


def epoch(moment: str) -> float:
    """Epoch seconds of what `iso` made."""
    return datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp()


def steps(start_s: float, step_s: float) -> dict[str, Any]:
    """Equal steps of time as two numbers, in place of one date for every point."""
    return {"x0": iso(start_s), "dx": step_s * 1000}


def area(values: npt.NDArray[np.float64], colour: str, inside: str, hover: str, **more: Any) -> go.Scatter:
    """What lies under a stepped line; `more` says where its steps are, and what it is stacked on."""
    return go.Scatter(
        y=held(values),
        mode="lines",
        line={"color": colour, "width": 1, "shape": "hv"},
        fillcolor=inside,
        hovertemplate=f"{hover}<extra></extra>",
        **more,
    )


LEAST: Final = 1e-300  # no power of ten makes a whole number of what is smaller


def compact(values: npt.ArrayLike) -> list[float | int | None]:
    """Numbers in four digits, whole ones without a point, unknown ones as None."""
    array = np.asarray(values, dtype=np.float64)
    known = np.isfinite(array)
    size = np.where(known & (np.abs(array) > LEAST), np.abs(array), 1.0)
    factor = 10.0 ** (3 - np.floor(np.log10(size)))
    rounded = np.round(np.where(known, array, 0) * factor) / factor
    return [
        None if not there else int(value) if value == int(value) else float(f"{value:.4g}")
        for value, there in zip(rounded.tolist(), known.tolist(), strict=True)
    ]


def held(values: npt.NDArray[np.float64]) -> list[float | int | None]:
    """Values of a stepped line: the last one again, so that its step has a width too."""
    return compact(np.append(values, values[-1]))


def safe(text: str, longest: int = 60) -> str:
    """Text that users wrote, for a chart: plotly reads a little HTML in texts, so its signs are escaped."""
    cut = shortened(text, longest)
    return cut.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def shortened(text: str, longest: int) -> str:
    """Text without control signs, cut in the end where it is too long."""
    plain = "".join(sign if sign.isprintable() else "�" for sign in text)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def rows_of(*columns: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    """Columns of text as rows."""
    return tuple(zip(*columns, strict=True))


def joined(parts: Sequence[str]) -> str:
    """Sentences as one paragraph."""
    return " ".join(part for part in parts if part)


def page_table(table: Table) -> PageTable:
    """A table of an answer as pages draw it."""
    return PageTable(
        caption=table.title, columns=tuple(table.columns), rows=tuple(map(tuple, table.cells)),
        numeric=table.amounts,
    )  # fmt: skip
