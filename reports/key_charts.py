"""The hottest keys: what each was asked for, what one partition admits, and where the heat was when."""

from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from analyzers.formats import Direction
from reports.figures import (
    Chart,
    Swatch,
    Table,
    amounts,
    compact,
    figure,
    iso,
    joined,
    safe,
    shortened,
    times,
)  # fmt: skip
from reports.load import Run
from reports.manifest import KeyWindow
from reports.numbers import UNITS, clock, measured, percent, rate, some, whole
from reports.style import LIGHT

BARS = 10
ROWS = 12
MOST_WINDOWS = 720
HEAT = [[0.0, LIGHT["heat0"]], [0.35, LIGHT["heat1"]], [0.7, LIGHT["heat2"]], [1.0, LIGHT["heat3"]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatOfKey:
    """One key's load over the run."""

    key: str
    shown: str | None
    units_per_s: float
    share: float
    throttles: int

    @property
    def name(self) -> str:
        return key_name(self.key, self.shown)


def key_name(key: str, shown: str | None, digits: int = 12) -> str:
    """A key as a report shows it: its value where the run shows values, else the start of its digest."""
    if shown is not None:
        return shown
    kind, _, digest = key.partition(":")
    return f"{kind}:{digest[:digits]}" if digest else shortened(key, digits)


def hottest(run: Run, direction: Direction) -> list[HeatOfKey]:
    """The hottest keys: those of the diagnosis with the rates it found, then the others of `keys.json`."""
    found = {
        key.key: HeatOfKey(
            key=key.key,
            shown=key.shown,
            units_per_s=key.units_per_s,
            share=key.share,
            throttles=key.throttles,
        )
        for key in run.diagnosis.hot_keys
        if key.direction in (None, direction)
    }
    for load in run.keys.overall.get(direction, ()) if run.keys is not None else ():
        rate_per_s = None if load.key in found else _rate_while_hot(run, load.key, direction)
        if rate_per_s is not None:
            found[load.key] = HeatOfKey(
                key=load.key,
                shown=load.shown,
                units_per_s=rate_per_s,
                share=load.share,
                throttles=load.throttles,
            )
    return sorted(found.values(), key=lambda key: (-key.units_per_s, key.key))


def _rate_while_hot(run: Run, key: str, direction: Direction) -> float | None:
    """Mean units per second over the windows in which the key had at least half of its highest rate."""
    assert run.keys is not None
    rates = [
        load.units / window.seconds
        for window in run.keys.windows
        if window.direction == direction
        for load in window.top
        if load.key == key
    ]
    hot = [one for one in rates if one >= max(rates) / 2]
    return sum(hot) / len(hot) if hot else None


def key_chart(
    keys: list[HeatOfKey], direction: Direction, ceiling_per_s: float, chart_id: str
) -> Chart | None:
    """Units per second that each key was asked for, with what one partition admits as a line."""
    if not keys:
        return None
    unit, top = UNITS[direction], keys[:BARS]
    places = list(range(len(top) - 1, -1, -1))
    made = figure(height=60 + 44 * len(top))
    made.add_trace(
        go.Bar(
            orientation="h",
            x=compact([key.units_per_s for key in top]),
            y=places,
            width=0.36,
            marker={"color": [_colour(key, ceiling_per_s) for key in top]},
            customdata=[[safe(key.name), percent(key.share), whole(key.throttles)] for key in top],
            hovertemplate=f"%{{customdata[0]}}<br>%{{x:,}} {unit}/s, %{{customdata[1]}} of all<br>"
            "%{customdata[2]} throttles<extra></extra>",
        )
    )
    made.add_trace(_names(top, places))
    widest = max(key.units_per_s for key in top)
    drawn = ceiling_per_s <= 8 * widest
    made.update_layout(
        xaxis=amounts(range=[0, max(widest, ceiling_per_s if drawn else 0) * 1.08], nticks=5),
        yaxis={"visible": False, "range": [-0.6, len(top) - 0.35], "fixedrange": True},
        shapes=[_ceiling_line(ceiling_per_s)] if drawn else [],
    )
    return Chart(
        id=chart_id,
        title=f"Hottest keys, {direction}s",
        summary=_key_summary(top[0], direction, ceiling_per_s),
        figure=made,
        legend=(
            Swatch(name="asked for, had throttles", role="partition", mark="bar"),
            Swatch(name="asked for, no throttles", role="accent", mark="bar"),
            Swatch(
                name=f"what one partition admits: {whole(ceiling_per_s)} {unit}/s", role="ceiling", mark="dot"
            ),
        ),
        table=_key_table(keys, unit),
    )


def _colour(key: HeatOfKey, ceiling_per_s: float) -> str:
    return LIGHT["partition"] if key.throttles else LIGHT["accent"]


def _names(top: list[HeatOfKey], places: list[int]) -> go.Scatter:
    """The name of each key above its bar, where a narrow screen has room for it."""
    return go.Scatter(
        x=[0] * len(top),
        y=[place + 0.36 for place in places],
        mode="text",
        textposition="middle right",
        text=[f"{safe(key.name, 24)}  {percent(key.share)}" for key in top],
        textfont={"size": 12, "color": LIGHT["ink"]},
        hoverinfo="skip",
        cliponaxis=False,
    )


def _ceiling_line(ceiling_per_s: float) -> dict[str, object]:
    line = {"color": LIGHT["ceiling"], "dash": "dot", "width": 1.5}
    ends = {"x0": ceiling_per_s, "x1": ceiling_per_s, "y0": 0, "y1": 1}
    return {"type": "line", "xref": "x", "yref": "paper", "line": line, **ends}


def _key_summary(first: HeatOfKey, direction: Direction, ceiling_per_s: float) -> str:
    unit = UNITS[direction]
    return (
        f"The hottest key was asked for {rate(first.units_per_s, unit)} while it was hot, {percent(first.share)} "
        f"of the whole run's demand; one partition admits {whole(ceiling_per_s)} {unit}/s. "
        f"It met {some(first.throttles, 'throttle')}."
    )


def _key_table(keys: list[HeatOfKey], unit: str) -> Table:
    return Table(
        caption="Hottest keys over the whole run",
        columns=("key", f"asked for, {unit}/s", "share", "throttles"),
        rows=tuple(
            (shortened(key.name, 80), measured(key.units_per_s), percent(key.share), whole(key.throttles))
            for key in keys
        ),
        numeric=frozenset({1, 2, 3}),
    )


def heat_chart(run: Run, direction: Direction, chart_id: str) -> Chart | None:
    """Which keys were hot when: a row for each key in order of appearance, a column for each window."""
    if run.keys is None:
        return None
    windows = sorted((w for w in run.keys.windows if w.direction == direction), key=lambda w: w.start)
    shown = _names_of(run)
    keys = _rows(windows)
    if not keys or len(windows) < 2:
        return None
    rates, starts, width_s = _grid(windows, keys)
    names = [key_name(key, shown.get(key), 8).removeprefix("sha256:") for key in keys]
    made = figure(height=90 + 26 * len(keys))
    made.add_trace(
        go.Heatmap(
            z=[compact(row) for row in rates],
            x0=iso(starts[0] + width_s / 2),
            dx=width_s * 1000,
            y=list(range(len(keys))),
            colorscale=HEAT,
            zmin=0,
            ygap=3,
            customdata=[[safe(name, 40)] * len(starts) for name in names] if len(starts) <= 60 else None,
            hovertemplate="%{x}<br>%{z:,} units a second<extra></extra>",
            colorbar={
                "orientation": "h", "y": 1.0, "yanchor": "bottom", "thickness": 8, "len": 0.6, "x": 1,
                "xanchor": "right", "nticks": 4, "tickfont": {"color": LIGHT["muted"]}, "outlinewidth": 0,
                "exponentformat": "none", "separatethousands": True, "ticks": "", "ypad": 4,
            },
        )
    )  # fmt: skip
    made.update_layout(
        margin={"l": 8, "r": 12, "t": 44, "b": 8},
        xaxis=times(starts[0], starts[-1] + width_s),
        yaxis={
            "tickvals": list(range(len(keys))),
            "ticktext": [safe(name, 14) for name in names],
            "autorange": "reversed",
            "automargin": True,
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "tickfont": {"color": LIGHT["muted"]},
        },
    )
    return Chart(
        id=chart_id,
        title=f"Where the heat was, {direction}s",
        summary=_heat_summary(rates, starts, width_s, names, direction),
        figure=made,
        table=_heat_table(rates, starts, names, direction),
    )


def _names_of(run: Run) -> dict[str, str | None]:
    assert run.keys is not None
    loads = [load for loads in run.keys.overall.values() for load in loads]
    loads += [load for window in run.keys.windows for load in window.top]
    return {load.key: load.shown for load in loads if load.shown is not None}


def _rows(windows: list[KeyWindow]) -> list[str]:
    """The keys that were asked for most in the windows, in the order in which they were first the hottest."""
    units: dict[str, float] = {}
    peak: dict[str, tuple[float, float]] = {}
    for window in windows:
        for load in window.top:
            units[load.key] = units.get(load.key, 0.0) + load.units
            peak[load.key] = min(
                peak.get(load.key, (0.0, 0.0)), (-load.units / window.seconds, window.start.timestamp())
            )
    hottest_keys = sorted(units, key=lambda key: (-units[key], key))[:ROWS]
    significant = [key for key in hottest_keys if units[key] >= 0.02 * units[hottest_keys[0]]]
    return sorted(significant, key=lambda key: _first_hot(key, windows, -peak[key][0]))


def _first_hot(key: str, windows: list[KeyWindow], peak_per_s: float) -> tuple[float, str]:
    """When the key first had at least half of its own peak."""
    for window in windows:
        for load in window.top:
            if load.key == key and load.units / window.seconds >= peak_per_s / 2:
                return window.start.timestamp(), key
    return float("inf"), key


def _grid(windows: list[KeyWindow], keys: list[str]) -> tuple[np.ndarray, list[float], float]:
    """Units per second: a row for each key, a column for each window, or for several where there are many."""
    first, last = windows[0].start.timestamp(), windows[-1].start.timestamp() + windows[-1].seconds
    width_s = windows[0].seconds
    while (last - first) / width_s > MOST_WINDOWS:
        width_s *= 2
    columns = max(1, round((last - first) / width_s))
    units = np.zeros((len(keys), columns))
    row_of = {key: row for row, key in enumerate(keys)}
    for window in windows:
        column = min(int((window.start.timestamp() - first) // width_s), columns - 1)
        for load in window.top:
            if load.key in row_of:
                units[row_of[load.key], column] += load.units
    return units / width_s, [first + column * width_s for column in range(columns)], width_s


def _heat_summary(
    rates: np.ndarray, starts: list[float], width_s: float, names: list[str], direction: Direction
) -> str:
    unit = UNITS[direction]
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
            [clock(starts[c]) for c in moves]
        )
    else:
        said = f"The hottest key changed {some(len(moves), 'time')}."
    return joined(
        [
            f"Darker is hotter; {measured(width_s)} s to a column, at most {rate(float(rates.max()), unit)}.",
            said,
        ]
    )


def _listed(moments: list[str]) -> str:
    return ", ".join(moments) + "."


def _heat_table(rates: np.ndarray, starts: list[float], names: list[str], direction: Direction) -> Table:
    hottest_row = rates.argmax(axis=0)
    rows = tuple(
        (clock(start), shortened(names[hottest_row[c]], 40), measured(float(rates[:, c].max())))
        for c, start in enumerate(starts)
    )
    return Table(
        caption="Hottest key of each window",
        columns=("from (UTC)", "key", f"asked for, {UNITS[direction]}/s"),
        rows=rows,
        numeric=frozenset({2}),
    )
