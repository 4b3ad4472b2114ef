"""Where the heat was: which keys were hot in which seconds, so that a rollover of the date can be seen."""

from typing import TYPE_CHECKING

import numpy as np
import plotly.graph_objects as go

from keyheat.analysis.report.bins import Floats, joined_up
from keyheat.analysis.report.run import ReportRun
from keyheat.numbers import UNITS, measured, rate, some
from keyheat.pages.charts.figures import (
    Chart,
    PageTable,
    Swatch,
    compact,
    figure,
    iso,
    joined,
    lay_out,
    safe,
    shortened,
    times,
)
from keyheat.pages.sheets import Sheet
from keyheat.pages.style import LIGHT
from keyheat.runs.manifest import KeyWindow
from keyheat.terms import DEMAND
from keyheat.wording.constraints import saying
from keyheat.words import Direction, key_name

if TYPE_CHECKING:
    import pandas as pd

ROWS = 12
ROW_PX = 26
MOST_ROWS = 360  # of the table below it
MOST_WINDOWS = 720
COLD = 0.02  # of what one partition admits: below it there is no heat to show
HEAT = [[0.0, LIGHT["heat0"]], [0.35, LIGHT["heat1"]], [0.7, LIGHT["heat2"]], [1.0, LIGHT["heat3"]]]


def heat_chart(run: ReportRun, direction: Direction, ceiling_per_s: float, chart_id: str) -> Chart | None:
    """Which keys were hot when: a row for each key in order of appearance, a column for each window.

    None where there are no windows, or no key came near what one partition admits.
    """
    if run.keys is None:
        return None
    windows = sorted((w for w in run.keys.windows if w.direction == direction), key=lambda w: w.start)
    shown = _names_of(run)
    loads = _loads(windows)
    keys = _rows(loads)
    if not keys or len(windows) < 2:
        return None
    finest, first_s, finest_s = _grid(windows, loads, keys)
    each = _joined(finest.shape[1])
    rates, width_s = np.array([joined_up(row, each) for row in finest]), finest_s * each
    starts = [first_s + column * width_s for column in range(rates.shape[1])]
    if rates.max() < COLD * ceiling_per_s:
        return None
    highest = max(float(rates.max()), ceiling_per_s)  # so that an even load looks as cool as it is
    names = [key_name(key, shown.get(key), 8).removeprefix("sha256:") for key in keys]
    return Chart(
        id=chart_id,
        title=f"Where the heat was, {direction}s",
        summary=_heat_summary(rates, starts, width_s, names),
        figure=_figure(rates, starts, width_s, keys, names, highest),
        legend=(Swatch(name=f"0 to {rate(highest, UNITS[direction])}", role="accent", mark="heat"),),
        table=_heat_table(rates, starts, names, direction),
        sheet=Sheet(
            name=f"heat-of-keys-{direction}",
            columns={_column(key): row for key, row in zip(keys, finest, strict=True)},
            start_s=first_s,
            step_s=float(finest_s),
            end_s=first_s + finest.shape[1] * finest_s,
        ),
    )


def _figure(
    rates: Floats, starts: list[float], width_s: float, keys: list[str], names: list[str], highest: float
) -> go.Figure:
    """A row for each key, the first one on top; a column for each window."""
    made = figure(height=64 + ROW_PX * len(keys), minreducedheight=ROW_PX)  # else one row cuts its times
    made.add_trace(
        go.Heatmap(
            z=[compact(row) for row in rates],
            x0=iso(starts[0] + width_s / 2),
            dx=width_s * 1000,
            y=list(range(len(keys))),
            colorscale=HEAT,
            zmin=0,
            zmax=highest,
            showscale=False,
            ygap=3,
            hovertemplate="%{x}<br>%{z:,} units a second<extra></extra>",
        )
    )
    lay_out(
        made,
        margin_t=8,
        xaxis=times(starts[0], starts[-1] + width_s),
        yaxis={
            "tickvals": list(range(len(keys))),
            "ticktext": [safe(name, 14) for name in names],
            "autorange": "reversed",
            "automargin": True,
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "ticklabelstandoff": 6,
            "tickfont": {"color": LIGHT["muted"]},
        },
    )
    return made


def _column(key: str) -> str:
    """The column of a key: always its digest."""
    return f"{key}_units_per_s"


def _joined(windows: int) -> int:
    """How many windows one column is drawn for."""
    each = 1
    while windows / each > MOST_WINDOWS:
        each *= 2
    return each


def _names_of(run: ReportRun) -> dict[str, str | None]:
    assert run.keys is not None
    loads = [load for loads in run.keys.overall.values() for load in loads]
    return {load.key: load.shown for load in loads if load.shown is not None}


def _loads(windows: list[KeyWindow]) -> "pd.DataFrame":
    """The demand for each key in each window: units, and units a second; `at` is when it begins."""
    import pandas as pd  # here, since a page of evidence alone has no heat, and waits for none of it

    columns = ["at", "key", "units", "per_s"]
    loads = [
        (window.start.timestamp(), load.key, load.units, load.units / window.seconds)
        for window in windows
        for load in window.top
    ]
    return pd.DataFrame(loads, columns=columns)


def _rows(loads: "pd.DataFrame") -> list[str]:
    """The keys that were asked for most in the windows, in the order in which they were first the hottest."""
    units = loads.groupby("key")["units"].sum().sort_values(ascending=False, kind="stable")[:ROWS]
    peaks = loads.groupby("key")["per_s"].transform("max")
    first_hot = loads[loads["per_s"] >= peaks / 2].groupby("key")["at"].min()
    return sorted(units[units >= 0.02 * units.max()].index, key=lambda key: (first_hot[key], key))


def _grid(windows: list[KeyWindow], loads: "pd.DataFrame", keys: list[str]) -> tuple[Floats, float, float]:
    """Units per second, a row for each key, a column for each window; when they begin; how long one is."""
    first_s, last_s = windows[0].start.timestamp(), windows[-1].start.timestamp() + windows[-1].seconds
    width_s = float(windows[0].seconds)
    columns = max(1, round((last_s - first_s) / width_s))
    column = ((loads["at"] - first_s) // width_s).clip(upper=columns - 1).astype("int64")
    units = loads.pivot_table(index=column, columns="key", values="units", aggfunc="sum")
    wide = units.reindex(index=range(columns), columns=keys).fillna(0).to_numpy()
    return wide.T / width_s, first_s, width_s


def _heat_summary(rates: Floats, starts: list[float], width_s: float, names: list[str]) -> str:
    hottest_row = rates.argmax(axis=0)
    moves = [
        c for c in range(1, len(starts)) if hottest_row[c] != hottest_row[c - 1] and rates[:, c].max() > 0
    ]
    if rates.max() < 3 * np.median(rates[rates > 0]) and len(moves) > len(starts) / 3:
        said = "No key stands out: the load is spread."
    elif not moves:
        said = f"One key, {names[hottest_row[0]]}, was the hottest from beginning to end."
    elif len(moves) <= 12:
        said = f"The heat moved to another key {some(len(moves), 'time')}, at " + _listed(
            [saying(starts[0], starts[-1])(starts[c]) for c in moves]
        )
    else:
        said = f"The hottest key changed {some(len(moves), 'time')}."
    return joined([f"The stronger the colour, the hotter; {measured(width_s)} s to a column.", said])


def _listed(moments: list[str]) -> str:
    return ", ".join(moments) + "."


def _heat_table(rates: Floats, starts: list[float], names: list[str], direction: Direction) -> PageTable:
    each = -(-len(starts) // MOST_ROWS)
    rates = np.array([joined_up(row, each) for row in rates])
    hottest_row, say = rates.argmax(axis=0), saying(starts[0], starts[-1])
    rows = tuple(
        (say(start), shortened(names[hottest_row[c]], 40), measured(float(rates[:, c].max())))
        for c, start in enumerate(starts[::each])
    )
    return PageTable(
        caption="Hottest key of each window",
        columns=("from (UTC)", "key", f"{DEMAND}, {UNITS[direction]}/s"),
        rows=rows,
        numeric=frozenset({2}),
    )
