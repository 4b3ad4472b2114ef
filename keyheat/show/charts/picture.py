"""A run in small: what was consumed against its limits, and below it what was throttled, as SVG paths."""

import pandas as pd

from keyheat.show.answer import Mark, Picture
from keyheat.show.charts.rates import LIMITS, Rates

WIDTH, HEIGHT, BOTTOM, THROTTLED_HEIGHT = 320, 64, 96, 26


def picture_of(rates: Rates) -> Picture | None:
    """The picture of one resource; None if its consumption is unknown."""
    drawn = rates.within(WIDTH // 2)
    if not drawn.known("consumed"):
        return None
    limits = list(drawn.limits())
    top = 1.05 * max(map(drawn.most, ["consumed", *(name for name, _ in limits)])) or 1.0
    paths: list[tuple[Mark, str]] = [("area", _area(drawn.frame["consumed"], top, HEIGHT, HEIGHT))]
    paths += [(limit.mark, _line(drawn.frame[name], top)) for name, limit in limits]
    legend: list[tuple[Mark, str]] = [("area", "consumed")]
    legend += [(limit.mark, drawn.limit_words(name)) for name, limit in LIMITS.items() if drawn.known(name)]
    throttled = drawn.frame[drawn.constraints].sum(axis=1)
    if throttled.any():
        paths.append(("bar", _area(throttled, float(throttled.max()), THROTTLED_HEIGHT, BOTTOM)))
        legend.append(("bar", "throttled"))
    words = ", ".join(name for _, name in legend)
    return Picture(summary=f"{rates.resource.title}: {words}", paths=tuple(paths), legend=tuple(legend))


def _area(values: pd.Series, top: float, height: int, bottom: int) -> str:
    """A stepped area from the left bottom corner round to the right bottom corner."""
    width = WIDTH / len(values)
    heights = (bottom - height * (values.fillna(0) / top).clip(0, 1)).round(1)
    steps = (f"L{at * width:.1f} {y:g}L{(at + 1) * width:.1f} {y:g}" for at, y in enumerate(heights))
    return f"M0 {bottom}{''.join(steps)}L{WIDTH} {bottom}Z"


def _line(values: pd.Series, top: float) -> str:
    """A stepped line, a piece for each level; none where the limit is not known."""
    width = WIDTH / len(values)
    levels = values.reset_index(drop=True)
    pieces = levels.groupby((levels.diff() != 0).cumsum())
    spans = ((one.index[0] * width, (one.index[-1] + 1) * width, one.iloc[0]) for _, one in pieces)
    return "".join(
        f"M{start:.1f} {HEIGHT * (1 - value / top):.1f}H{end:.1f}"
        for start, end, value in spans
        if pd.notna(value)
    )
