"""The verb plan: a scenario in numbers and dollars, before anything is sent."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keyheat.cli.codes import DONE
from keyheat.cli.common import a_scenario, price_list, some_prices
from keyheat.cli.telling import in_json
from keyheat.load.run.jobs import find_scenario
from keyheat.terminal.console import out, print_json

if TYPE_CHECKING:
    from keyheat.plan.quotas import Quotas

LOCAL = "local"


@click.command()
@click.argument("scenario", type=a_scenario)
@in_json("the plan")
@click.option(
    "--target",
    default="local",
    show_default=True,
    help="local, which asks nobody; aws, or the URL of an endpoint, is asked for its quotas, which is free",
)
@click.option("--region", help="with --target aws  [default: as the AWS SDK finds it]")
@click.option("--profile", help="of the AWS configuration  [default: as the AWS SDK finds it]")
@click.option("--throttled-keys", is_flag=True, help="what Contributor Insights costs, too")
@some_prices
def plan(
    scenario: str,
    as_json: bool,
    target: str,
    region: str | None,
    profile: str | None,
    throttled_keys: bool,
    prices: Path,
) -> int:
    """What SCENARIO is going to ask for, throttle on and cost, before anything is sent."""
    from keyheat.analysis.thresholds import load_thresholds
    from keyheat.evidence.polling import most_metrics
    from keyheat.plan.expected import loadtest_of
    from keyheat.plan.planned import planned
    from keyheat.plan.quotas import DEFAULT_QUOTAS
    from keyheat.terminal.plan import plan_json, plan_text

    if target == LOCAL and (region or profile):
        raise click.UsageError("--region and --profile are those of an account: say --target aws, too")
    loaded, path = find_scenario(scenario)
    if loaded.load.arrivals != "trace":
        loadtest_of(loaded, path.parent)  # here it is said why nobody can say what it sends
    listed = price_list(prices)
    indexes = [index.name for index in loaded.table.indexes if not index.local]
    told = _Told(DEFAULT_QUOTAS) if target == LOCAL else _ask(target, region, profile)
    made = planned(
        loaded,
        listed,
        margin=load_thresholds().recommend.shard_margin,
        folder=path.parent,
        metric_requests=most_metrics(indexes),
        throttled_keys=throttled_keys,
        quotas=told.quotas,
        scale=told.scale,
        region=told.region,
    )
    if as_json:
        print_json(plan_json(made))
    else:
        out.print(plan_text(made))
        if told.through:
            out.print(f"\n{told.through}", markup=False)
    return DONE


@dataclass(frozen=True, slots=True)
class _Told:
    """What a target says of itself."""

    quotas: "Quotas"
    region: str | None = None  # None: on this machine, or not configured
    scale: float | None = None  # of its limits; None: as the scenario has it
    through: str | None = None  # the proxy between, in words


def _ask(target: str, region: str | None, profile: str | None) -> _Told:
    """Ask a target. Raises `ValueError` for a target or a profile that cannot be."""
    from keyheat.evidence.clients import boto3_clients
    from keyheat.evidence.quotas import account_quotas, region_of
    from keyheat.load.transport.proxy import proxy_in_words
    from keyheat.load.transport.target import scale_at, target_at

    if target == "aws":
        clients = boto3_clients(region=region or os.environ.get("AWS_REGION"), profile=profile)
        region = region_of(clients)
        through = proxy_in_words(target_at(clients("dynamodb").meta.endpoint_url)) if region else None
        return _Told(account_quotas(clients), region, 1.0, through)
    found = target_at(target, region=region)
    clients = boto3_clients(region=found.region, profile=profile, endpoint_url=found.url, local=found.local)
    if found.local:
        return _Told(account_quotas(clients), scale=scale_at(found))
    return _Told(account_quotas(clients), found.region, 1.0, proxy_in_words(found))
