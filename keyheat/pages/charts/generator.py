"""What the load generator sent against the demand, and what it says of itself."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from keyheat.analysis.report.bins import MOST_POINTS, Floats, joined_up, mean_rates, width_for
from keyheat.analysis.report.run import ReportRun
from keyheat.analysis.report.seconds import SecondsRecord, of_table
from keyheat.numbers import measured, milliseconds, percent, rate, some, span, whole
from keyheat.pages.charts.figures import (
    Chart,
    Swatch,
    amounts,
    area,
    compact,
    figure,
    heading,
    iso,
    joined,
    lay_out,
    level,
    steps,
    times,
)
from keyheat.pages.sheets import Sheet
from keyheat.pages.style import LIGHT
from keyheat.runs.manifest import GeneratorHealth, Manifest
from keyheat.scenario.scenario import ScenarioError, scenario_from_dict
from keyheat.scenario.shape import LoadShape
from keyheat.terms import DEMAND, P99, titled


def generator_chart(run: ReportRun, record: SecondsRecord, chart_id: str) -> Chart | None:
    """Attempts per second as they were sent, by outcome, against the demand of the scenario."""
    if run.seconds is None or not len(run.seconds):
        return None
    limits = record.range()
    assert limits is not None
    start_s, end_s = limits
    step_s = width_for(end_s - start_s, MOST_POINTS)
    health = run.health
    made = figure(height=280)
    outcomes = _outcomes(run, start_s, end_s)
    for name, role, values in outcomes:
        made.add_trace(_stacked(name, role, joined_up(values, step_s), start_s, step_s))
    lay_out(
        made,
        annotations=[heading("attempts per second", 1.0)],
        xaxis=times(start_s, end_s),
        yaxis=amounts(),
    )
    if asked_per_s := _draw_asked(made, run):
        highest = float(np.sum([values for _, _, values in outcomes], axis=0).max())
        lay_out(made, yaxis_range=[0, max(highest, asked_per_s) * 1.12])
    return Chart(
        id=chart_id,
        title="What was sent, on a virtual clock" if run.simulated else "What the load generator sent",
        summary=generator_summary(run, step_s),
        figure=made,
        legend=(
            *(
                Swatch(name=name, role=role, mark="area" if role == "accent" else "bar")
                for name, role, _ in outcomes
            ),
            *_demand(health),
        ),
        sheet=Sheet(
            name="generator",
            columns={f"{name}_requests_per_s": values for name, _, values in outcomes},
            start_s=float(start_s),
            step_s=1.0,
            end_s=float(end_s),
        ),
    )


def _draw_asked(made: go.Figure, run: ReportRun) -> float:
    """Draw the demand, where it is in requests; gives its highest value, else 0."""
    health, shape = run.health, _shape(run)
    if not health.asked_per_s or health.target_unit != "requests":
        return 0.0
    if shape is None or run.manifest is None:
        lay_out(made, shapes=[level(health.asked_per_s, "ink", "dash")])
        return health.asked_per_s
    started_s = run.manifest.started_at.timestamp()
    corners = [
        corner
        for piece in shape.pieces
        for corner in ((piece.start_s, piece.from_per_s), (piece.end_s, piece.to_per_s))
    ]
    made.add_trace(
        go.Scatter(
            x=[iso(started_s + at_s) for at_s, _ in corners],
            y=compact([per_s for _, per_s in corners]),
            mode="lines",
            line={"color": LIGHT["ink"], "width": 1.5, "dash": "dash"},
            hovertemplate="%{x}<br>%{y:,} a second of demand<extra></extra>",
        )
    )
    return shape.highest_per_s


def _shape(run: ReportRun) -> LoadShape | None:
    """The shape of the load; None where it had none, or where it is not known."""
    try:
        scenario = scenario_from_dict(dict((run.manifest and run.manifest.scenario) or {}), "run.json")
    except ScenarioError:
        return None
    return scenario.load.rate_shape() if scenario.load.shape is not None else None


def _demand(health: GeneratorHealth) -> tuple[Swatch, ...]:
    if not health.asked_per_s or health.target_unit != "requests":
        return ()
    return (Swatch(name=f"{DEMAND}: {rate(health.asked_per_s, 'requests')}", role="ink", mark="dash"),)


def generator_summary(run: ReportRun, step_s: int = 1) -> str:
    """Whether the generator kept up, with what it measured of itself."""
    health = run.health
    said = [] if step_s == 1 else [f"Means of {span(step_s)}."]
    if health.asked_per_s and health.achieved_per_s is not None:
        asked = rate(health.asked_per_s, health.target_unit)
        sent = f"{measured(health.achieved_per_s)} ({percent(health.achieved_per_s / health.asked_per_s)})"
        said.append(f"{titled(DEMAND)} {asked}, sent {sent}{_held_back(health)}.")
    if health.cpu_percent_max is not None:
        said.append(f"Its busiest process used {measured(health.cpu_percent_max)} % of a core at most.")
    if health.loop_lag_ms_max is not None:
        said.append(f"Its loop was late by {milliseconds(health.loop_lag_ms_max)} at most.")
    if health.late_ms_p99 is not None:
        said.append(f"Requests left {milliseconds(health.late_ms_p99)} late ({P99}).")
    said += _counted(run.manifest.counted if run.manifest else {})
    if run.manifest is not None:
        said += _retried(run.manifest)
    if run.totals.errors:
        kinds = ", ".join(
            f"{name} {whole(count)}" for name, count in sorted(run.totals.errors_by_kind.items())
        )
        said.append(f"{some(run.totals.errors, 'request')} failed for another reason ({kinds}).")
    return joined(said)


def _held_back(health: GeneratorHealth) -> str:
    """What an adaptive client kept of the demand."""
    if not health.held_back_per_s:
        return ""
    return f"; {measured(health.held_back_per_s)} held back by the client's own rate until the load ended"


def _counted(counted: Mapping[str, float]) -> list[str]:
    """Arrivals of an open loop that did not start in time."""
    said = []
    if "arrivals.late" in counted:
        late, dropped = int(counted["arrivals.late"]), int(counted.get("arrivals.dropped", 0))
        said.append(
            f"{some(late, 'arrival')} started more than 10 ms late; "
            f"{some(dropped, 'arrival')} could not start within a second, and "
            f"{'was' if dropped == 1 else 'were'} dropped."
        )
    return said


def _retried(manifest: Manifest) -> list[str]:
    """What retries took, and what they did not save."""
    cost = manifest.retry_cost
    if cost is None:
        return []
    said = [f"{measured(cost.amplification)} attempts for each of {some(cost.requests, 'request')}"]
    if cost.again:
        said.append(f"{some(cost.again, 'retry', 'retries')} after pauses of {span(cost.backoff_s)} in all")
    if cost.held_s:
        each = milliseconds(cost.held_each_s * 1000)
        said.append(f"requests held back for {span(cost.held_s)} in all, {each} each on average")
    if cost.waiting:
        said.append(f"{whole(cost.waiting)} still waiting when the load ended")
    share = f"{some(cost.given_up, 'request')} ({percent(cost.given_up_share)})" if cost.given_up else "none"
    return [f"What retries cost: {', '.join(said)}; {share} given up."]


def _outcomes(run: ReportRun, start_s: int, end_s: int) -> list[tuple[str, str, Floats]]:
    assert run.seconds is not None
    own = of_table(run.seconds)
    second = np.asarray(own["second"].astype("int64"), np.int64)
    found = []
    for name, role in (("accepted", "accent"), ("throttled", "throttled"), ("errors", "error")):
        values = mean_rates(second, own[name].to_numpy(np.float64), start_s=start_s, end_s=end_s, width_s=1)
        if values.any():
            found.append((name, role, values))
    return found


def _stacked(name: str, role: str, values: Floats, start_s: int, step_s: int) -> go.Scatter:
    return area(
        values,
        LIGHT[role],
        LIGHT["soft"] if role == "accent" else LIGHT[role],
        f"%{{x}}<br>%{{y:,}} a second {name}",
        **steps(start_s, step_s),
        stackgroup="attempts",
    )
