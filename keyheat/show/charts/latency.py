"""How long requests took: curves over percentiles."""

import math
from typing import Final

import plotly.graph_objects as go

from keyheat.analysis.report.latency import RESPONSE, TABLE_PERCENTILES, OperationLatency
from keyheat.numbers import milliseconds, whole
from keyheat.show.answer import Figure, Table
from keyheat.show.charts.base import compact, figure, safe
from keyheat.show.style import LIGHT
from keyheat.terms import P50, P99, RESPONSE_TIME

DASHES: Final = ("solid", "dash", "dot")
ROLES: Final = {"accepted": "accent", "throttled": "throttled", RESPONSE: "ink"}
NINES: Final = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)


def latency_figure(latencies: tuple[OperationLatency, ...]) -> Figure | None:
    """Service time and response time at every percentile; each nine has the same width."""
    drawn = [latency for latency in latencies if latency.drawn]
    if not drawn:
        return None
    made = figure(350, ["milliseconds"])
    operations = sorted({latency.operation for latency in drawn})
    for one in drawn:
        name = f"{safe(one.operation)}, {safe(one.words)}"
        dash = DASHES[operations.index(one.operation) % len(DASHES)]
        made.add_trace(
            go.Scatter(
                x=compact(_nines(percentile) for percentile, _ in one.curve),
                y=compact(value for _, value in one.curve), mode="lines", name=name,
                line={"color": LIGHT[ROLES.get(one.outcome, "error")], "width": 2, "dash": dash},
                customdata=[f"{percentile:.6g}" for percentile, _ in one.curve],
                hovertemplate=f"{name}: p%{{customdata}} %{{y:,}} ms<extra></extra>",
            )
        )  # fmt: skip
    shown = [nine for nine in NINES if nine <= max(one.curve[-1][0] for one in drawn) + 1e-9]
    made.update_xaxes(
        tickvals=list(map(_nines, shown)), ticktext=["min", *(f"p{nine:g}" for nine in shown[1:])],
        hoverformat=None, overwrite=True)  # fmt: skip
    made.update_yaxes(type="log", rangemode="normal", tickformat=",~r", dtick="D2", nticks=0, overwrite=True)
    words = " ".join(map(_sentence, latencies))
    return Figure(title="Latency by percentile", summary=words, figure=made, table=_table(latencies))


def _nines(percentile: float) -> float:
    """0 for the minimum, 1 for 90 %, 2 for 99 %: every nine is one step to the right."""
    return -math.log10(max(1 - percentile / 100, 1e-9))


def _sentence(latency: OperationLatency) -> str:
    at = dict(zip(TABLE_PERCENTILES, latency.table, strict=True))
    return (
        f"{latency.operation}, {latency.words} ({whole(latency.count)}): {P50} {milliseconds(at[50.0])}, "
        f"{P99} {milliseconds(at[99.0])}, max {milliseconds(latency.max_ms)}."
    )


def _table(latencies: tuple[OperationLatency, ...]) -> Table:
    """Percentiles of each operation and outcome, and of what else was timed."""
    title = "Service time of one attempt, by its outcome"
    if any(one.outcome == RESPONSE for one in latencies):
        title += f"; {RESPONSE_TIME} of a request, with queueing and retries"
    names = [f"p{percentile:g}" for percentile in TABLE_PERCENTILES]
    rows = tuple(
        {
            "operation": one.operation, "outcome": one.words, "requests": whole(one.count),
            **dict(zip(names, map(milliseconds, one.table), strict=True)),
            "max": milliseconds(one.max_ms),
        }
        for one in latencies
    )  # fmt: skip
    return Table(title=title, rows=rows, folded=True)
