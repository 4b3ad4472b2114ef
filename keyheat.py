"""The command line: a table of verbs, each of which composes stages and computes nothing itself.

Exit codes: 0 done and within thresholds; 1 a threshold was broken, or a cap or a stop rule ended the run;
2 wrong use or invalid input, nothing started; 3 the run is invalid or its evidence is missing; 4 refused for
safety; 130 interrupted, files kept.

Stages are imported inside their verbs, so that `keyheat --help` does not wait for pyarrow and plotly.
"""

import sys
from collections.abc import Sequence
from importlib.metadata import version

import click

from commands import accuracy, clean, evidence, load, plan, probe, show, simulate, tables, whatif
from commands.common import DONE, INTERRUPTED, INVALID, WRONG_USE
from reports.console import err
from tablemodel.masking import masked
from tablemodel.runfiles import CannotWrite, FileProblem
from tablemodel.scenario import ScenarioError

VERBS = (
    load.demo, load.run, load.sweep, load.local, simulate.simulate,
    plan.plan, probe.probe, whatif.whatif,
    evidence.queries, evidence.collect, evidence.analyze,
    show.report, show.compare, show.schema,
    accuracy.accuracy, tables.sweep_orphans, clean.clean,
)  # fmt: skip


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("keyheat"), prog_name="keyheat")
def cli() -> None:
    """Load a DynamoDB table, label every throttle, show it: is it the partition or the table?"""


for verb in VERBS:
    cli.add_command(verb)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and give its exit code. What a person can mend is one clear message, not a traceback."""
    try:
        return cli.main(arguments, prog_name="keyheat", standalone_mode=False) or DONE
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _complain("interrupted; what was written is kept", INTERRUPTED)
    except (ScenarioError, CannotWrite, ValueError, OSError) as error:
        return _complain(str(error), WRONG_USE)
    except FileProblem as error:
        return _complain(str(error), INVALID)


def _complain(message: str, code: int) -> int:
    err.print(f"keyheat: {masked(message)}", markup=False)
    return code


if __name__ == "__main__":
    sys.exit(main())
