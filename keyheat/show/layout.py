"""A cell of a table in a terminal that is drawn for the width that it gets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

LEAST: Final = 4  # characters of a strip: fewer show nothing


@dataclass(frozen=True, slots=True)
class Strip:
    """A cell of a table that is drawn for the width that it gets, at most so many characters."""

    draw: Callable[[int], Text]
    most: int

    def __rich_measure__(self, _console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(min(LEAST, options.max_width), min(self.most, options.max_width))

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.draw(min(self.most, options.max_width))
