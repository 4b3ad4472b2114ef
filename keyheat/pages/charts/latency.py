"""How long requests took: curves and percentiles."""

import math
from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from keyheat.analysis.report.latency import RESPONSE, TABLE_PERCENTILES, OperationLatency
from keyheat.numbers import milliseconds, whole
from keyheat.pages.charts.figures import (
    Chart,
    Mark,
    PageTable,
    Swatch,
    amounts,
    compact,
    figure,
    heading,
    joined,
    lay_out,
    safe,
)  # fmt: skip
from keyheat.pages.sheets import Sheet
from keyheat.pages.style import LIGHT
from keyheat.terms import P50, P99, RESPONSE_TIME

DASHES: tuple[tuple[str, Mark], ...] = (("solid", "line"), ("dash", "dash"), ("dot", "dot"))
NINES = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)


def latency_chart(latencies: tuple[OperationLatency, ...], chart_id: str) -> Chart | None:
    """Service time and response time at every percentile; each nine has the same width."""
    drawn = [latency for latency in latencies if latency.drawn]
    if not drawn:
        return None
    made = figure(height=330)
    operations = sorted({latency.operation for latency in drawn})
    dashes = {name: DASHES[place % len(DASHES)] for place, name in enumerate(operations)}
    for latency in drawn:
        made.add_trace(_curve(latency, dashes[latency.operation][0]))
    shown = [nine for nine in NINES if nine <= max(latency.curve[-1][0] for latency in drawn) + 1e-9]
    lay_out(
        made,
        annotations=[heading("milliseconds", 1.0)],
        xaxis=amounts(
            tickvals=[_nines(nine) for nine in shown],
            ticktext=["min" if nine == 0 else f"p{nine:g}" for nine in shown],
            title={"text": "percentile of the requests", "font": {"size": 11}},
            fixedrange=False,
        ),
        yaxis=amounts(type="log", rangemode="normal", tickformat=",~r", dtick="D2", nticks=0),
    )
    return Chart(
        id=chart_id,
        title="Latency by percentile",
        summary=joined([_latency_sentence(latency) for latency in latencies]),
        figure=made,
        legend=tuple(
            Swatch(name=f"{one.operation}, {one.words}", role=_role(one), mark=dashes[one.operation][1])
            for one in drawn
        ),
        table=latency_table(latencies),
        sheet=_sheet(drawn),
    )


def _sheet(latencies: Sequence[OperationLatency]) -> Sheet:
    """Every point of every curve."""
    points = [(one, percentile, value) for one in latencies for percentile, value in one.curve]
    return Sheet(
        name="latency",
        columns={
            "operation": [one.operation for one, _, _ in points],
            "outcome": [one.words for one, _, _ in points],
            "percentile": np.array([percentile for _, percentile, _ in points]),
            "latency_ms": np.array([value for _, _, value in points]),
        },
    )


def latency_table(latencies: tuple[OperationLatency, ...]) -> PageTable:
    """Percentiles of each operation and outcome, and of what else was timed."""
    caption = "Service time of one attempt, by its outcome"
    if any(one.outcome == RESPONSE for one in latencies):
        caption += f"; {RESPONSE_TIME} of a request, with queueing and retries"
    return PageTable(
        caption=caption,
        columns=("operation", "outcome", "requests", *(f"p{p:g}" for p in TABLE_PERCENTILES), "max"),
        rows=tuple(
            (
                one.operation,
                one.words,
                whole(one.count),
                *(milliseconds(value) for value in one.table),
                milliseconds(one.max_ms),
            )
            for one in latencies
        ),
        numeric=frozenset(range(2, 4 + len(TABLE_PERCENTILES))),
    )


def _curve(latency: OperationLatency, dash: str) -> go.Scatter:
    return go.Scatter(
        x=compact([_nines(percentile) for percentile, _ in latency.curve]),
        y=compact([value for _, value in latency.curve]),
        mode="lines",
        line={"color": LIGHT[_role(latency)], "width": 2, "dash": dash},
        customdata=[f"{percentile:.6g}" for percentile, _ in latency.curve],
        hovertemplate=f"{safe(latency.operation)} {safe(latency.words)}: p%{{customdata}} "
        "%{y:,} ms<extra></extra>",
    )


def _role(latency: OperationLatency) -> str:
    roles = {"accepted": "accent", "throttled": "throttled", RESPONSE: "ink"}
    return roles.get(latency.outcome, "error")


def _nines(percentile: float) -> float:
    """0 for the minimum, 1 for 90 %, 2 for 99 %: every nine is one step to the right."""
    return -math.log10(max(1 - percentile / 100, 1e-9))


def _latency_sentence(latency: OperationLatency) -> str:
    at = dict(zip(TABLE_PERCENTILES, latency.table, strict=True))
    return (
        f"{latency.operation}, {latency.words} ({whole(latency.count)}): "
        f"{P50} {milliseconds(at[50.0])}, {P99} {milliseconds(at[99.0])}, "
        f"max {milliseconds(latency.max_ms)}."
    )
