"""The commands that get more evidence of a table and a window, to paste."""

import shlex
from datetime import timedelta

from keyheat.runs.formats import Diagnosis, Evidence, Window
from keyheat.runs.table_facts import region_of_arn

MINUTE = timedelta(minutes=1)


def account_command(evidence: Evidence, options: str = "") -> str:
    """Return the command that reads all evidence with access to the account."""
    where = f" {options}" if options else ""
    return f"keyheat diagnose {shlex.quote(evidence.table.name)} {_times(evidence.window)}{where}"


def collect_command(evidence: Evidence, *indexes: str) -> str:
    """Return the command that collects the table's evidence again, with the named indexes."""
    region = region_of_arn(evidence.table.arn or "")
    words = ["keyheat collect --table", shlex.quote(evidence.table.name)]
    words += [f"--index {shlex.quote(index)}" for index in indexes]
    return " ".join((*words, _times(evidence.window), *([f"--region {region}"] if region else [])))


def file_commands(evidence: Evidence, options: str = "") -> tuple[str, ...]:
    """Return the commands for two persons: one has access to the account, the other reads its files."""
    table, where = shlex.quote(evidence.table.name), f" {options}" if options else ""
    indexes = "".join(f" --index {shlex.quote(index.name)}" for index in evidence.table.indexes)
    return (
        f"keyheat queries --table {table}{indexes} {_times(evidence.window)} > request.json",
        "aws cloudwatch get-metric-data --cli-input-json file://request.json --output json"
        f"{where} > answer.json",
        f"aws dynamodb describe-table --table-name {table} --output json{where} > table.json",
        f"keyheat diagnose {table} --metrics answer.json --describe-json table.json",
    )


def what_settles(diagnosis: Diagnosis, evidence: Evidence) -> str:
    """Say which evidence would decide an undetermined verdict, and the commands that get it."""
    verdict = diagnosis.verdict
    why = [verdict.settled_by] if verdict.settled_by else list(verdict.because)
    lines = [*why, *(f"Missing: {line}" for line in diagnosis.coverage.missing)]
    if evidence.source == "aws":
        lines += ["With access to the account:", f"  {account_command(evidence)}"]
        lines += [
            "With files from somebody who has access:",
            *(f"  {line}" for line in file_commands(evidence)),
        ]
    return "\n".join(lines)


def _times(window: Window) -> str:
    """The window as options, in whole minutes."""
    start = window.start.replace(second=0, microsecond=0)
    end = window.end.replace(second=0, microsecond=0)
    end += MINUTE if end < window.end else timedelta()
    return f"--start {start:%Y-%m-%dT%H:%MZ} --end {end:%Y-%m-%dT%H:%MZ}"
