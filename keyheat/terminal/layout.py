"""What answers in a terminal are set in: paragraphs, strips drawn in a table, the colours of constraints."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

from keyheat.words import glued

COLOURS = {
    "partition": "red",
    "table": "medium_purple",
    "max_on_demand": "dark_orange",
    "account": "magenta",
    "undetermined": "yellow",
    "none": "green",
}
LEAST = 4  # characters of a strip: fewer show nothing


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text wrapped to the width of the console, a number on one line with its unit, no space at line ends."""

    text: str
    first: str = ""  # before the first line
    rest: str = ""  # before every other one
    style: str = ""

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        first = self.first
        for part in self.text.splitlines():
            lines = textwrap.wrap(
                glued(part), options.max_width, initial_indent=first, subsequent_indent=self.rest,
                break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip
            first = self.rest
            yield from (Text(line.replace("\u00a0", " "), style=self.style) for line in lines)


@dataclass(frozen=True, slots=True)
class Strip:
    """A cell of a table that is drawn for the width that it gets, at most so many characters."""

    draw: Callable[[int], Text]
    most: int

    def __rich_measure__(self, _console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(LEAST, options.max_width), min(self.most, options.max_width))

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.draw(min(self.most, options.max_width))
