"""Commands to paste: of the AWS CLI for a recommendation, and those that get more evidence.

Keyheat runs none of them. https://docs.aws.amazon.com/cli/latest/reference/dynamodb/update-table.html
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import timedelta
from math import ceil
from typing import Any, Final

from keyheat.runs.formats import CureStep, Diagnosis, Evidence, Recommendation, Window
from keyheat.runs.table_facts import NOT_SCALED, AutoScaling, ScalingRange, TableFacts, region_of_arn
from keyheat.words import WRITE, Resource, index_of

RAISED: Final = ("raise_capacity", "raise_maximum", "raise_minimum")
UPDATE: Final = "aws dynamodb update-table"
SCALE: Final = "aws application-autoscaling"
SETTINGS: Final = {
    "raise_capacity": ("provisioned-throughput", "ReadCapacityUnits", "WriteCapacityUnits"),
    "raise_minimum": ("provisioned-throughput", "ReadCapacityUnits", "WriteCapacityUnits"),
    "raise_max_on_demand": ("on-demand-throughput", "MaxReadRequestUnits", "MaxWriteRequestUnits"),
}
"""The CLI option for a capacity, and its names of reads and writes."""


def command_of(
    steps: Sequence[Recommendation | CureStep],
    table: TableFacts,
    where: str,
    scaled: AutoScaling = NOT_SCALED,
) -> str | None:
    """Return one command for all steps; None if no command exists or the present capacity is unknown.

    `where` has the options for the table's Region or endpoint. For `scaled` resources it changes the range,
    since auto scaling would undo a fixed capacity.
    """
    changes: list[dict[str, Any]] = []  # of table and indexes, as UpdateTable has them
    for step in steps:
        index, direction, setting = index_of(step.resource), step.direction, SETTINGS.get(step.action)
        if step.units is None or direction is None:
            return None
        range_now = scaled.of(Resource(index, direction)) if step.action in RAISED else None
        if range_now is not None:
            return _range_command(step, table, where, range_now) if len(steps) == 1 else None
        owner = table if index is None else next((each for each in table.indexes if each.name == index), None)
        if setting is None or owner is None:
            return None
        option, *names = setting
        provisioned = owner.provisioned or owner.provisioned_now
        now = provisioned if option == "provisioned-throughput" else owner.max_on_demand
        if now is None or (now.of(direction) or 0.0) >= step.units:  # what was raised since is not lowered
            return None
        change = next((each for each in changes if each["index"] == index), None)
        if change is None:
            rates = zip(names, (now.read, now.write), strict=True)
            change = {"index": index, "option": option, "rates": {name: ceil(of) for name, of in rates if of}}
            changes.append(change)
        change["rates"][names[direction is WRITE]] = ceil(step.units)
    return f"{UPDATE} --table-name {shlex.quote(table.name)}{_at(where)} \\\n  {_options(changes)}"


def _options(changes: Sequence[Mapping[str, Any]]) -> str:
    """The options of `update-table` for the table's rates and those of its indexes."""
    words, updates = [], []
    for change in changes:
        option, rates = change["option"], change["rates"]
        if change["index"] is None:
            words.append(f"--{option} {','.join(f'{name}={value}' for name, value in rates.items())}")
        else:
            parameter = option.title().replace("-", "")
            updates.append({"Update": {"IndexName": change["index"], parameter: rates}})
    if updates:
        words.append(f"--global-secondary-index-updates {shlex.quote(json.dumps(updates))}")
    return " \\\n  ".join(words)


def _range_command(
    step: Recommendation | CureStep, table: TableFacts, where: str, range_now: ScalingRange
) -> str:
    """The command that sets the range in which a resource scales."""
    index, needed = index_of(step.resource), ceil(step.units or 0.0)
    least = range_now.min if step.action == "raise_maximum" else needed
    resource = f"table/{table.name}" + (f"/index/{index}" if index else "")
    side = str(step.direction).title()
    return (
        f"{SCALE} register-scalable-target --service-namespace dynamodb{_at(where)} \\\n"
        f"  --resource-id {shlex.quote(resource)} "
        f"--scalable-dimension dynamodb:{'index' if index else 'table'}:{side}CapacityUnits "
        f"--min-capacity {least} --max-capacity {max(needed, range_now.max)}"
    )


def _at(where: str) -> str:
    return f" {where}" if where else ""


def scaling_command(table: TableFacts, where: str) -> str:
    """Return the command that shows the ranges of the table's auto scaling, if it is on."""
    ids = [f"table/{table.name}", *(f"table/{table.name}/index/{index.name}" for index in table.indexes)]
    return (
        f"{SCALE} describe-scalable-targets --service-namespace dynamodb{_at(where)} \\\n"
        f"  --resource-ids {' '.join(map(shlex.quote, ids))}"
    )


def needs_accesses(resource: Resource) -> bool:
    """Whether only accesses name its keys: writes that an index throttles count for no key."""
    return resource.index is not None and resource.direction == WRITE


def insights_command(table: TableFacts, resource: Resource, where: str) -> str:
    """Return the command that enables Contributor Insights for future requests."""
    index, mode = resource.index, "ACCESSED_AND_THROTTLED" if needs_accesses(resource) else "THROTTLED"
    name, of_index = shlex.quote(table.name), f" --index-name {shlex.quote(index)}" if index else ""
    return (
        f"aws dynamodb update-contributor-insights --table-name {name}{of_index}{_at(where)} \\\n"
        f"  --contributor-insights-action ENABLE --contributor-insights-mode {mode}_KEYS"
    )


def account_command(evidence: Evidence, options: str = "") -> str:
    """Return the command that reads all evidence with access to the account."""
    return f"keyheat diagnose {shlex.quote(evidence.table.name)} {_times(evidence.window)}{_at(options)}"


def collect_command(evidence: Evidence, *indexes: str) -> str:
    """Return the command that collects the table's evidence again, with the named indexes."""
    region = region_of_arn(evidence.table.arn or "")
    words = ["keyheat collect --table", shlex.quote(evidence.table.name)]
    words += [f"--index {shlex.quote(index)}" for index in indexes]
    return " ".join((*words, _times(evidence.window), *([f"--region {region}"] if region else [])))


def file_commands(evidence: Evidence, options: str = "") -> tuple[str, ...]:
    """Return the commands for two persons: one has access to the account, the other reads its files."""
    table, where = shlex.quote(evidence.table.name), _at(options)
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
    end += timedelta(minutes=1) if end < window.end else timedelta()
    return f"--start {start:%Y-%m-%dT%H:%MZ} --end {end:%Y-%m-%dT%H:%MZ}"
