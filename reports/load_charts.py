"""How long requests took, and what the generator sent against what it was asked for."""

import math

import numpy as np
import plotly.graph_objects as go

from analyzers.manifest import GeneratorHealth
from analyzers.numbers import measured, milliseconds, percent, rate, some, span, whole
from reports.downsample import MOST_POINTS, Floats, mean_rates, width_for
from reports.figures import (
    Chart,
    Mark,
    Swatch,
    Table,
    amounts,
    compact,
    figure,
    heading,
    held,
    joined,
    level,
    safe,
    steps,
    times,
)  # fmt: skip
from reports.latency import TABLE_PERCENTILES, Latency
from reports.load import Run
from reports.record import Record
from reports.style import LIGHT

DASHES: tuple[tuple[str, Mark], ...] = (("solid", "line"), ("dash", "dash"), ("dot", "dot"))
NINES = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)


def latency_chart(latencies: tuple[Latency, ...], chart_id: str) -> Chart | None:
    """Service time at every percentile, on a scale that gives each nine the same width."""
    if not latencies:
        return None
    made = figure(height=330)
    operations = sorted({latency.operation for latency in latencies})
    dashes = {name: DASHES[place % len(DASHES)] for place, name in enumerate(operations)}
    for latency in latencies:
        made.add_trace(_curve(latency, dashes[latency.operation][0]))
    shown = [nine for nine in NINES if nine <= max(latency.curve[-1][0] for latency in latencies) + 1e-9]
    made.update_layout(
        annotations=[heading("milliseconds", 1.0)],
        xaxis=amounts(
            tickvals=[_nines(nine) for nine in shown],
            ticktext=["min" if nine == 0 else f"{nine:g} %" for nine in shown],
            title={"text": "share of requests that were at least as fast", "font": {"size": 11}},
            fixedrange=False,
        ),
        yaxis=amounts(type="log", rangemode="normal", tickformat=",~r", dtick="D2", nticks=0),
    )
    return Chart(
        id=chart_id,
        title="How long requests took",
        summary=joined([_latency_sentence(latency) for latency in latencies]),
        figure=made,
        legend=tuple(
            Swatch(name=f"{one.operation}, {one.outcome}", role=_role(one), mark=dashes[one.operation][1])
            for one in latencies
        ),
        table=latency_table(latencies),
    )


def latency_table(latencies: tuple[Latency, ...]) -> Table:
    """Percentiles of each operation and outcome."""
    return Table(
        caption="Service time, from the first byte sent to the whole answer read",
        columns=("operation", "outcome", "requests", *(f"p{p:g}" for p in TABLE_PERCENTILES), "max"),
        rows=tuple(
            (
                one.operation,
                one.outcome,
                whole(one.count),
                *(milliseconds(value) for value in one.table),
                milliseconds(one.max_ms),
            )
            for one in latencies
        ),
        numeric=frozenset(range(2, 4 + len(TABLE_PERCENTILES))),
    )


def _curve(latency: Latency, dash: str) -> go.Scatter:
    return go.Scatter(
        x=compact([_nines(percentile) for percentile, _ in latency.curve]),
        y=compact([value for _, value in latency.curve]),
        mode="lines",
        line={"color": LIGHT[_role(latency)], "width": 2, "dash": dash},
        customdata=[f"{percentile:.6g}" for percentile, _ in latency.curve],
        hovertemplate=f"{safe(latency.operation)} {safe(latency.outcome)}: %{{customdata}} % within "
        "%{y:,} ms<extra></extra>",
    )


def _role(latency: Latency) -> str:
    return {"accepted": "accent", "throttled": "partition"}.get(latency.outcome, "error")


def _nines(percentile: float) -> float:
    """0 for the minimum, 1 for 90 %, 2 for 99 %: every nine is one step to the right."""
    return -math.log10(max(1 - percentile / 100, 1e-9))


def _latency_sentence(latency: Latency) -> str:
    at = dict(zip(TABLE_PERCENTILES, latency.table, strict=True))
    return (
        f"{latency.operation}, {latency.outcome} ({whole(latency.count)}): "
        f"half within {milliseconds(at[50.0])},"
        f" 99 % within {milliseconds(at[99.0])}, slowest {milliseconds(latency.max_ms)}."
    )


def generator_chart(run: Run, record: Record, chart_id: str) -> Chart | None:
    """Attempts per second as they were sent, by outcome, against what the scenario asked for."""
    if run.seconds is None or not len(run.seconds):
        return None
    limits = record.range()
    assert limits is not None
    start_s, end_s = limits
    step_s = width_for(end_s - start_s, MOST_POINTS)
    health = run.health
    made = figure(height=280)
    outcomes = _outcomes(run, start_s, end_s, step_s)
    for name, role, values in outcomes:
        made.add_trace(_stacked(name, role, values, start_s, step_s))
    made.update_layout(
        annotations=[heading("attempts per second", 1.0)],
        xaxis=times(start_s, end_s),
        yaxis=amounts(),
    )
    if health.asked_per_s:
        made.update_layout(shapes=[level(health.asked_per_s, "ink", "dash")])
        highest = float(np.sum([values for _, _, values in outcomes], axis=0).max())
        made.update_layout(yaxis_range=[0, max(highest, health.asked_per_s) * 1.12])
    return Chart(
        id=chart_id,
        title="What the load generator sent",
        summary=generator_summary(run, step_s),
        figure=made,
        legend=(
            *(
                Swatch(name=name, role=role, mark="area" if role == "accent" else "bar")
                for name, role, _ in outcomes
            ),
            *_asked_for(health),
        ),
    )


def _asked_for(health: GeneratorHealth) -> tuple[Swatch, ...]:
    if not health.asked_per_s:
        return ()
    return (Swatch(name=f"asked for: {rate(health.asked_per_s, 'requests')}", role="ink", mark="dash"),)


def generator_summary(run: Run, step_s: int = 1) -> str:
    """Whether the generator kept up, with what it measured of itself."""
    health = run.health
    said = [] if step_s == 1 else [f"Means of {span(step_s)}."]
    if health.asked_per_s and health.achieved_per_s is not None:
        said.append(
            f"Asked for {rate(health.asked_per_s, 'requests')}, achieved {measured(health.achieved_per_s)} "
            f"({percent(health.achieved_per_s / health.asked_per_s)})."
        )
    if health.cpu_percent_max is not None:
        said.append(f"Its busiest process used {measured(health.cpu_percent_max)} % of a core at most.")
    if health.loop_lag_ms_max is not None:
        said.append(f"Its loop was late by {milliseconds(health.loop_lag_ms_max)} at most.")
    if health.late_ms_p99 is not None:
        said.append(f"99 % of the requests left within {milliseconds(health.late_ms_p99)} of their time.")
    if run.totals.errors:
        kinds = ", ".join(
            f"{name} {whole(count)}" for name, count in sorted(run.totals.errors_by_kind.items())
        )
        said.append(f"{some(run.totals.errors, 'request')} failed for another reason ({kinds}).")
    return joined(said)


def _outcomes(run: Run, start_s: int, end_s: int, step_s: int) -> list[tuple[str, str, Floats]]:
    assert run.seconds is not None
    own = run.seconds.filter(run.seconds["index"].is_null())
    second = own["second"].cast("int64").to_numpy()
    found = []
    for name, role in (("accepted", "accent"), ("throttled", "partition"), ("errors", "error")):
        values = mean_rates(second, own[name].to_numpy(), start_s=start_s, end_s=end_s, width_s=step_s)
        if values.any():
            found.append((name, role, values))
    return found


def _stacked(name: str, role: str, values: Floats, start_s: int, step_s: int) -> go.Scatter:
    return go.Scatter(
        **steps(start_s, step_s),
        y=held(values),
        mode="lines",
        stackgroup="attempts",
        line={"color": LIGHT[role], "width": 1, "shape": "hv"},
        fillcolor=LIGHT["soft"] if role == "accent" else LIGHT[role],
        hovertemplate=f"%{{x}}<br>%{{y:,}} a second {name}<extra></extra>",
    )
