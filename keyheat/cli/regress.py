"""The verb regress: is everything that a suite holds on to still as good as it was?"""

import os
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keyheat.cli.guards import Guards, guarded
from keyheat.cli.load import no_collect
from keyheat.cli.options import a_path, in_json, some_prices

if TYPE_CHECKING:
    from keyheat.regression.exports import Exports

OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--history", type=a_path, envvar="KEYHEAT_HISTORY", show_envvar=True,
        help="the file that keeps every session  [default: reports/history.sqlite]",
    ),
    click.option(
        "--baseline", metavar="NAME|SESSION", help="hold it against this one  [default: the last good one]"
    ),
    click.option("--new-baseline", is_flag=True, help="hold it against nothing: what is meant has changed"),
    click.option(
        "--accept", is_flag=True, help="a first session, or a new case, that throttles is meant to be so"
    ),
    click.option("--pin", metavar="NAME", help="pin this session by a name, if it is good"),
    click.option("--label", metavar="TEXT", help="what is measured, such as a commit; it is kept"),
    click.option("--paired", is_flag=True, help="run the baseline's own scenarios again beside these"),
    click.option("--force", is_flag=True, help="compare although the setups differ"),
    click.option("--out", "folder", type=a_path, help="where runs go  [default: reports/out/SUITE-TIME]"),
    click.option("--junit", type=a_path, metavar="FILE", help="JUnit XML: a test for each gate"),
    in_json("the outcome"),
    click.option("--json-file", "summary", type=a_path, metavar="FILE", help="the same in a file"),
    click.option("--markdown", type=a_path, metavar="FILE", help="Markdown for a comment on a pull request"),
    click.option("--github", is_flag=True, help="annotations, and the step's summary, of GitHub Actions"),
    click.option("--prometheus", type=a_path, metavar="FILE", help="metrics for a textfile collector"),
    no_collect,
)  # fmt: skip


def _optional(verb: Callable[..., int]) -> Callable[..., int]:
    for option in reversed(OPTIONS):
        verb = option(verb)
    return verb


@click.command()
@click.argument("suite", envvar="KEYHEAT_SUITE", required=False)
@_optional
@guarded
@some_prices
def regress(
    suite: str | None,
    history: Path | None,
    github: bool,
    guards: Guards,
    prices: Path,
    **said: Any,
) -> int:
    """Run every case of SUITE (a file, or a name in configs/suites), and hold it against the last good time.

    Without SUITE it is the one that the variable KEYHEAT_SUITE names, as a schedule sets it.

    Exit code 1: a gate failed, or a threshold. 3: a run says nothing about its table, so nothing is decided.
    """
    from keyheat.cli.session_outcome import tell
    from keyheat.cli.suite import SessionOptions, SuiteSession
    from keyheat.regression.history.store import History
    from keyheat.regression.suite import find_suite

    wanted = _wanted(said, github=github)
    asked = SessionOptions(**{part.name: said[part.name] for part in fields(SessionOptions)})
    _check(asked)
    loaded = find_suite(suite or "")
    wanted.check()
    with History.open(history) as kept:
        guards = replace(guards, table=guards.table or loaded.table)
        work = SuiteSession(suite=loaded, asked=asked, guards=guards, prices=prices, history=kept)
        return tell(work.compared(), wanted, datetime.now(UTC), github=github)


def _wanted(said: dict[str, Any], *, github: bool) -> "Exports":
    """The exports that were asked for."""
    from keyheat.regression.exports import Exports

    step = os.environ.get("GITHUB_STEP_SUMMARY") if github else None
    names = ("summary", "junit", "markdown", "prometheus")
    return Exports(**{name: said[name] for name in names}, step_summary=Path(step) if step else None)


def _check(asked: Any) -> None:
    """Options that exclude each other, and a name that is none. Raises `ValueError` or `UsageError`."""
    from keyheat.regression.history.records import check_pin

    if asked.pin is not None:
        check_pin(asked.pin)
    pairs = (
        (asked.new_baseline, asked.baseline, "--new-baseline", "--baseline"),
        (asked.new_baseline, asked.paired, "--new-baseline", "--paired"),
    )
    wrong = [f"say either {one} or {other}" for first, second, one, other in pairs if first and second]
    if wrong:
        raise click.UsageError("; ".join(wrong))
