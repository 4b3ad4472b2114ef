"""The verb init: write a scenario of a table of one's own, or a suite of such scenarios."""

import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from keyheat.cli.mistakes import CheckedCommand, Mistakes
from keyheat.cli.options import Account, a_folder, a_path, give, in_json, typed_options
from keyheat.flags import option, options_of, takes, values_of
from keyheat.intake.scenario import Demand, scenario_text
from keyheat.intake.suite import SCHEDULES
from keyheat.masking import short_path
from keyheat.numbers import some
from keyheat.show.answer import Answer
from keyheat.words import DONE

if TYPE_CHECKING:
    from keyheat.evidence.table import Target
    from keyheat.intake.tables import Source, SourceTable
    from keyheat.words import Constraint


DAYS: Final = 14
"""Days of metrics that --from-metrics reads."""
FIRST_SESSION: Final = (
    "The first session becomes the baseline; if a case throttles unexpectedly, review it, then accept it."
)
OF_A_SUITE: Final = {"suite", "schedules", "file", "force", "json", "quiet"}


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions:
    """The table, the demand, and what is written."""

    table: str | None = option("read this live table, without changing it")
    only: str | None = option("take this table, where SOURCE has several")
    account: Account = options_of(Account)
    from_metrics: bool = option("take rates and sizes of a live --table from CloudWatch", default=False)
    diagnosis: Path | None = option(
        "take demand (and table, without SOURCE) of an incident", flag="--from-diagnosis", type=a_folder
    )
    demand: Demand = options_of(Demand)
    suite: str | None = option("write a suite of scenarios with this name", metavar="NAME")
    schedules: tuple[str, ...] = option(
        "add files that run the --suite", default=(), flag="--schedule", type=click.Choice(list(SCHEDULES))
    )
    file: Path | None = option(
        "write to this file  [default: TABLE.toml, or NAME.toml]", flag="--out", type=a_path
    )
    force: bool = option("write over a file that is there", default=False)


@click.command(cls=CheckedCommand)
@click.argument("sources", metavar="[SOURCE]...", type=click.Path(exists=True, path_type=Path), nargs=-1)
@takes("options", InitOptions)
@in_json("the file and what it assumes")
def init(sources: tuple[Path, ...], options: InitOptions) -> int:
    """Write a scenario of your own table, from SOURCE or a live table; or a suite of such scenarios.

    SOURCE is what `aws dynamodb describe-table` printed, a CloudFormation, SAM or CDK template, what
    `terraform show -json` printed, or a model of NoSQL Workbench. What it cannot tell (rates, keys, item
    sizes) stands in the file in lines that say ASSUMED.

    With --suite, SOURCE is scenarios, or folders of them (keyheat/ if there is one, else here). The suite
    has a simulated case for each, beside it are the files of each --schedule. An existing suite stays as
    it is.
    """
    if options.suite is not None:
        if wrong := [flag for name, flag in typed_options().items() if name not in OF_A_SUITE]:
            raise click.UsageError(f"{', '.join(wrong)} cannot be used with --suite")
        return give(_write_suite(options, sources), DONE)
    from keyheat.analysis.table_diagnosis import measured_table, replayed_table
    from keyheat.intake.sources import read_source

    mistakes = Mistakes()
    if options.schedules:
        mistakes.add("--schedule runs a suite: add --suite NAME")
    if options.diagnosis and options.from_metrics:
        mistakes.add("--from-diagnosis has a demand of its own: leave out --from-metrics")
    replayed = replayed_table(options.diagnosis) if options.diagnosis else None
    target, table, account, live = options.file, options.table, options.account, None
    with mistakes.noted():
        if replayed and not sources and table is None:
            path, source = options.diagnosis, replayed.source
        elif path := _described_in(sources, options):
            source = read_source(path)
        else:
            source, live = _live(table or "", account)
        chosen = source.choose(options.only)
        target = target or Path(f"{Path(chosen.name).name}.toml")
    if target is not None and target.exists() and not options.force:
        mistakes.add(f"{target} exists: add --force to write over it, or another --out")
    mistakes.refuse()
    assert target is not None, "the table or the person names it"
    left_out = source.notes if options.only is not None else (*source.notes, *source.others)
    demand, notes = options.demand, [f"Not taken: {note}" for note in left_out]
    if options.from_metrics and live:
        replayed, assumed = measured_table(chosen.name, DAYS, live)
        notes += [assumed] if assumed else []
    if replayed:
        demand = replace(demand, measured=replayed.traffic)
    origin = f"{path.name} ({source.format})" if path else "the live table"
    constraint = replayed.verdict.constraint if replayed else None
    text, differences = _write(chosen, demand, origin, target, constraint)
    notes += [f"Not taken: {note}" for note in (demand.measured.notes if demand.measured else ())]
    notes += [f"Warning: {difference}" for difference in differences]
    return give(_answer(chosen, target, text, notes), DONE)


def _described_in(sources: tuple[Path, ...], options: InitOptions) -> Path | None:
    """The file that describes the table; None of a live one, which alone has an account and metrics."""
    mistakes = Mistakes()
    if len(sources) > 1:
        mistakes.add("name one file that describes the table; several are the scenarios of a --suite")
    if bool(sources) == (options.table is not None):
        mistakes.add("name a file that describes the table, or a live one with --table NAME")
    if options.table is None and any(values_of(options.account).values()):
        mistakes.add("--region, --profile and --endpoint-url go with a live --table")
    if options.table is None and options.from_metrics:
        mistakes.add("--from-metrics reads CloudWatch, and needs a live --table")
    mistakes.refuse()
    return sources[0] if sources else None


def _write(
    table: "SourceTable", demand: Demand, origin: str, target: Path, throttled_by: "Constraint | None"
) -> tuple[str, list[str]]:
    """Write the scenario; give its text, and how its load differs from the measured one.

    Nothing is written that the next verb refuses.
    """
    from keyheat.inputs import parsed_toml
    from keyheat.plan.plan import differences_of_replay
    from keyheat.runfiles import write_text
    from keyheat.scenario.scenario import scenario_from_dict
    from keyheat.shipped import schema_beside

    text = scenario_text(table, demand, origin, schema_beside("scenario", target))
    scenario, differences = scenario_from_dict(parsed_toml(text), str(target)), list[str]()
    if demand.measured is not None:
        measured = demand.measured.asked_per_s
        differences = list(differences_of_replay(scenario, target.parent, throttled_by, measured))
        text = "".join(f"# {difference}\n" for difference in differences) + text
    write_text(target, text)
    return text, differences


def _write_suite(options: InitOptions, places: tuple[Path, ...]) -> Answer:
    """Write a suite with its schedules; tells what was written, and the next command."""
    from keyheat.regression.suite import write_suite

    name, schedules = options.suite or "", options.schedules
    if name.endswith(".toml"):
        bare = name.removesuffix(".toml")
        raise click.UsageError(f"--suite {name}: give it a name, such as {bare}; --out takes the file")
    suite, files = write_suite(name, places, schedules, options.file, force=options.force)
    cases, path = [case.name for case in suite.cases], short_path(suite.path)
    scheduled = (
        "The first lines of each schedule say how to install it; it runs the suite in KEYHEAT_SUITE."
        if schedules
        else f"To run it every night: --schedule {' | '.join(SCHEDULES)}"
    )
    written = [short_path(other) for other in files]
    return Answer(
        title=f"Suite {suite.name}",
        sentence=f"{path}{'' if path in written else ' was there and is kept'}: "
        f"{some(len(cases), 'case')}: {', '.join(cases)}.",
        notes=(*(other for other in written if other != path), scheduled, FIRST_SESSION),
        commands=(f"keyheat regress {path}",),
        data={"suite": path, "name": suite.name, "cases": cases, "schedules": schedules, "written": written},
    )


def _live(table: str, account: Account) -> "tuple[Source, Target]":
    """A live table with its scaling, and how it was reached. Raises `ValueError`."""
    from keyheat.evidence.table import connect
    from keyheat.intake.scaling import SERVICE, auto_scaling_of
    from keyheat.intake.sources import source_of
    from keyheat.intake.tables import NotTaken

    target = connect(table, clock=time.time, **values_of(account), open_minute=True)
    if (description := target.answer.get("Table")) is None:
        error = target.answer["Error"]
        raise NotTaken(f"table {table} in {target.region}: {error['Code']}: {error['Message']}")
    source = source_of(description)
    if not source.tables:
        raise NotTaken("; ".join((*source.notes, *source.others)))
    if account.endpoint_url is not None:
        return source, target
    indexes = [index["IndexName"] for index in description.get("GlobalSecondaryIndexes") or ()]
    scaling = auto_scaling_of(partial(target.factory, SERVICE), table, indexes)
    return replace(source, tables=(source.tables[0].with_auto_scaling(scaling),)), target


def _answer(table: "SourceTable", target: Path, text: str, notes: list[str]) -> Answer:
    """What was written, what it assumes, what was not taken, and the next commands."""
    from keyheat.scenario.scenario import ASSUMED

    assumed = [line.partition("  # ")[0].strip() for line in text.splitlines() if f"# {ASSUMED}" in line]
    lines = f"; {some(len(assumed), 'line')} assumed: look for {ASSUMED} in it" if assumed else ""
    return Answer(
        title=table.name,
        sentence=f"Scenario {short_path(target)}{lines}.",
        notes=(*notes, *table.remarks, *(f"Not taken: {note}" for note in table.notes)),
        commands=(f"keyheat plan {short_path(target)}", f"keyheat simulate {short_path(target)}"),
        data={
            "file": str(target), "table": table.name, "assumed": assumed, "not_taken": table.notes,
            "notes": table.remarks,
        },
    )  # fmt: skip
