"""The client's measurements: requests sent against the demand, its own health, and latencies."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pandas as pd
from hdrh.histogram import HdrHistogram

from keyheat.analysis.report import ReportRun
from keyheat.numbers import measured, milliseconds, percent, rate, some, span, whole
from keyheat.runfiles import US_PER_MS
from keyheat.runs.frames import latency_of
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
    """Attempts by outcome and second; None without seconds. Rows of indexes repeat the table's."""
    limits = run.record.range()
    if run.seconds is None or run.seconds.empty or limits is None:
        return None
    rows = run.seconds[run.seconds["resource"] == TABLE]
    sums = rows.groupby(rows["second"].astype("int64"))[list(OUTCOMES)].sum().astype("float64")
    return sums.reindex(range(*limits), fill_value=0.0)


def generator_figure(run: ReportRun) -> Figure | None:
    """Attempts per second by outcome, against the scenario's demand."""
    finest = sent_per_s(run)
    if finest is None:
        return None
    step_s = width_for(len(finest), MOST_POINTS)
    sent, chart = coarser(finest, step_s), figure(300, ["attempts per second"])
    start_s, end_s = int(finest.index[0]), int(finest.index[-1]) + 1
    for name, role in OUTCOMES.items():
        if sent[name].any():
            chart.add_scatter(
                **stepped(sent[name], step_s), name=name, stackgroup="attempts",
                line={"color": LIGHT[role], "width": 1},
                fillcolor=LIGHT["soft" if role == "accent" else role],
                hovertemplate=f"%{{x}}<br>%{{y:,}} a second {name}<extra></extra>",
            )  # fmt: skip
    health = run.health
    if health.asked_per_s and health.target_unit == "requests":
        shape, began_s = _shape(run), run.manifest.started_at.timestamp() if run.manifest else 0.0
        rates = [shape.rate(second - began_s) if shape else health.asked_per_s for second in sent.index]
        chart.add_scatter(
            **stepped(pd.Series(rates, sent.index), step_s), hoverinfo="skip",
            name=f"{DEMAND}: {rate(health.asked_per_s, 'requests')}",
            line={"color": LIGHT["ink"], "dash": "dash", "width": 1.5},
        )  # fmt: skip
    chart.update_xaxes(time_axis(start_s, end_s), overwrite=True)
    title = "What was sent, on a virtual clock" if run.simulated else "What the load generator sent"
    return Figure(title=title, summary=generator_words(run, step_s), figure=chart)


def _shape(run: ReportRun) -> LoadShape | None:
    """The shape of the load; None if it is constant or unknown."""
    try:
        scenario = scenario_from_dict(dict((run.manifest and run.manifest.scenario) or {}), "run.json")
    except ScenarioError:
        return None
    return scenario.load.rate_shape() if scenario.load.shape is not None else None


def generator_words(run: ReportRun, step_s: int = 1) -> str:
    """Whether the generator kept up, with what it measured of itself."""
    return " ".join(_sentences(run, step_s))


def _sentences(run: ReportRun, step_s: int) -> Iterator[str]:
    health, counted = run.health, run.manifest.counted if run.manifest else {}
    if step_s > 1:
        yield f"Means of {span(step_s)}."
    if health.asked_per_s and health.achieved_per_s is not None:
        sent = f"{measured(health.achieved_per_s)} ({percent(health.achieved_per_s / health.asked_per_s)})"
        kept = f"; {measured(health.held_back_per_s)} held back by the client's own rate until the load ended"
        target = rate(health.asked_per_s, health.target_unit)
        yield f"{titled(DEMAND)} {target}, sent {sent}{kept if health.held_back_per_s else ''}."
    if health.cpu_percent_max is not None:
        yield f"Its busiest process used {measured(health.cpu_percent_max)} % of a core at most."
    if health.loop_lag_ms_max is not None:
        yield f"Its loop was late by {milliseconds(health.loop_lag_ms_max)} at most."
    if health.late_ms_p99 is not None:
        yield f"Requests left {milliseconds(health.late_ms_p99)} late ({P99})."
    if "arrivals.late" in counted:
        late, dropped = (int(counted.get(f"arrivals.{name}", 0)) for name in ("late", "dropped"))
        was = "was" if dropped == 1 else "were"
        yield (
            f"{some(late, 'arrival')} started more than 10 ms late; "
            f"{some(dropped, 'arrival')} could not start within a second, and {was} dropped."
        )
    if run.totals.errors:
        by_kind = sorted(run.totals.errors_by_kind.items())
        kinds = ", ".join(f"{name} {whole(count)}" for name, count in by_kind)
        yield f"{some(run.totals.errors, 'request')} failed for another reason ({kinds})."


DASHES: Final = ("solid", "dash", "dot")
RESPONSE: Final = "response"
ROLES: Final = {"accepted": "accent", "throttled": "throttled", "error": "error", RESPONSE: "ink"}
"""What is drawn: the service time of an attempt by its outcome, and a request's response time."""
IN_WORDS: Final = {RESPONSE: RESPONSE_TIME, "backoff": "back-off", "logical": "as a whole"}
NINES: Final = (0.0, 50.0, 90.0, 99.0, 99.9, 99.99, 99.999, 99.9999)
POINTS_PER_NINE: Final = 20


def latency_figure(histograms: Mapping[str, HdrHistogram]) -> Figure | None:
    """Service time and response time at every percentile; each nine has the same width."""
    drawn = [
        (*tag.split("."), recorded) for tag, recorded in histograms.items() if tag.partition(".")[2] in ROLES
    ]
    if not drawn:
        return None
    chart = figure(350, ["milliseconds"])
    operations, furthest = sorted({operation for operation, _, _ in drawn}), 0.0
    for operation, outcome, histogram in drawn:
        name = f"{safe(operation)}, {IN_WORDS.get(outcome, outcome)}"
        at = curve(histogram)
        furthest = max(furthest, *at)
        dash = DASHES[operations.index(operation) % len(DASHES)]
        chart.add_scatter(
            x=compact(map(_nines, at)), y=compact(at.values()), mode="lines", name=name,
            line={"color": LIGHT[ROLES[outcome]], "width": 2, "dash": dash},
            customdata=[f"{percentile:.6g}" for percentile in at],
            hovertemplate=f"{name}: p%{{customdata}} %{{y:,}} ms<extra></extra>",
        )  # fmt: skip
    nines = [nine for nine in NINES if nine <= furthest + 1e-9]
    chart.update_xaxes(
        tickvals=list(map(_nines, nines)), ticktext=["min", *(f"p{nine:g}" for nine in nines[1:])],
        hoverformat=None, overwrite=True)  # fmt: skip
    chart.update_yaxes(type="log", rangemode="normal", tickformat=",~r", dtick="D2", nticks=0, overwrite=True)
    rows = tuple(map(_latency_row, latency_of(histograms).itertuples()))
    title = "Service time of one attempt, by its outcome"
    if any(outcome == RESPONSE for _, outcome, _ in drawn):
        title += f"; {RESPONSE_TIME} of a request, with queueing and retries"
    words = (
        f"{row['operation']}, {row['outcome']} ({row['requests']}): {P50} {row['p50']}, {P99} {row['p99']}, "
        f"max {row['max']}."
        for row in rows
    )
    return Figure(
        title="Latency by percentile", summary=" ".join(words), figure=chart,
        table=Table(title=title, rows=rows, folded=True),
    )  # fmt: skip


def curve(histogram: HdrHistogram) -> dict[float, float]:
    """Milliseconds by percentile, evenly spaced in nines, no further than the one slowest request."""
    count = max(histogram.get_total_count(), 10)
    steps = range(math.floor(math.log10(count) * POINTS_PER_NINE) + 1)
    at_us = histogram.get_percentile_to_value_dict(
        [100 * (1 - 10 ** (-step / POINTS_PER_NINE)) for step in steps]
    )
    at_us[100 * (1 - 1 / count)] = histogram.get_max_value()
    return {percentile: value_us / US_PER_MS for percentile, value_us in at_us.items()}


def _nines(percentile: float) -> float:
    """0 for the minimum, 1 for 90 %, 2 for 99 %: every nine is one step to the right."""
    return -math.log10(max(1 - percentile / 100, 1e-9))


def _latency_row(row: Any) -> dict[str, str]:
    columns = {"p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p999", "max": "max"}
    words = {"operation": row.operation, "outcome": IN_WORDS.get(row.outcome, row.outcome)}
    times = {name: milliseconds(getattr(row, f"{column}_ms")) for name, column in columns.items()}
    return {**words, "requests": whole(row.count), **times}
