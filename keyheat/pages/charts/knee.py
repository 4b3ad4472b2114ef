"""The charts of a knee: what was accepted and what was throttled, against the demand."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from keyheat.analysis.knee import Knee, KneeStep
from keyheat.numbers import measured, percent
from keyheat.pages.charts.figures import Chart, Swatch, amounts, compact, figure, heading, lay_out
from keyheat.pages.style import LIGHT
from keyheat.terms import DEMAND

HEIGHT = 270


def accepted_chart(knee: Knee, unit: str) -> Chart:
    """Accepted units per second: where they stop rising, the table carries no more."""
    steps = _once_each(knee)
    made = _figure(knee, steps, unit, "units per second")
    sides = [
        (name, role, values)
        for name, role, values in (
            ("write units", "accent", [step.write_units_per_s for step in steps]),
            ("read units", "good", [step.read_units_per_s for step in steps]),
        )
        if any(values)
    ]
    for name, role, values in sides:
        made.add_trace(_line(steps, values, role, name, [f"{measured(value)}/s" for value in values]))
    told = "; ".join(f"at most {measured(max(values))} {name}/s" for name, _role, values in sides)
    return Chart(
        id="chart-accepted",
        title="Accepted",
        summary=f"{told or 'Nothing'} accepted.".capitalize(),
        figure=made,
        legend=(*(Swatch(name=name, role=role, mark="line") for name, role, _ in sides), *_band(knee)),
    )


def throttled_chart(knee: Knee, unit: str) -> Chart:
    """The throttled share of the attempts: from where it rises, the demand is not carried."""
    steps = _once_each(knee)
    shares = [step.throttled_share for step in steps]
    made = _figure(knee, steps, unit, "% of the attempts")
    said = [percent(share) if share else "none" for share in shares]
    made.add_trace(_line(steps, [share * 100 for share in shares], "throttled", "throttled", said))
    worst = max(shares, default=0.0)
    return Chart(
        id="chart-throttled",
        title="Throttled",
        summary=f"At most {percent(worst)} of the attempts." if worst else "Nothing was throttled.",
        figure=made,
        legend=(Swatch(name="throttled", role="throttled", mark="line"), *_band(knee)),
    )


def _once_each(knee: Knee) -> list[KneeStep]:
    """Of each demand the step that says most: one that is not carried before one that is."""
    found: dict[float, KneeStep] = {}
    for step in knee.in_order:
        known = found.get(step.demand_per_s)
        if known is None or known.throttled_share < step.throttled_share:
            found[step.demand_per_s] = step
    return list(found.values())


def _figure(knee: Knee, steps: Sequence[KneeStep], unit: str, counted: str) -> go.Figure:
    """An empty chart with the demand from left to right, in equal ratios, and the knee as a band."""
    made = figure(height=HEIGHT)
    demands = [step.demand_per_s for step in steps]
    lay_out(
        made, annotations=[heading(counted, 1.0)],
        xaxis=amounts(
            type="log", rangemode="normal", gridcolor="rgba(0,0,0,0)", ticklabelstandoff=8,
            tickmode="array", tickvals=ticks(demands), ticktext=[f"{tick:,g}" for tick in ticks(demands)],
            title={"text": f"{DEMAND}, {unit} per second", "font": {"size": 11}},
        ),
        yaxis=amounts(),
        shapes=_knee_shape(knee),
    )  # fmt: skip
    return made


def ticks(demands: Sequence[float]) -> list[float]:
    """1, 1.5, 2, 3, 5, 7, 10 ... within the demands; few enough for a narrow page."""
    least, most = min(demands), max(demands)
    found = [
        factor * 10.0**power
        for power in range(-4, 9)
        for factor in (1, 1.5, 2, 3, 5, 7)
        if least <= factor * 10.0**power <= most
    ]
    return found if len(found) <= 7 else found[:: -(-len(found) // 7)]


def _knee_shape(knee: Knee) -> list[dict[str, Any]]:
    """From what is carried to what is not."""
    if knee.carried is None or knee.limited is None:
        return []
    return [
        {
            "type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "layer": "below",
            "x0": knee.carried.demand_per_s, "x1": knee.limited.demand_per_s,
            "fillcolor": LIGHT["ceiling"], "opacity": 0.3, "line": {"width": 0},
        }
    ]  # fmt: skip


def _band(knee: Knee) -> tuple[Swatch, ...]:
    return (Swatch(name="the knee", role="ceiling", mark="bar"),) if _knee_shape(knee) else ()


def _line(
    steps: Sequence[KneeStep], values: Sequence[float], role: str, name: str, said: Sequence[str]
) -> go.Scatter:
    """Points of steps that were not carried are hollow."""
    return go.Scatter(
        x=[step.demand_per_s for step in steps],
        y=compact(list(values)),
        mode="lines+markers",
        cliponaxis=False,
        line={"color": LIGHT[role], "width": 2},
        marker={
            "size": 8,
            "color": [LIGHT[role] if step.state == "carried" else LIGHT["card"] for step in steps],
            "line": {"color": LIGHT[role], "width": 2},
        },
        customdata=list(said),
        hovertemplate=f"{DEMAND} %{{x:,}}: %{{customdata}} {name}<extra></extra>",
    )
