"""The hottest keys over the whole run: the demand for each against what one partition admits."""

from typing import Any

import pandas as pd
import plotly.graph_objects as go

from keyheat.analysis.report.run import ReportRun
from keyheat.numbers import UNITS, measured, percent, rate, some, whole
from keyheat.show.answer import Figure, Table
from keyheat.show.charts.base import compact, figure, lay_out, named_rows, rows_of, safe, shortened
from keyheat.show.charts.rates import FAR_ABOVE
from keyheat.show.style import LIGHT
from keyheat.terms import DEMAND
from keyheat.words import Direction, key_name, label_of, whose

FEWEST_BARS, MOST_BARS = 3, 10


def hottest_keys(run: ReportRun, direction: Direction) -> pd.DataFrame:
    """The hottest keys of one direction, as the diagnosis has them."""
    keys = [key.model_dump() for key in run.diagnosis.hot_keys if key.direction in (None, direction)]
    frame = pd.DataFrame(keys, columns=["key", "shown", "units_per_s", "share", "throttles"])
    return frame.sort_values(["units_per_s", "key"], ascending=[False, True], ignore_index=True)


def key_figure(run: ReportRun, direction: Direction, ceiling_per_s: float) -> Figure | None:
    """Units per second of demand for each key, with the line of one partition; None without keys."""
    keys, unit = hottest_keys(run, direction), UNITS[direction]
    if keys.empty:
        return None
    seen = int((keys["units_per_s"] >= 0.01 * keys["units_per_s"].iloc[0]).sum())
    top = keys[: min(max(FEWEST_BARS, seen), MOST_BARS)]
    names = [f"{shortened(_name(row), 24)}  {percent(row.share)}" for row in rows_of(top)]
    places, notes, axis = named_rows(names)
    made = figure(84 + 44 * len(top))
    for throttled, role in ((True, "throttled"), (False, "accent")):
        mine = [place for place, row in enumerate(rows_of(top)) if bool(row.throttles) == throttled]
        if mine:
            made.add_trace(_bars(top.iloc[mine], [places[place] for place in mine], unit, role, throttled))
    if ceiling_per_s <= FAR_ABOVE * top["units_per_s"].max():
        made.add_trace(
            go.Scatter(
                x=[ceiling_per_s, ceiling_per_s], y=[places[-1] - 0.5, 0.65], mode="lines", hoverinfo="skip",
                line={"color": LIGHT["ceiling"], "dash": "dot", "width": 1.5},
                name=f"one partition admits: {whole(ceiling_per_s)} {unit}/s",
            )
        )  # fmt: skip
    lay_out(made, annotations=notes, barmode="overlay")
    made.update_xaxes({"rangemode": "tozero", "gridcolor": LIGHT["line"], "nticks": 5}, overwrite=True)
    made.update_yaxes(axis, overwrite=True)
    return Figure(
        title=f"Hottest keys, {direction}s", summary=_sentence(keys.iloc[0], direction, ceiling_per_s),
        figure=made, table=_table(keys, unit),
    )  # fmt: skip


def _bars(keys: pd.DataFrame, places: list[int], unit: str, role: str, throttled: bool) -> go.Bar:
    words = [[safe(_name(row)), percent(row.share), whole(row.throttles)] for row in rows_of(keys)]
    return go.Bar(
        orientation="h", x=compact(keys["units_per_s"]), y=places, width=0.36, marker_color=LIGHT[role],
        name=f"{DEMAND}, {'with' if throttled else 'no'} throttles", customdata=words,
        hovertemplate=f"%{{customdata[0]}}<br>%{{x:,}} {unit}/s, %{{customdata[1]}} of all<br>"
        "%{customdata[2]} throttles<extra></extra>",
    )  # fmt: skip


def _name(row: Any) -> str:
    return key_name(row.key, None if pd.isna(row.shown) else row.shown)


def _sentence(first: Any, direction: Direction, ceiling_per_s: float) -> str:
    unit = UNITS[direction]
    met = f"It met {some(first.throttles, 'throttle')}." if first.throttles else "It was never throttled."
    return (
        f"The {DEMAND} for the hottest key was {rate(first.units_per_s, unit)} while it was hot, "
        f"{percent(first.share)} of all; one partition admits {whole(ceiling_per_s)} {unit}/s. {met}"
    )


def _table(keys: pd.DataFrame, unit: str) -> Table:
    rows = tuple(
        {
            "key": shortened(_name(row), 80), f"{DEMAND}, {unit}/s": measured(row.units_per_s),
            "share": percent(row.share), "throttles": whole(row.throttles),
        }
        for row in rows_of(keys)
    )  # fmt: skip
    return Table(title="Hottest keys over the whole run", rows=rows, folded=True)


def throttled_key_table(run: ReportRun) -> Table | None:
    """The keys that were throttled most, by our record, else by Contributor Insights; None: unknown."""
    if run.keys is None:
        return _throttled_by_insights(run)
    uses = [(side, use) for side, found in run.keys.by_throttles.items() for use in found if use.throttles]
    uses.sort(key=lambda pair: (-pair[1].throttles, pair[1].key))
    rows = tuple(
        {
            "key": shortened(key_name(use.key, use.shown), 80), "direction": str(side),
            "throttles": whole(use.throttles), f"{DEMAND}, units": measured(use.units),
            "units consumed": measured(use.consumed_units),
        }
        for side, use in uses
    )  # fmt: skip
    return Table(title="Most throttled keys over the whole run", rows=rows, folded=True) if rows else None


def _throttled_by_insights(run: ReportRun) -> Table | None:
    """The keys that Contributor Insights names, of the table and of each index that it counts for."""
    rules = (run.evidence.contributors or ()) if run.evidence is not None else ()
    rows = tuple(
        {
            "key": shortened(key_name(key.key, key.shown), 80), "resource": whose(label_of(rule.index)),
            "throttled requests": whole(key.value), "share": percent(key.value / rule.total),
        }
        for rule in rules
        if rule.counts == "throttled" and rule.total
        for key in rule.keys
    )  # fmt: skip
    return (
        Table(title="Most throttled keys, by Contributor Insights", rows=rows, folded=True) if rows else None
    )
