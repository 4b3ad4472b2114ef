"""Charts drawn in characters, as wide as there is room: a plan's load over time, and strips of a table."""

from collections.abc import Callable
from dataclasses import dataclass

import plotext  # type: ignore[import-untyped]
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from keyheat.numbers import measured, span
from keyheat.plan.forecast import Forecast

WIDTH, HEIGHT = 76, 11
HALVES = 2  # a character of the picture is two points wide
FOR_A_MARK = 14  # characters of the axis, so that no mark is written over another
LEAST = 4  # characters of a strip: fewer show nothing


@dataclass(frozen=True, slots=True)
class Picture:
    """The rate over time, as wide as the console, and no wider than is looked at in one glance."""

    forecast: Forecast

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(picture(self.forecast, min(WIDTH, options.max_width)), no_wrap=True)


@dataclass(frozen=True, slots=True)
class Strip:
    """A cell of a table that is drawn for the width that it gets, at most so many characters."""

    draw: Callable[[int], Text]
    most: int

    def __rich_measure__(self, _console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(LEAST, options.max_width), min(self.most, options.max_width))

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.draw(min(self.most, options.max_width))


def picture(made: Forecast, width: int = WIDTH, height: int = HEIGHT) -> str:
    """The rate over time, drawn in characters, without colours."""
    top = made.target.peak_per_s
    labels = [f"{measured(top * part / 2)} " for part in range(3)]
    drawn_width = max(LEAST, width - max(map(len, labels)))
    points = drawn_width * HALVES
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
    parts = next(number for number in (4, 2, 1) if number == 1 or drawn_width >= number * FOR_A_MARK)
    marks = [made.duration_s * part / parts for part in range(parts + 1)]
    figure.ruler("x").lim(0, made.duration_s).ticks(marks, [span(mark) for mark in marks])
    figure.draw(figure.signal(moments, [made.shape.rate(at_s) for at_s in moments], marker="hd").fillx())
    drawn: str = figure.build().string(colorless=True)
    return "\n".join(line.rstrip() for line in drawn.splitlines())
