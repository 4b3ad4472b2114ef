"""The command line: a menu of verbs, each of which composes stages and computes nothing itself.

Exit codes: 0 done and within thresholds; 1 a threshold was broken, or a cap or a stop rule ended the run;
2 wrong use or invalid input, nothing started; 3 the run is invalid or its evidence is missing; 4 refused for
safety; 70 a defect of Keyheat, with its traceback; 130 interrupted, files kept.

A verb is loaded when it is called, and its stages inside it, so that `keyheat --help` waits for neither.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from io import StringIO
from traceback import format_exc

import click

from keyheat.inputs import is_text
from keyheat.masking import masked, speak_plainly
from keyheat.shipped import require, sentence, shipped
from keyheat.words import DEFECT, DONE, INTERRUPTED, INVALID, WRONG_USE

Menu = Mapping[str, Mapping[str, tuple[str, str]]]
"""Sections of verbs: title -> name -> (module in `keyheat.cli`, what it does in a line)."""
QUIET = "quiet"
DEFECT_FOUND = "this is a defect of Keyheat; please report it with these lines:"
CONSOLE = "keyheat.terminal.console"
HELP = ["-h", "--help"]


class Verbs(click.Group):
    """Finds a verb in the module that the menu names; the function is called as the verb is."""

    def __init__(self, menu: Menu, needs: Mapping[str, Sequence[str]], *, help: str, epilog: str) -> None:
        super().__init__(help=help, epilog=epilog, context_settings={"help_option_names": HELP})
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
            raise click.UsageError(f"there is no verb {args[0]!r}. {self._hint(args[0])}", ctx)
        name, verb, rest = super().resolve_command(ctx, args)
        if not (ctx.resilient_parsing or set(HELP) & set(rest)):  # help and completion need nothing
            for extra in self._needs.get(name or "", ()):
                require(extra)
        return name, verb, rest

    def _hint(self, word: str) -> str:
        """What somebody may have meant by a word that is no verb."""
        if word in {file.stem for file in (shipped("configs") / "scenarios").glob("*.toml")}:
            return f"It is a scenario: `keyheat simulate {word}` runs it."
        near = _near(word, list(self._module_of))
        return f"Did you mean {near}?" if near else "keyheat --help lists them."


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
                callback=lambda _context, _option, quiet: _speak("be_quiet", quiet),
                help="say nothing but problems: the exit code, files and --json hold the answer",
            )
        )


MENU: Menu = {
    "A table in production throttles": {
        "diagnose": ("diagnose", "which limit, on which key, since when, what to do"),
    },
    "Load a table, or simulate it": {
        "demo": ("demo", "four scenarios on the local endpoint, four reports (2 minutes)"),
        "run": ("load", "load as a scenario says, then collect, analyze, report"),
        "simulate": ("load", "the same run on a virtual clock, in seconds"),
        "local": ("local", "the local endpoint alone, for any DynamoDB client"),
    },
    "Before anything is sent": {
        "init": ("init", "a scenario of your own table, from its description; a suite of yours"),
        "plan": ("forecast", "what a scenario asks for, throttles on and costs"),
        "whatif": ("whatif", "how many shards, how much capacity or load; what retries do"),
    },
    "Evidence, labels, pages": {
        "queries": ("evidence", "the CloudWatch queries, for somebody who runs the AWS CLI"),
        "collect": ("evidence", "what CloudWatch says of a run, or of any table"),
        "analyze": ("evidence", "label the throttles: partition, table, or what else it was"),
        "report": ("pages", "write the page of a run from its files"),
        "compare": ("pages", "several runs side by side on one page"),
        "runs": ("pages", "all runs in one table"),
        "fix": ("fix", "try what a diagnosis recommends, beside the run as it was"),
    },
    "Is it still as good as it was?": {
        "regress": ("regress", "run a suite, and hold it against the last good time"),
        "history": ("history", "every session that there was, baselines, trends"),
    },
    "Tidying up": {
        "clean": ("tidying", "delete what a run wrote, or expired tables that runs left behind"),
    },
    "About Keyheat": {
        "loadtests": ("about", "the load tests that are shipped; copies one to edit"),
        "schema": ("about", "the JSON Schema of a scenario's or a suite's file, for editors"),
    },
}

NEEDS = {
    **dict.fromkeys(("demo", "run"), ("load", "report")),
    **dict.fromkeys(("diagnose", "simulate", "report", "compare", "runs", "fix", "whatif"), ("report",)),
    "regress": ("regress", "report"),
}
"""The extras without which a verb could not end, which is said before it begins."""

cli = Verbs(
    MENU,
    NEEDS,
    help="Load a DynamoDB table, label every throttle, show it: is it the partition or the table?",
    epilog="New here? `keyheat simulate hotkey` needs no table and no AWS account, and ends in a report.",
)
click.version_option(package_name="keyheat", prog_name="keyheat")(cli)


def main(arguments: Sequence[str] | None = None, command: click.Command = cli) -> int:
    """Run one verb and give its exit code. What a person can mend is one clear message, not a traceback.

    `command` is another one than the menu of `keyheat`.
    """
    speak_plainly()
    _speak("speak_json", False)
    if (name := _not_text(sys.argv[1:] if arguments is None else arguments)) is not None:
        return _complain(f"{name} is not UTF-8: rename the file or folder", WRONG_USE)
    try:
        return command.main(arguments, prog_name=command.name or "keyheat", standalone_mode=False) or DONE
    except click.ClickException as error:
        return _show(error)
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted; what was written is kept", INTERRUPTED)
    except ImportError as error:
        if (said := sentence(error)) is None:
            raise
        return _complain(said, WRONG_USE)
    except Exception as error:  # noqa: BLE001 (a crash is said, with a code of its own)
        code = _code_of(error)
        if code is None:
            return _complain(f"{DEFECT_FOUND}\n{format_exc().rstrip()}", DEFECT)
        return _complain(str(error), code)


def _not_text(arguments: Sequence[str]) -> str | None:
    """The first argument that is not UTF-8, or the working folder where that is not."""
    with suppress(OSError):  # the working folder was deleted
        arguments = [*arguments, os.getcwd()]
    return next((name for name in arguments if not is_text(name)), None)


def _speak(how: str, differently: bool) -> None:
    """Have the console speak so, or again as it does by itself: as one does that nobody has loaded yet.

    It takes longer to load than all else that `keyheat local` needs of the command line.
    """
    if differently or CONSOLE in sys.modules:
        getattr(import_module(CONSOLE), how)(differently)


def _code_of(error: Exception) -> int | None:
    """The exit code of what a person can mend; None: a defect of ours."""
    from keyheat.runfiles import CannotWrite, FileProblem

    if isinstance(error, FileProblem) and not isinstance(error, CannotWrite):
        return INVALID
    return WRONG_USE if isinstance(error, (CannotWrite, ValueError, OSError)) else None


def _show(error: click.ClickException) -> int:
    """Say what is wrong as click does, in plain text: it may quote a file, or an argument."""
    from keyheat.terminal.console import err

    said = StringIO()
    error.show(said)
    err.print(said.getvalue().rstrip("\n"))
    return error.exit_code


def _complain(message: str, code: int) -> int:
    from keyheat.terminal.console import err

    err.print(f"keyheat: {masked(message)}")
    return code
