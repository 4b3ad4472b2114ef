"""A command line whose verbs are loaded when they are called, so that help and completion do not wait."""

from collections.abc import Mapping, Sequence
from importlib import import_module

import click

from keyheat.extras import require
from keyheat.terminal.console import be_quiet

Menu = Mapping[str, Mapping[str, tuple[str, str]]]
"""Sections of verbs: title -> name -> (module in `keyheat.cli`, what it does in a line)."""
QUIET = "quiet"
HELP = ["-h", "--help"]


class Verbs(click.Group):
    """Finds a verb in the module that the menu names; the function is called as the verb is."""

    def __init__(self, menu: Menu, needs: Mapping[str, Sequence[str]], *, help: str | None) -> None:
        super().__init__(help=help, context_settings={"help_option_names": HELP})
        self._menu, self._needs = menu, needs
        self._module_of = {name: module for verbs in menu.values() for name, (module, _line) in verbs.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, in the order of the menu."""
        return list(self._module_of)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb; None where there is none of that name."""
        if cmd_name not in self._module_of:
            return None
        module = import_module(f"keyheat.cli.{self._module_of[cmd_name]}")
        verb: click.Command = getattr(module, cmd_name.replace("-", "_"))
        _add_quiet(verb)
        return verb

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The menu, section by section, without loading any verb."""
        for title, verbs in self._menu.items():
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, (_module, line) in verbs.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The verb that is called; one that is misspelt is answered with those that are near."""
        if args and args[0] not in self._module_of and not args[0].startswith("-"):
            near = _near(args[0], list(self._module_of))
            hint = f" Did you mean {near}?" if near else " keyheat --help lists them."
            raise click.UsageError(f"there is no verb {args[0]!r}.{hint}", ctx)
        name, verb, rest = super().resolve_command(ctx, args)
        if not (ctx.resilient_parsing or set(HELP) & set(rest)):  # help and completion need nothing
            for extra in self._needs.get(name or "", ()):
                require(extra)
        return name, verb, rest


def _near(word: str, words: Sequence[str]) -> str:
    from difflib import get_close_matches

    return " or ".join(get_close_matches(word, words, n=2))


def _add_quiet(verb: click.Command) -> None:
    """Give a verb, or each of its own verbs, the option --quiet; one that passes its options on has none."""
    if isinstance(verb, click.Group):
        for one in verb.commands.values():
            _add_quiet(one)
    elif not verb.ignore_unknown_options and all(option.name != QUIET for option in verb.params):
        verb.params.append(
            click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                expose_value=False,
                callback=lambda _context, _option, quiet: be_quiet(quiet),
                help="say nothing but problems: the exit code, files and --json hold the answer",
            )
        )
