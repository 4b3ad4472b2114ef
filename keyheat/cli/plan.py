"""The verb plan: what a scenario asks for, throttles on and costs, before a run."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keyheat.cli.answers import as_markdown, give
from keyheat.cli.mistakes import CheckedCommand, Mistakes
from keyheat.cli.options import a_scenario, changed, in_json, price_list, some_prices
from keyheat.simulator.jobs import find_scenario
from keyheat.words import DONE

if TYPE_CHECKING:
    from keyheat.plan.quotas import Quotas

LOCAL = "local"


@click.command(cls=CheckedCommand)
@click.argument("scenario", type=a_scenario)
@changed
@in_json("the plan")
@click.option(
    "--target",
    default="local",
    show_default=True,
    help="aws or a URL: read the quotas there (free)",
)
@click.option("--region", help="Region of --target aws  [default: as the AWS SDK finds it]")
@click.option("--profile", help="AWS profile  [default: as the AWS SDK finds it]")
@as_markdown
@some_prices
def plan(
    scenario: str,
    settings: tuple[str, ...],
    target: str,
    region: str | None,
    profile: str | None,
    markdown: bool,
    prices: Path,
) -> int:
    """Estimate the demand, throttles and cost of SCENARIO before anything is sent."""
    from keyheat.cli.guards import plan_for
    from keyheat.plan.quotas import DEFAULT_QUOTAS
    from keyheat.show.plan import plan_answer
    from keyheat.simulator.alterations import check_shards
    from keyheat.simulator.dryrun.ask import loadtest_of

    mistakes = Mistakes()
    with mistakes.noted():
        if target == LOCAL and (region or profile):
            raise click.UsageError("--region and --profile are those of an account: add --target aws, too")
    with mistakes.noted():
        listed = price_list(prices)
    with mistakes.noted():
        loaded, path = find_scenario(scenario, settings)
        if loaded.load.arrivals != "trace":
            loadtest_of(loaded, path.parent)  # raises with the reason if its requests cannot be learnt
            check_shards(loaded, path.parent)
    mistakes.refuse()
    quotas = _TargetLimits(DEFAULT_QUOTAS) if target == LOCAL else _ask(target, region, profile)
    planned = plan_for(
        loaded, path.parent, listed, quotas=quotas.quotas,
        scale=quotas.scale, region=quotas.region,
    )  # fmt: skip
    answer = plan_answer(planned, scenario)
    return give(answer, DONE, markdown=markdown)


@dataclass(frozen=True, slots=True)
class _TargetLimits:
    """Quotas, Region and scale of a target."""

    quotas: "Quotas"
    region: str | None = None  # None: on this machine, or not configured
    scale: float | None = None  # of its limits; None: as the scenario has it


def _ask(target: str, region: str | None, profile: str | None) -> _TargetLimits:
    """Ask a target. Raises `ValueError` for a target or a profile that cannot be."""
    from keyheat.evidence.clients import boto3_clients
    from keyheat.evidence.table import account_quotas, region_of
    from keyheat.load.transport.endpoint_pages import scale_at
    from keyheat.load.transport.target import target_at

    if target == "aws":
        clients = boto3_clients(region=region or os.environ.get("AWS_REGION"), profile=profile)
        region = region_of(clients)
        return _TargetLimits(account_quotas(clients), region, 1.0)
    there = target_at(target, region=region)
    clients = boto3_clients(region=there.region, profile=profile, endpoint_url=there.url, local=there.local)
    if there.local:
        return _TargetLimits(account_quotas(clients), scale=scale_at(there))
    return _TargetLimits(account_quotas(clients), there.region, 1.0)
