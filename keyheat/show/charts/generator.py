"""What the load generator sent against the demand, and what it says of itself."""

import math
from collections.abc import Iterator
from typing import Final

import pandas as pd
import plotly.graph_objects as go

from keyheat.analysis.report import RESPONSE, TABLE_PERCENTILES, OperationLatency, ReportRun
from keyheat.numbers import measured, milliseconds, percent, rate, some, span, whole
from keyheat.scenario.scenario import ScenarioError, scenario_from_dict
from keyheat.scenario.shape import LoadShape
from keyheat.show.answer import Figure, Table
from keyheat.show.charts.base import (
    MOST_POINTS,
    coarser,
    compact,
    figure,
    safe,
    stepped,
    time_axis,
    width_for,
)
from keyheat.show.style import LIGHT
from keyheat.terms import DEMAND, P50, P99, RESPONSE_TIME, titled
from keyheat.words import TABLE

OUTCOMES: Final = {"accepted": "accent", "throttled": "throttled", "errors": "error"}


def sent_per_s(run: ReportRun) -> pd.DataFrame | None:
    """Attempts on the table by outcome, second by second; None without seconds. An index's repeat them."""
    limits = run.record.range()
    if run.seconds is None or run.seconds.empty or limits is None:
        return None
    rows = run.seconds[run.seconds["resource"] == TABLE]
    sums = rows.groupby(rows["second"].astype("int64"))[list(OUTCOMES)].sum().astype("float64")
    return sums.reindex(range(*limits), fill_value=0.0)


def generator_figure(run: ReportRun) -> Figure | None:
    """Attempts per second as they were sent, by outcome, against the demand of the scenario."""
    finest = sent_per_s(run)
    if finest is None:
        return None
    step_s = width_for(len(finest), MOST_POINTS)
    sent, made = coarser(finest, step_s), figure(300, ["attempts per second"])
    start_s, end_s = int(finest.index[0]), int(finest.index[-1]) + 1
    for name, role in OUTCOMES.items():
        if sent[name].any():
            made.add_trace(
                go.Scatter(
                    **stepped(sent[name], step_s), name=name, stackgroup="attempts",
                    line={"color": LIGHT[role], "width": 1},
                    fillcolor=LIGHT["soft" if role == "accent" else role],
                    hovertemplate=f"%{{x}}<br>%{{y:,}} a second {name}<extra></extra>",
                )
            )  # fmt: skip
    if (line := _demand(run, sent.index, step_s)) is not None:
        made.add_trace(line)
    made.update_xaxes(time_axis(start_s, end_s), overwrite=True)
    title = "What was sent, on a virtual clock" if run.simulated else "What the load generator sent"
    return Figure(title=title, summary=generator_words(run, step_s), figure=made)


def _demand(run: ReportRun, seconds: pd.Index, step_s: int) -> go.Scatter | None:
    """The demand over time, if it is in requests."""
    health, shape = run.health, _shape(run)
    if not health.asked_per_s or health.target_unit != "requests":
        return None
    began_s = run.manifest.started_at.timestamp() if run.manifest else 0.0
    rates = [shape.rate(second - began_s) if shape else health.asked_per_s for second in seconds]
    return go.Scatter(
        **stepped(pd.Series(rates, seconds), step_s), hoverinfo="skip",
        name=f"{DEMAND}: {rate(health.asked_per_s, 'requests')}",
        line={"color": LIGHT["ink"], "dash": "dash", "width": 1.5},
    )  # fmt: skip


def _shape(run: ReportRun) -> LoadShape | None:
    """The shape of the load; None if it had none, or if it is not known."""
    try:
        scenario = scenario_from_dict(dict((run.manifest and run.manifest.scenario) or {}), "run.json")
    except ScenarioError:
        return None
    return scenario.load.rate_shape() if scenario.load.shape is not None else None


def generator_words(run: ReportRun, step_s: int = 1) -> str:
    """Whether the generator kept up, with what it measured of itself."""
    return " ".join(_sentences(run, step_s))


def _sentences(run: ReportRun, step_s: int) -> Iterator[str]:
    health, manifest = run.health, run.manifest
    if step_s > 1:
        yield f"Means of {span(step_s)}."
    if health.asked_per_s and health.achieved_per_s is not None:
        sent = f"{measured(health.achieved_per_s)} ({percent(health.achieved_per_s / health.asked_per_s)})"
        kept = f"; {measured(health.held_back_per_s)} held back by the client's own rate until the load ended"
        asked = rate(health.asked_per_s, health.target_unit)
        yield f"{titled(DEMAND)} {asked}, sent {sent}{kept if health.held_back_per_s else ''}."
    if health.cpu_percent_max is not None:
        yield f"Its busiest process used {measured(health.cpu_percent_max)} % of a core at most."
    if health.loop_lag_ms_max is not None:
        yield f"Its loop was late by {milliseconds(health.loop_lag_ms_max)} at most."
    if health.late_ms_p99 is not None:
        yield f"Requests left {milliseconds(health.late_ms_p99)} late ({P99})."
    if manifest is not None and "arrivals.late" in manifest.counted:
        late, dropped = (int(manifest.counted.get(f"arrivals.{name}", 0)) for name in ("late", "dropped"))
        was = "was" if dropped == 1 else "were"
        yield (
            f"{some(late, 'arrival')} started more than 10 ms late; "
            f"{some(dropped, 'arrival')} could not start within a second, and {was} dropped."
        )
    if run.totals.errors:
        kinds = ", ".join(
            f"{name} {whole(count)}" for name, count in sorted(run.totals.errors_by_kind.items())
        )
        yield f"{some(run.totals.errors, 'request')} failed for another reason ({kinds})."


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
