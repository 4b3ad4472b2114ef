"""Where verbs print: answers on stdout, everything else on stderr, paths as a person here would type them."""

from pathlib import Path

import click
import orjson
from rich.console import Console

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def print_json(content: object) -> None:
    """Print a value as JSON for another program."""
    click.echo(orjson.dumps(content, option=orjson.OPT_INDENT_2))


def shown(path: Path) -> str:
    """A path as a person would type it from here."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
