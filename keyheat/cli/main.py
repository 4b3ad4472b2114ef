"""The command line: a menu of verbs, each of which composes stages and computes nothing itself.

Exit codes: 0 done and within thresholds; 1 a threshold was broken, or a cap or a stop rule ended the run;
2 wrong use or invalid input, nothing started; 3 the run is invalid or its evidence is missing; 4 refused for
safety; 130 interrupted, files kept.

A verb is loaded when it is called, and its stages inside it, so that `keyheat --help` waits for neither.
"""

from collections.abc import Sequence
from importlib.metadata import version
from io import StringIO

import click

from keyheat.cli.menu import Menu, Verbs
from keyheat.extras import sentence
from keyheat.masking import masked, speak_plainly
from keyheat.terminal.console import err, speak_json
from keyheat.words import DONE, INTERRUPTED, INVALID, WRONG_USE

MENU: Menu = {
    "Load a table, or simulate it": {
        "demo": ("load", "four scenarios on the local endpoint, four reports (5 minutes)"),
        "run": ("load", "load as a scenario says, then collect, analyze, report"),
        "simulate": ("load", "the same run on a virtual clock, in seconds"),
        "sweep": ("load", "a scenario with 1, 2, 4, 8, 16 shards: how many are enough?"),
        "local": ("load", "the local endpoint alone, for any DynamoDB client"),
    },
    "Before anything is sent": {
        "plan": ("forecast", "what a scenario asks for, throttles on and costs"),
        "whatif": ("forecast", "the smallest number of shards, or capacity, that is enough"),
        "knee": ("knee", "raise the demand until something throttles: the key, or the table?"),
        "probe": ("forecast", "what an endpoint can do, and what a run there can prove"),
    },
    "Evidence, labels, pages": {
        "queries": ("evidence", "the CloudWatch queries, for somebody who runs the AWS CLI"),
        "collect": ("evidence", "what CloudWatch says of a run, or of any table"),
        "analyze": ("evidence", "label the throttles: partition, table, or what else it was"),
        "report": ("pages", "write the page of a run from its files"),
        "export": ("pages", "what each chart of a run shows, as CSV or Parquet"),
        "compare": ("pages", "several runs side by side on one page"),
        "runs": ("pages", "all runs on one page: search, order, trends"),
        "serve": ("pages", "the same on a local page, while runs are going on"),
        "fix": ("fix", "try what a diagnosis recommends, beside the run as it was"),
    },
    "Is it still as good as it was?": {
        "regress": ("regress", "run a suite, and hold it against the last good time"),
        "history": ("history", "every session that there was, baselines, trends"),
    },
    "Tidying up": {
        "clean": ("tidying", "delete what a run wrote to a table of somebody else's"),
        "sweep-orphans": ("tidying", "delete tables that runs left behind and whose time is over"),
    },
    "About Keyheat": {
        "loadtests": ("loadtests", "the load tests that are shipped; copies one to edit"),
        "accuracy": ("about", "how right the labels are, on random tables"),
        "schema": ("about", "the JSON Schema of a scenario's or a suite's file, for editors"),
        "completion": ("about", "completion with the tab key, for bash, zsh and fish"),
    },
}

NEEDS = {
    **dict.fromkeys(("demo", "run", "sweep"), ("load", "report")),
    **dict.fromkeys(("simulate", "report", "export", "compare", "runs", "serve", "fix"), ("report",)),
    "regress": ("regress", "report"),
}
"""The extras without which a verb could not end, which is said before it begins."""

cli = Verbs(
    MENU,
    NEEDS,
    help="Load a DynamoDB table, label every throttle, show it: is it the partition or the table?",
)
click.version_option(version("keyheat"), prog_name="keyheat")(cli)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and give its exit code. What a person can mend is one clear message, not a traceback."""
    speak_plainly()
    speak_json(False)
    try:
        return cli.main(arguments, prog_name="keyheat", standalone_mode=False) or DONE
    except click.ClickException as error:
        return _show(error)
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted; what was written is kept", INTERRUPTED)
    except ImportError as error:
        if (said := sentence(error)) is None:
            raise
        return _complain(said, WRONG_USE)
    except Exception as error:
        code = _code_of(error)
        if code is None:
            raise
        return _complain(str(error), code)


def _code_of(error: Exception) -> int | None:
    """The exit code of what a person can mend; None: a defect of ours."""
    from keyheat.runfiles import CannotWrite, FileProblem

    if isinstance(error, FileProblem) and not isinstance(error, CannotWrite):
        return INVALID
    return WRONG_USE if isinstance(error, (CannotWrite, ValueError, OSError)) else None


def _show(error: click.ClickException) -> int:
    """Say what is wrong as click does, in plain text: it may quote a file, or an argument."""
    said = StringIO()
    error.show(said)
    err.print(said.getvalue().rstrip("\n"))
    return error.exit_code


def _complain(message: str, code: int) -> int:
    err.print(f"keyheat: {masked(message)}")
    return code
