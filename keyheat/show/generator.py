"""What the client measured: requests sent against the demand, latencies, what it counted, what failed."""

import math
from collections.abc import Iterator, Mapping
from typing import Final

import pandas as pd
import plotly.graph_objects as go
from hdrh.histogram import HdrHistogram

from keyheat.analysis.checks import WRONG
from keyheat.analysis.report import ReportRun
from keyheat.numbers import measured, milliseconds, percent, rate, some, span, whole
from keyheat.runfiles import US_PER_MS
from keyheat.runs.frames import latency_of
from keyheat.scenario.scenario import ScenarioError, scenario_from_dict
from keyheat.scenario.shape import LoadShape
from keyheat.show.answer import Figure, Section, Table
from keyheat.show.charts import (
    LIGHT,
    MOST_POINTS,
    coarser,
    compact,
    figure,
    rows_of,
    safe,
    stepped,
    time_axis,
    width_for,
)
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
    sent, traces = coarser(finest, step_s), []
    start_s, end_s = int(finest.index[0]), int(finest.index[-1]) + 1
    for name, role in OUTCOMES.items():
        if sent[name].any():
            area = go.Scatter(
                **stepped(sent[name], step_s), name=name, stackgroup="attempts",
                line={"color": LIGHT[role], "width": 1},
                fillcolor=LIGHT["soft" if role == "accent" else role],
                hovertemplate=f"%{{x}}<br>%{{y:,}} a second {name}<extra></extra>",
            )  # fmt: skip
            traces.append(area)
    health = run.health
    if health.asked_per_s and health.target_unit == "requests":
        shape, began_s = _shape(run), run.manifest.started_at.timestamp() if run.manifest else 0.0
        rates = [shape.rate(second - began_s) if shape else health.asked_per_s for second in sent.index]
        demand = go.Scatter(
            **stepped(pd.Series(rates, sent.index), step_s), hoverinfo="skip",
            name=f"{DEMAND}: {rate(health.asked_per_s, 'requests')}",
            line={"color": LIGHT["ink"], "dash": "dash", "width": 1.5},
        )  # fmt: skip
        traces.append(demand)
    chart = figure(traces, 300, "attempts per second", xaxis=time_axis(start_s, end_s))
    title = "What the load generator sent"
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
    operations, furthest, traces = sorted({operation for operation, _, _ in drawn}), 0.0, []
    for operation, outcome, histogram in drawn:
        name = f"{safe(operation)}, {IN_WORDS.get(outcome, outcome)}"
        at = curve(histogram)
        furthest = max(furthest, *at)
        dash = DASHES[operations.index(operation) % len(DASHES)]
        line = go.Scatter(
            x=compact(map(_nines, at)), y=compact(at.values()), mode="lines", name=name,
            line={"color": LIGHT[ROLES[outcome]], "width": 2, "dash": dash},
            customdata=[f"{percentile:.6g}" for percentile in at],
            hovertemplate=f"{name}: p%{{customdata}} %{{y:,}} ms<extra></extra>",
        )  # fmt: skip
        traces.append(line)
    nines = [nine for nine in NINES if nine <= furthest + 1e-9]
    chart = figure(
        traces, 350, "milliseconds",
        xaxis={"tickvals": list(map(_nines, nines)),
               "ticktext": ["min", *(f"p{nine:g}" for nine in nines[1:])]},
        yaxis={"type": "log", "rangemode": "normal", "tickformat": ",~r", "dtick": "D2", "nticks": 0},
    )  # fmt: skip
    columns = {"p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99", "p99.9": "p999", "max": "max"}
    rows = tuple(
        {
            "operation": row.operation, "outcome": IN_WORDS.get(row.outcome, row.outcome),
            "requests": whole(row.count),
            **{name: milliseconds(getattr(row, f"{column}_ms")) for name, column in columns.items()},
        }
        for row in rows_of(latency_of(histograms))
    )  # fmt: skip
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


ELSEWHERE: Final = ("arrivals", "retries")  # groups that the section on the load generator shows
WORDS: Final[Mapping[str, str]] = {
    "reads.required": "items that had to be in the answers",
    "reads.missing": "items written and not found",
    "reads.unchecked": "not checked: a part was throttled",
    "cache.stale": "answers older than the last write",
    "totals.incomplete_reports": "reports that lack a throttled part",
    "shards.ended_with": "shards of the most sharded key, at the end",
    "shards.cooling": "throttles within the cooldown, only retried",
    "shards.backing_off": "throttles after which another writer went first",
    "shards.at_most": "throttles of a key with the most shards allowed",
    "shards.confirmed": "shards that a write brought back into use",
}
"""Counted names that do not speak for themselves."""


def counts_of(counted: Mapping[str, float]) -> Section | None:
    """Whether the reads were right, then all numbers; None if nothing was counted."""
    rows = tuple(
        {
            "of": group, "what": WORDS.get(name) or what.replace("_", " ").replace(".", ": "),
            "number": _number_words(name, counted[name]),
        }
        for name in sorted(counted)
        for group, _dot, what in [name.partition(".")]
        if group not in ELSEWHERE
    )  # fmt: skip
    if not rows:
        return None
    checked, reads = round(counted.get("reads.checked", 0.0)), wrong_reads(counted)
    returned = f"{some(checked, 'checked read')} should have returned"
    wrong = (f"Wrong reads: of the items that {returned}, {reads}.",) if reads else ()
    right = (
        f"{some(checked, 'read')} checked against what was written: nothing missing, nothing twice, "
        "all in order."
    )
    return Section(
        id="counted", title="What the load test counted", short="Counted", page_only=True,
        wrong=wrong, lines=(right,) if checked and not reads else (),
        tables=(Table(title="Counts", rows=rows),),
    )  # fmt: skip


def _number_words(name: str, number: float) -> str:
    """A counted number with its unit; whole and large ones in every digit."""
    reads = name.endswith("read_units") or name.startswith(("reads.", "cache."))
    unit = "WCU" if name.endswith("write_units") else "RCU" if reads else "units"
    text = whole(number) if number == round(number) or number >= 1_000 else measured(number)
    return f"{text} {unit}" if "units" in name else text


def wrong_reads(counted: Mapping[str, float]) -> str:
    """The checked reads that were wrong: `3 items were not found`; empty if none was."""
    rows = (
        f"{number:,} {single if number == 1 else several}"
        for name, (single, several) in WRONG.items()
        if (number := round(counted.get(name, 0.0)))
    )
    return ", ".join(rows)


MEANINGS: Final[Mapping[str, str]] = {
    "name_lookup": "the host has no address",
    "connection_refused": "no process listened at the address",
    "connection_failed": "no connection for another reason, such as no route",
    "tls": "the certificate is not trusted, or is not that host's",
    "timeout": "no connection, or no further byte of the answer, in time",
    "connection_reset": "the connection ended before an answer came: a write may or may not have been done",
    "cut_off": "the connection ended within the answer: the request was handled",
    "crc32_mismatch": "the answer was damaged on its way: the request was handled",
    "bad_http": "what came back is not HTTP",
    "not_an_answer": "HTTP 200, but not DynamoDB's answer: does a proxy or a login page stand between?",
    "no_units": "HTTP 200 without consumed capacity, or with 0 units for a write",
    "credentials": "expired credentials could not be refreshed, so nothing was sent",
    "still_in_flight_at_stop": "not answered when the load was stopped",
    "ExpiredTokenException": "the session's credentials had expired",
    "UnrecognizedClientException": "the access key is not known there",
    "InvalidSignatureException": "wrong secret key, clock, or region of the endpoint",
    "InternalServerError": "DynamoDB failed inside",
    "ResourceNotFoundException": "the table was not there",
}
"""What each kind means; a kind without words is an error code of the service."""


def failure_table(run: ReportRun) -> Table | None:
    """Failures by kind with count and share of all attempts, most frequent first; None without any."""
    kinds, attempts = run.totals.errors_by_kind, run.totals.attempts
    rows = tuple(
        {
            "kind": kind[:80], "requests": whole(count),
            "of all": percent(count / attempts) if attempts else "", "meaning": MEANINGS.get(kind, ""),
        }
        for kind, count in sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    )  # fmt: skip
    title = "Requests that failed for another reason than a throttle"
    return Table(title=title, rows=rows) if rows else None
