"""A run as one small picture: what was consumed against its limits, and below it what was throttled."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from keyheat.analysis.report.bins import Floats
from keyheat.analysis.report.facts import Facts
from keyheat.analysis.report.rates import RateTimeline, by_minute, by_second
from keyheat.analysis.report.run import ReportRun
from keyheat.analysis.report.seconds import SecondsRecord
from keyheat.numbers import UNITS, whole
from keyheat.pages.charts.figures import Mark, Swatch

WIDTH, HEIGHT, BOTTOM, THROTTLED_HEIGHT = 320, 64, 96, 26
FAR_ABOVE: Final = 8
"""A limit so many times the highest consumption would flatten the picture: it is named, not drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureLine:
    """SVG path data, drawn as the mark of its legend."""

    mark: Mark
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPicture:
    """Consumption with its limits above throttles, and the legend of them."""

    lines: tuple[PictureLine, ...]
    legend: tuple[Swatch, ...]
    said: str


def picture_of(run: ReportRun, record: SecondsRecord, facts: Facts) -> RunPicture | None:
    """The picture of the verdict's resource; None where nothing is known of its consumption."""
    timeline = by_second(run, record, facts.resource, most=WIDTH // 2) or by_minute(run, facts.resource)
    if timeline is None or timeline.consumed is None or not np.isfinite(timeline.consumed).any():
        return None
    peak = float(np.nanmax(timeline.consumed))
    limits = list(_limits(run, facts, timeline))
    drawn = [one for one in limits if float(np.nanmax(one[1])) <= FAR_ABOVE * peak]
    top = max([peak, *(float(np.nanmax(values)) for _, values in drawn)]) * 1.05 or 1.0
    lines = [PictureLine(mark="area", path=_area(timeline.consumed, top, HEIGHT, HEIGHT))]
    lines += [PictureLine(mark=one.mark, path=_line(values, top)) for one, values in drawn]
    legend = [Swatch(name="consumed", role="accent", mark="area"), *(one for one, _ in limits)]
    throttled = timeline.all_throttled()
    if throttled.any():
        path = _area(throttled, float(throttled.max()), THROTTLED_HEIGHT, BOTTOM)
        lines.append(PictureLine(mark="bar", path=path))
        role = run.diagnosis.verdict.constraint
        legend.append(Swatch(name="throttled", role="throttled" if role == "none" else role, mark="bar"))
    said = ", ".join(one.name for one in legend)
    return RunPicture(lines=tuple(lines), legend=tuple(legend), said=f"{facts.resource.title}: {said}")


def _limits(run: ReportRun, facts: Facts, timeline: RateTimeline) -> Iterator[tuple[Swatch, Floats]]:
    """What is provisioned, else the on-demand maximum; for a partition's verdict its ceiling, too."""
    unit = UNITS[facts.resource.direction]
    everywhere = np.ones(timeline.points)
    if timeline.provisioned is not None:
        low, high = np.nanmin(timeline.provisioned), np.nanmax(timeline.provisioned)
        amount = whole(low) if low == high else f"{whole(low)} to {whole(high)}"
        swatch = Swatch(name=f"provisioned: {amount} {unit}/s", role="ink", mark="dash")
        yield swatch, timeline.provisioned
    elif facts.max_on_demand_per_s:
        name = f"on-demand maximum: {whole(facts.max_on_demand_per_s)} {unit}/s"
        yield Swatch(name=name, role="ink", mark="dash"), everywhere * facts.max_on_demand_per_s
    if run.diagnosis.verdict.constraint == "partition":
        name = f"one partition admits: {whole(facts.ceiling_per_s)} {unit}/s"
        yield Swatch(name=name, role="ceiling", mark="dot"), everywhere * facts.ceiling_per_s


def _area(values: Floats, top: float, height: int, bottom: int) -> str:
    """A stepped area from the left bottom corner round to the right bottom corner."""
    width = WIDTH / len(values)
    heights = np.round(bottom - height * np.clip(np.nan_to_num(values) / top, 0, 1), 1)
    steps = [
        f"L{place * width:.1f} {at:g}L{(place + 1) * width:.1f} {at:g}"
        for place, at in enumerate(heights.tolist())
    ]
    return f"M0 {bottom}{''.join(steps)}L{WIDTH} {bottom}Z"


def _line(values: Floats, top: float) -> str:
    """A stepped line, a piece for each level; none where the limit is not known."""
    width = WIDTH / len(values)
    starts = np.flatnonzero(np.diff(values, prepend=np.nan) != 0)
    ends = [*starts[1:], len(values)]
    return "".join(
        f"M{start * width:.1f} {HEIGHT * (1 - values[start] / top):.1f}H{end * width:.1f}"
        for start, end in zip(starts, ends, strict=True)
        if np.isfinite(values[start])
    )
