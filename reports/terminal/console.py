"""Where verbs print: answers on stdout, everything else on stderr, paths as a person here would type them.

Nothing is coloured, and no bar moves, where there is no terminal or NO_COLOR is set (rich sees to it).
"""

from pathlib import Path

import click
import orjson
from rich.console import Console
from rich.markup import escape

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)
"""What somebody has to know: problems, and what was done that was not asked for."""
bars = Console(stderr=True, highlight=False, soft_wrap=True)
"""How far something is."""


def be_quiet(quiet: bool) -> None:
    """Say nothing but problems, or everything again. JSON that was asked for is printed either way."""
    out.quiet = bars.quiet = quiet


def print_json(content: object) -> None:
    """Print a value as JSON for another program."""
    click.echo(orjson.dumps(content, option=orjson.OPT_INDENT_2))


def shown(path: Path) -> str:
    """A path as a person would type it from here."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def strong(path: Path) -> str:
    """The same in bold, for a line with markup: signs of a path that look like it are let be."""
    return f"[bold]{escape(shown(path))}[/]"
