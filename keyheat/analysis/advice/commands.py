"""AWS CLI commands for a recommendation, to paste.

Keyheat runs none of them. https://docs.aws.amazon.com/cli/latest/reference/dynamodb/update-table.html
"""

import json
import shlex
from math import ceil
from typing import Any, Final

from keyheat.runs.formats import CureStep, Recommendation
from keyheat.runs.table_facts import NOT_SCALED, AutoScaling, IndexFacts, TableFacts
from keyheat.words import READ, WRITE, Direction, Resource, index_of

RAISED: Final = ("raise_capacity", "raise_maximum", "raise_minimum")
UPDATE: Final = "aws dynamodb update-table"
SETTINGS: Final = {
    "raise_capacity": ("provisioned-throughput", "ReadCapacityUnits", "WriteCapacityUnits"),
    "raise_minimum": ("provisioned-throughput", "ReadCapacityUnits", "WriteCapacityUnits"),
    "raise_max_on_demand": ("on-demand-throughput", "MaxReadRequestUnits", "MaxWriteRequestUnits"),
}
"""The CLI option for a capacity, and its names of reads and writes."""


def command_of(
    advice: Recommendation | CureStep, table: TableFacts, where: str, scaled: AutoScaling = NOT_SCALED
) -> str | None:
    """Return the command, on two lines; None if no command exists or the present capacity is unknown.

    `where` has the options for the table's Region or endpoint. For `scaled` resources it changes the range,
    since auto scaling would undo a fixed capacity.
    """
    if (command := _scaling(advice, table, where, scaled)) is not None:
        return command
    change = _capacity(advice, table)
    if change is None:
        return None
    return f"{UPDATE} --table-name {shlex.quote(table.name)}{_at(where)} \\\n  {change}"


def _at(where: str) -> str:
    return f" {where}" if where else ""


def _scaling(
    advice: Recommendation | CureStep, table: TableFacts, where: str, scaled: AutoScaling
) -> str | None:
    """Return the command that sets the range of auto scaling; None if it is off."""
    if advice.action not in RAISED or advice.units is None or advice.direction is None:
        return None
    index = index_of(advice.resource)
    range_now = scaled.of(Resource(index, advice.direction))
    if range_now is None:
        return None
    needed, kind = ceil(advice.units), "index" if index else "table"
    least = range_now.min if advice.action == "raise_maximum" else needed
    resource = f"table/{table.name}" + (f"/index/{index}" if index else "")
    return (
        f"aws application-autoscaling register-scalable-target --service-namespace dynamodb{_at(where)} \\\n"
        f"  --resource-id {shlex.quote(resource)} "
        f"--scalable-dimension dynamodb:{kind}:{advice.direction.title()}CapacityUnits "
        f"--min-capacity {least} --max-capacity {max(needed, range_now.max)}"
    )


def scaling_command(table: TableFacts, where: str) -> str:
    """Return the command that shows the ranges of the table's auto scaling, if it is on."""
    ids = [f"table/{table.name}", *(f"table/{table.name}/index/{index.name}" for index in table.indexes)]
    return (
        f"aws application-autoscaling describe-scalable-targets --service-namespace dynamodb{_at(where)} \\\n"
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


def _capacity(advice: Recommendation | CureStep, table: TableFacts) -> str | None:
    """Return the option that raises one rate of the table or an index, and keeps the other.

    None where it has as much: what was raised since is not lowered.
    """
    setting = SETTINGS.get(advice.action)
    index = index_of(advice.resource)
    owner = _owner(table, index)
    if setting is None or owner is None or advice.units is None or advice.direction is None:
        return None
    option, *names = setting
    provisioned = owner.provisioned or owner.provisioned_now
    now = provisioned if option == "provisioned-throughput" else owner.max_on_demand
    if now is None:
        return None
    rates: dict[Direction, float | None] = {READ: now.read, WRITE: now.write}
    if (rates[advice.direction] or 0.0) >= advice.units:
        return None
    then = rates | {advice.direction: advice.units}
    values = {name: ceil(rate) for name, rate in zip(names, then.values(), strict=True) if rate}
    if index is None:
        return f"--{option} {','.join(f'{name}={value}' for name, value in values.items())}"
    update: dict[str, Any] = {"IndexName": index, option.title().replace("-", ""): values}
    return f"--global-secondary-index-updates {shlex.quote(json.dumps([{'Update': update}]))}"


def _owner(table: TableFacts, index: str | None) -> TableFacts | IndexFacts | None:
    return table if index is None else next((facts for facts in table.indexes if facts.name == index), None)
