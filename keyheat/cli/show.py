"""Verbs that write pages and schemas: report, compare, schema."""

from datetime import UTC, datetime
from pathlib import Path

import click

from keyheat.cli.codes import DONE, INVALID, WRONG_USE
from keyheat.cli.common import (
    OUT,
    a_file,
    a_folder,
    a_path,
    further_analyzers,
    price_list,
    say_problems,
    some_prices,
)
from keyheat.cli.telling import in_json
from keyheat.scenario.scenario import json_schema
from keyheat.terminal.bar import Working
from keyheat.terminal.console import bars, out, print_json, shown


@click.command()
@click.argument("folder", metavar="[DIR]", type=a_folder, required=False)
@click.option("--evidence", type=a_file, help="an evidence file, without the rest of a run; with --out")
@click.option("--out", "file", type=a_path, help="where the page of an evidence file goes")
@further_analyzers
@in_json("where the page is")
def report(
    folder: Path | None, evidence: Path | None, file: Path | None, further: tuple[Path, ...], as_json: bool
) -> int:
    """Write report.html from the files of a run, or a page about an evidence file."""
    from keyheat.pages.run.page import write_evidence_report, write_report

    now, code = datetime.now(UTC), DONE
    if folder is not None and evidence is None and file is None:
        if further:
            raise click.UsageError("--with asks anew: keyheat analyze DIR --with FILE, and then report")
        with Working("drawing the report", bars):
            written = write_report(folder, now)
    elif folder is None and evidence is not None and file is not None:
        with Working("drawing the report", bars):
            diagnosis = write_evidence_report(evidence, file, now, further)
        say_problems(diagnosis)
        written, code = file, WRONG_USE if diagnosis.problems else DONE
    else:
        raise click.UsageError("say which: a run directory, or --evidence FILE --out FILE.html")
    if as_json:
        print_json({"report": str(written)})
    else:
        out.print(f"Report: {shown(written)}", markup=False)
    return code


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=a_folder)
@click.option("--out", "file", type=a_path, default=OUT / "compare.html", show_default=True)
@in_json("where the page is, and whether every run is valid,")
@some_prices
def compare(folders: tuple[Path, ...], file: Path, as_json: bool, prices: Path) -> int:
    """One page over several run directories: verdicts, throughput, latency, cost and counts side by side."""
    from keyheat.pages.series.side_by_side import write_comparison

    listed = price_list(prices)
    with Working(f"drawing {len(folders)} runs", bars):
        valid = write_comparison(file, folders, listed, datetime.now(UTC))
    if as_json:
        print_json({"page": str(file), "valid": valid})
    else:
        out.print(f"Side by side: {shown(file)}", markup=False)
    return DONE if valid else INVALID


@click.command()
@click.argument(
    "what",
    metavar="[scenario|suite|regression]",
    type=click.Choice(["scenario", "suite", "regression"]),
    default="scenario",
)
def schema(what: str) -> int:
    """The JSON Schema of a file that people or programs write or read, for editors and checks.

    Of a scenario's file, of a suite's, or of what `keyheat regress` says in JSON.
    """
    from keyheat.regression.exports.summary import json_schema as of_regression
    from keyheat.regression.suites.spec import json_schema as of_suite

    schemas = {"scenario": json_schema, "suite": of_suite, "regression": of_regression}
    print_json(schemas[what]())
    return DONE
