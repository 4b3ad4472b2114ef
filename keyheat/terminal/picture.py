"""The load of a plan over time, drawn in characters."""

import plotext  # type: ignore[import-untyped]

from keyheat.numbers import measured, span
from keyheat.plan.forecast import Forecast

WIDTH, HEIGHT = 76, 11
HALVES = 2  # a character of the picture is two points wide


def picture(made: Forecast, width: int = WIDTH, height: int = HEIGHT) -> str:
    """The rate over time, drawn in characters, without colours."""
    top = made.target.peak_per_s
    labels = [f"{measured(top * part / 2)} " for part in range(3)]
    points = (width - max(map(len, labels))) * HALVES
    step_s = made.duration_s / points
    moments = [(number + 0.5) * step_s for number in range(points)]
    figure = plotext.figure
    figure.clear()
    plotext.terminal.limit(False, False)  # the size is ours, also where there is no terminal
    figure.plot_size(width, height)
    figure.theme("colorless")
    figure.axes(False)
    figure.axes(True, axis="x", side="lower")
    figure.ruler("y").lim(0, top * 1.05).ticks([top * part / 2 for part in range(3)], labels)
    marks = [made.duration_s * part / 4 for part in range(5)]
    figure.ruler("x").lim(0, made.duration_s).ticks(marks, [span(mark) for mark in marks])
    figure.draw(figure.signal(moments, [made.shape.rate(at_s) for at_s in moments], marker="hd").fillx())
    drawn: str = figure.build().string(colorless=True)
    return "\n".join(line.rstrip() for line in drawn.splitlines())
