"""The same small chart for several runs, on the same axes: accepted and throttled requests per second."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import pyarrow as pa

from keyheat.numbers import measured, percent, some
from keyheat.pages.charts.figures import Chart, Swatch, amounts, figure, heading, held
from keyheat.pages.run.downsample import Floats, mean_rates, width_for
from keyheat.pages.series.columns import Column
from keyheat.pages.style import LIGHT

MOST_BINS = 240
LEGEND = (
    Swatch(name="accepted", role="accent", mark="area"),
    Swatch(name="throttled", role="partition", mark="bar"),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rates:
    """Requests per second of one run, in equal steps from its first second on."""

    step_s: int
    accepted: Floats
    throttled: Floats

    @property
    def length_s(self) -> int:
        return self.step_s * len(self.accepted)

    @property
    def highest(self) -> float:
        return float((self.accepted + self.throttled).max())


def multiples(columns: Sequence[Column]) -> tuple[Chart | None, ...]:
    """One chart for each run, None where its seconds are not there; all have the same axes."""
    longest_s = max((_length_s(_table_rows(column)) for column in columns), default=0)
    found = rates_of(columns)
    top = max((one.highest for one in found if one is not None), default=0.0)
    return tuple(
        None if one is None else _chart(column, one, f"chart-run-{place}", longest_s, top)
        for place, (column, one) in enumerate(zip(columns, found, strict=True))
    )


def rates_of(columns: Sequence[Column]) -> list[Rates | None]:
    """The rates of each run in steps of the same length, None where its seconds are not there."""
    rows = [_table_rows(column) for column in columns]
    step_s = width_for(max(1, *map(_length_s, rows), 1), MOST_BINS)
    return [_rates(one, step_s) for one in rows]


def _table_rows(column: Column) -> pa.Table | None:
    """The attempts on the table itself: those of an index are among them already."""
    seconds = column.run.seconds if column.run else None
    if seconds is None or not len(seconds):
        return None
    own = seconds.filter(seconds["index"].is_null())
    return own if len(own) else None


def _length_s(rows: pa.Table | None) -> int:
    if rows is None:
        return 0
    second = rows["second"].cast("int64").to_numpy()
    return int(second.max() - second.min()) + 1


def _rates(rows: pa.Table | None, step_s: int) -> Rates | None:
    if rows is None:
        return None
    second = rows["second"].cast("int64").to_numpy()
    start_s, end_s = int(second.min()), int(second.max()) + 1
    accepted, throttled = (
        mean_rates(second, rows[name].to_numpy(), start_s=start_s, end_s=end_s, width_s=step_s)
        for name in ("accepted", "throttled")
    )
    return Rates(step_s=step_s, accepted=accepted, throttled=throttled)


def _chart(column: Column, rates: Rates, chart_id: str, longest_s: int, top: float) -> Chart:
    made = figure(height=190)
    made.add_trace(_area("accepted", rates.accepted, rates.step_s, LIGHT["accent"], LIGHT["soft"]))
    if rates.throttled.any():
        made.add_trace(
            _area("throttled", rates.throttled, rates.step_s, LIGHT["partition"], LIGHT["partition"])
        )
    made.update_layout(
        annotations=[heading("requests per second", 1.0)],
        xaxis=amounts(range=[0, longest_s], ticksuffix=" s", gridcolor="rgba(0,0,0,0)", nticks=5),
        yaxis=amounts(range=[0, top * 1.06 or 1.0], nticks=4),
    )
    return Chart(id=chart_id, title=column.label, summary=_said(rates), figure=made)


def _area(name: str, values: Floats, step_s: int, line: str, fill: str) -> go.Scatter:
    return go.Scatter(
        x=[place * step_s for place in range(len(values) + 1)],
        y=held(values),
        mode="lines",
        stackgroup="requests",
        line={"color": line, "width": 1, "shape": "hv"},
        fillcolor=fill,
        hovertemplate=f"after %{{x}}: %{{y:,}} a second {name}<extra></extra>",
    )


def _said(rates: Rates) -> str:
    total = float(np.sum(rates.accepted + rates.throttled)) * rates.step_s
    refused = float(np.sum(rates.throttled)) * rates.step_s
    said = f"{measured(float(np.mean(rates.accepted)))} requests/s accepted on average"
    if not refused:
        return f"{said}, none throttled."
    return f"{said}; {some(round(refused), 'request')} throttled ({percent(refused / total)})."
