"""The command line: a menu of verbs, each of which composes stages and computes nothing itself.

Exit codes: 0 done and within thresholds; 1 a threshold was broken, or a cap or a stop rule ended the run;
2 wrong use or invalid input, nothing started; 3 the run is invalid or its evidence is missing; 4 refused for
safety; 70 a defect of Keyheat, with its traceback; 130 interrupted, files kept.

A verb is loaded when it is called, and its stages inside it, so that `keyheat --help` waits for neither.
"""

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from io import StringIO
from traceback import format_exc
from typing import Final

import click

from keyheat.inputs import is_text
from keyheat.masking import masked, speak_plainly
from keyheat.shipped import require, sentence
from keyheat.words import DEFECT, DONE, INTERRUPTED, INVALID, WRONG_USE

DEFECT_FOUND = "this is a defect of Keyheat; please report it with these lines:"
HELP = ["-h", "--help"]


MENU: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "Run and diagnose": {
        "demo": ("run", "run four scenarios locally, with four reports (2 minutes)"),
        "run": ("run", "load a table as a scenario says, then label and report"),
        "simulate": ("simulate", "run a scenario on a virtual clock, in seconds"),
        "local": ("local", "serve a local DynamoDB that throttles like AWS"),
        "diagnose": ("diagnose", "find which limit a table hits, on which key, and the fix"),
    },
    "Design a table": {
        "init": ("init", "write a scenario of your own table, or a suite"),
        "plan": ("plan", "estimate demand, throttles and cost before a run"),
        "whatif": ("whatif", "find how many shards, units or load; compare SDK retries"),
        "fix": ("fix", "try a recommended change next to the original run"),
    },
    "Evidence and reports": {
        "collect": ("evidence", "read CloudWatch metrics of a run or any table"),
        "analyze": ("evidence", "label throttles: partition, table, or another limit"),
        "report": ("pages", "write the page of a run, or its numbers as CSV"),
        "compare": ("pages", "show several runs side by side on one page"),
        "queries": ("evidence", "print the CloudWatch queries for the AWS CLI"),
    },
    "Regression testing": {
        "regress": ("regress", "run a suite and compare it with the last good session"),
        "history": ("history", "list sessions, show one, draw trends"),
    },
    "Housekeeping": {
        "runs": ("pages", "list all runs in one table"),
        "clean": ("clean", "delete items of a run, or expired tables of earlier runs"),
        "loadtests": ("about", "list the shipped load tests, or copy one"),
        "schema": ("about", "print the JSON Schema of a file format"),
    },
}
"""Sections of verbs: title -> name -> (module in `keyheat.cli`, what it does in a line)."""
NEEDS: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(("demo", "run"), ("load", "report")),
    **dict.fromkeys(("diagnose", "simulate", "report", "compare", "runs", "fix"), ("report",)),
    "regress": ("regress", "report"),
}
"""The extras that a verb needs, which is checked before it begins."""

YOUNG_OBJECTS: Final = 30_000
"""Objects between two passes of the garbage collector: at the default of 700, a tenth of a verb's time goes
into looking again at modules and frames that stay."""

MODULE_OF: Final = {name: module for verbs in MENU.values() for name, (module, _line) in verbs.items()}


class Verbs(click.Group):
    """Find a verb in the module that the menu names; its function has the name of the verb."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every verb, in the order of the menu."""
        return list(MODULE_OF)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The verb; None if there is no verb of that name."""
        if cmd_name not in MODULE_OF:
            return None
        module = import_module(f"keyheat.cli.{MODULE_OF[cmd_name]}")
        verb: click.Command = getattr(module, cmd_name)
        return verb

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The menu, section by section, without loading any verb."""
        for title, verbs in MENU.items():
            with formatter.section(title):
                formatter.write_dl([(name, line) for name, (_module, line) in verbs.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb of the command line. Raises `UsageError` with similar names."""
        if args and args[0] not in MODULE_OF and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = " or ".join(get_close_matches(args[0], MODULE_OF, n=2))
            hint = f"Did you mean {near}?" if near else "keyheat --help lists them."
            raise click.UsageError(f"no command {args[0]!r}. {hint}", ctx)
        if not (ctx.resilient_parsing or set(HELP) & set(args)):  # help and completion need nothing
            for extra in NEEDS.get(args[0] if args else "", ()):
                require(extra)  # before its module, which may import it
        return super().resolve_command(ctx, args)


cli = Verbs(
    context_settings={"help_option_names": HELP},
    help="Load test DynamoDB tables, and find out which limit throttles them.",
    epilog="Start here, without a table or an account: keyheat simulate hotkey",
)
click.version_option(package_name="keyheat", prog_name="keyheat")(cli)


def main(arguments: Sequence[str] | None = None, command: click.Command = cli) -> int:
    """Run one verb; gives its exit code. What a person can fix is one message, not a traceback."""
    speak_plainly()
    gc.set_threshold(YOUNG_OBJECTS)
    if (name := _not_text(sys.argv[1:] if arguments is None else arguments)) is not None:
        return _complain(f"{name} is not UTF-8: rename the file or folder", WRONG_USE)
    try:
        return command.main(arguments, prog_name=command.name or "keyheat", standalone_mode=False) or DONE
    except click.ClickException as error:
        return _show(error)
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted; files are kept", INTERRUPTED)
    except ImportError as error:
        if (message := sentence(error)) is None:
            raise
        return _complain(message, WRONG_USE)
    except Exception as error:  # noqa: BLE001 (a crash is reported, with its own code)
        from keyheat.runfiles import CannotWrite, FileProblem

        if isinstance(error, FileProblem) and not isinstance(error, CannotWrite):
            return _complain(str(error), INVALID)
        if isinstance(error, (CannotWrite, ValueError, OSError)):  # what a person can fix
            return _complain(str(error), WRONG_USE)
        return _complain(f"{DEFECT_FOUND}\n{format_exc().rstrip()}", DEFECT)


def _not_text(arguments: Sequence[str]) -> str | None:
    """The first argument, or the working folder, that is not UTF-8."""
    with suppress(OSError):  # the working folder was deleted
        arguments = [*arguments, os.getcwd()]
    return next((name for name in arguments if not is_text(name)), None)


def _show(error: click.ClickException) -> int:
    """Print what is wrong as click does, in plain text: it may quote a file or an argument."""
    from keyheat.show.console import err

    text = StringIO()
    error.show(text)
    err.print(text.getvalue().rstrip("\n"))
    return error.exit_code


def _complain(message: str, code: int) -> int:
    from keyheat.show.console import err

    err.print(f"keyheat: {masked(message)}")
    return code
