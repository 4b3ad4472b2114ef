"""The charts of a sweep: one measure each, against the number of shards."""

from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go

from keyheat.analysis.knees.sweep import Knee
from keyheat.numbers import NOTHING, dollars, measured, milliseconds, percent, rate
from keyheat.pages.charts.figures import Chart, Swatch, amounts, compact, figure, heading, joined, level
from keyheat.pages.run.latency import TABLE_PERCENTILES, Latency
from keyheat.pages.series.columns import Column
from keyheat.pages.style import LIGHT
from keyheat.plan.forecast import Forecast

Runs = Sequence[tuple[int, Column]]
P99 = TABLE_PERCENTILES.index(99.0)
WHOLE_READ, ONE_QUERY = "ReadCollection.logical", "Query.accepted"
HEIGHT = 230


def charts_of(runs: Runs, planned: Forecast, knee: Knee | None) -> tuple[Chart, ...]:
    """Every chart that the runs have numbers for."""
    enough = knee.point.shards if knee and knee.point else None
    found = [_accepted(runs, planned, enough), _throttled(runs, enough), _reads(runs, enough)]
    found += [_units_per_read(runs, enough), _dollars(runs, enough)]
    return tuple(chart for chart in found if chart is not None)


def whole_read(column: Column) -> Latency | None:
    """How long reads of whole collections took, all their requests together."""
    return column.latency(WHOLE_READ)


def _accepted(runs: Runs, planned: Forecast, enough: int | None) -> Chart | None:
    values = _values(runs, lambda one: one.measured.write.units_per_s if one.measured else None)
    asked = planned.write_units.mean_per_s if planned.write_units else None
    chart = _chart(
        "accepted", "Accepted write units", "WCU per second", runs, values, enough, lambda v: rate(v, "WCU")
    )
    if chart is not None and asked is not None:
        highest = max(asked, *(value for value in values if value is not None))
        chart.figure.update_layout(shapes=[level(asked, "ink", "dash")], yaxis_range=[0, highest * 1.1])
        asked_for = Swatch(name=f"asked for, if all wrote: {rate(asked, 'WCU')}", role="ink", mark="dash")
        return _with_legend(chart, asked_for)
    return chart


def _throttled(runs: Runs, enough: int | None) -> Chart | None:
    values = _values(runs, lambda one: _percent(one.measured.write.throttled_share) if one.measured else None)
    return _chart(
        "throttled", "Throttled writes", "% of the writes", runs, values, enough,
        lambda value: percent(value / 100), role="partition",
    )  # fmt: skip


def _percent(share: float | None) -> float | None:
    return None if share is None else share * 100


def _reads(runs: Runs, enough: int | None) -> Chart | None:
    values = _values(runs, lambda one: _p99(whole_read(one)))
    if any(value is not None for value in values):
        title, about = "Whole reads, 99th percentile", "From the first query to the merged answer."
    else:
        values = _values(runs, lambda one: _p99(one.latency(ONE_QUERY)))
        title = "Single queries, 99th percentile"
        about = "Whole reads were not timed: this is the service time of one query of one shard."
    return _chart("reads", title, "milliseconds", runs, values, enough, milliseconds, about=about)


def _p99(latency: Latency | None) -> float | None:
    return None if latency is None else latency.table[P99]


def _units_per_read(runs: Runs, enough: int | None) -> Chart | None:
    values = _values(runs, lambda one: one.measured.units_per_read if one.measured else None)
    return _chart(
        "units",
        "Units of one whole read",
        "RCU per read",
        runs,
        values,
        enough,
        lambda v: f"{measured(v)} RCU",
    )


def _dollars(runs: Runs, enough: int | None) -> Chart | None:
    provisioned = _values(runs, lambda one: one.measured.provisioned_dollars if one.measured else None)
    on_demand = _values(runs, lambda one: one.measured.on_demand_dollars if one.measured else None)
    if all(value is None for value in provisioned):
        return _chart("dollars", "A million writes, on-demand", "dollars", runs, on_demand, enough, dollars)
    chart = _chart(
        "dollars", "A million accepted writes", "dollars", runs, provisioned, enough, dollars,
        about="As provisioned; the same units on-demand are the dotted line.",
    )  # fmt: skip
    if chart is None:
        return None
    chart.figure.add_trace(
        go.Scatter(
            x=_names(runs), y=compact([float("nan") if v is None else v for v in on_demand]), mode="lines",
            line={"color": LIGHT["muted"], "width": 1.5, "dash": "dot"},
            hovertemplate="%{x} shards: $%{y} on-demand<extra></extra>",
        )
    )  # fmt: skip
    highest = max(value for value in (*provisioned, *on_demand) if value is not None)
    chart.figure.update_layout(yaxis_range=[0, highest * 1.1])
    return _with_legend(
        chart,
        Swatch(name="as provisioned", role="accent", mark="line"),
        Swatch(name="on-demand", role="muted", mark="dot"),
    )


def _values(runs: Runs, of: Callable[[Column], float | None]) -> list[float | None]:
    return [of(column) for _shards, column in runs]


def _names(runs: Runs) -> list[str]:
    return [str(shards) for shards, _column in runs]


def _chart(
    name: str,
    title: str,
    unit: str,
    runs: Runs,
    values: Sequence[float | None],
    enough: int | None,
    say: Callable[[float], str],
    *,
    role: str = "accent",
    about: str = "",
) -> Chart | None:
    """One measure against the number of shards; the number that is enough is a filled green point."""
    if all(value is None for value in values):
        return None
    made = figure(height=HEIGHT)
    made.add_trace(
        go.Scatter(
            x=_names(runs), y=compact([float("nan") if value is None else value for value in values]),
            mode="lines+markers", connectgaps=False, cliponaxis=False,
            line={"color": LIGHT[role], "width": 2},
            marker=_markers(runs, enough, role),
            customdata=[NOTHING if value is None else say(value) for value in values],
            hovertemplate="%{x} shards: %{customdata}<extra></extra>",
        )
    )  # fmt: skip
    made.update_layout(
        annotations=[heading(unit, 1.0)],
        xaxis=amounts(
            type="category", gridcolor="rgba(0,0,0,0)", nticks=len(runs), ticklabelstandoff=8,
            title={"text": "shards per key", "font": {"size": 11}},
        ),
        yaxis=amounts(),
    )  # fmt: skip
    told = "; ".join(
        f"{shards:,}: {NOTHING if value is None else say(value)}"
        for (shards, _column), value in zip(runs, values, strict=True)
    )
    return Chart(id=f"chart-{name}", title=title, summary=joined([about, f"{told}."]), figure=made)


def _markers(runs: Runs, enough: int | None, role: str) -> dict[str, Any]:
    colours = [LIGHT["good"] if shards == enough else LIGHT[role] for shards, _column in runs]
    return {
        "size": [13 if shards == enough else 8 for shards, _column in runs],
        "color": [
            colour if column.valid else LIGHT["card"]
            for colour, (_n, column) in zip(colours, runs, strict=True)
        ],
        "line": {"color": colours, "width": 2},
    }


def _with_legend(chart: Chart, *entries: Swatch) -> Chart:
    return Chart(
        id=chart.id,
        title=chart.title,
        summary=chart.summary,
        figure=chart.figure,
        legend=(*chart.legend, *entries),
    )
