"""Where verbs print and ask: answers on stdout, everything else on stderr, paths as a person would type them.

Much of what is printed was written by others: names, reasons, errors. So no text is markup, and none reaches
a terminal with signs that it obeys; what is bold or has a colour is a `Text` of ours.

Nothing is coloured, and no bar moves, where there is no terminal or NO_COLOR is set (rich sees to it).
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import orjson
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from keyheat.masking import plain, plain_json, short_path
from keyheat.show.answer import plain_value


class PlainConsole(Console):
    """A console whose only escape sequences are its own: those of styles and of bars that move."""

    def __init__(self, **how: Any) -> None:
        super().__init__(highlight=False, soft_wrap=True, markup=False, emoji=False, **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of what is printed, each with plain text; `control` is the console's own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=plain(segment.text))


out = PlainConsole()
err = PlainConsole(stderr=True)
"""Problems, and actions that were not requested."""
bars = PlainConsole(stderr=True)
"""Progress."""


@dataclass(slots=True)
class _Manner:
    """The output mode of the running verb."""

    quiet: bool = False
    as_json: bool = False

    def take(self) -> None:
        """Apply the mode: with JSON, stdout has nothing else."""
        out.quiet, bars.quiet = self.quiet or self.as_json, self.quiet


_manner = _Manner()


def be_quiet(quiet: bool) -> None:
    """Print problems only, or everything again; requested JSON is always printed."""
    _manner.quiet = quiet
    _manner.take()


def speak_json(as_json: bool) -> None:
    """Switch answers to JSON, or back to text."""
    _manner.as_json = as_json
    _manner.take()


def in_words() -> bool:
    """Whether answers are for a person."""
    return not _manner.as_json


def print_json(content: object) -> None:
    """Print a value as JSON for another program; it may hold dataclasses, models and paths."""
    body = orjson.dumps(content, option=orjson.OPT_INDENT_2, default=plain_value)
    print(plain_json(body, sys.stdout.encoding or "utf-8"), flush=True)


def print_lines(lines: Iterable[str], *, to_stderr: bool) -> None:
    """Print lines for another program, which reads them as they are."""
    print(plain("\n".join(lines)), file=sys.stderr if to_stderr else sys.stdout, flush=True)


def confirmed(question: str) -> bool:
    """Whether the person at the terminal says yes."""
    return click.confirm(plain(question), err=True)


def strong(before: str, path: Path) -> Text:
    """Text followed by a path in bold."""
    return Text.assemble(before, (short_path(path), "bold"))
