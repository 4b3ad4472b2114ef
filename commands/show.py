"""Verbs that write pages and schemas: report, compare, schema."""

from datetime import UTC, datetime
from pathlib import Path

import click

from commands.common import DONE, INVALID, OUT, a_file, a_folder, a_path, price_list, some_prices
from reports.console import out, print_json, shown
from tablemodel.scenario import json_schema


@click.command()
@click.argument("folder", metavar="[DIR]", type=a_folder, required=False)
@click.option("--evidence", type=a_file, help="an evidence file, without the rest of a run; with --out")
@click.option("--out", "file", type=a_path, help="where the page of an evidence file goes")
def report(folder: Path | None, evidence: Path | None, file: Path | None) -> int:
    """Write report.html from the files of a run, or a page about an evidence file."""
    from reports.page import write_evidence_report, write_report

    now = datetime.now(UTC)
    if folder is not None and evidence is None and file is None:
        written = write_report(folder, now)
    elif folder is None and evidence is not None and file is not None:
        written = write_evidence_report(evidence, file, now)
    else:
        raise click.UsageError("say which: a run directory, or --evidence FILE --out FILE.html")
    out.print(f"Report: {shown(written)}", markup=False)
    return DONE


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=a_folder)
@click.option("--out", "file", type=a_path, default=OUT / "compare.html", show_default=True)
@some_prices
def compare(folders: tuple[Path, ...], file: Path, prices: Path) -> int:
    """One page over several run directories: verdicts, throughput, latency, cost and counts side by side."""
    from reports.side_by_side import write_comparison

    valid = write_comparison(file, folders, price_list(prices), datetime.now(UTC))
    out.print(f"Side by side: {shown(file)}", markup=False)
    return DONE if valid else INVALID


@click.command()
def schema() -> int:
    """The JSON Schema of a scenario file, for editors."""
    print_json(json_schema())
    return DONE
