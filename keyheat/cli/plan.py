"""The verb plan: what a scenario asks for, throttles on and costs, before a run."""

import os
from dataclasses import dataclass
from typing import Any

import click

from keyheat.cli.mistakes import CheckedCommand, Mistakes
from keyheat.cli.options import AS_MARKDOWN, Priced, a_scenario, changed, give, in_json
from keyheat.flags import option, options_of, takes
from keyheat.simulator.jobs import find_scenario
from keyheat.words import DONE

LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Whose quotas and prices hold."""

    target: str = option("aws or a URL: read the quotas there (free)", default="local")
    region: str | None = option("Region of --target aws  [default: as the AWS SDK finds it]")
    profile: str | None = option("AWS profile  [default: as the AWS SDK finds it]")
    markdown: bool = option(AS_MARKDOWN, default=False)
    priced: Priced = options_of(Priced)


@click.command(cls=CheckedCommand)
@click.argument("scenario", type=a_scenario)
@changed
@in_json("the plan")
@takes("options", PlanOptions)
def plan(scenario: str, settings: tuple[str, ...], options: PlanOptions) -> int:
    """Estimate the demand, throttles and cost of SCENARIO before anything is sent."""
    from keyheat.cli.guards import plan_for
    from keyheat.show.plan import plan_answer
    from keyheat.simulator.dryrun import loadtest_of
    from keyheat.simulator.traffic import check_shards

    target, region, profile, mistakes = options.target, options.region, options.profile, Mistakes()
    if target == LOCAL and (region or profile):
        mistakes.add("--region and --profile are those of an account: add --target aws, too")
    with mistakes.noted():
        loaded, path = find_scenario(scenario, settings)
        if loaded.load.arrivals != "trace":
            loadtest_of(loaded, path.parent)  # raises with the reason if its requests cannot be learnt
            check_shards(loaded, path.parent)
    mistakes.refuse()
    listed, limits = options.priced.listed, _limits_of(target, region, profile)
    planned = plan_for(loaded, path.parent, listed, **limits)
    return give(plan_answer(planned, scenario), DONE, markdown=options.markdown)


def _limits_of(target: str, region: str | None, profile: str | None) -> dict[str, Any]:
    """Ask a target for its quotas, Region and scale. Raises `ValueError` if it or its profile cannot be."""
    if target == LOCAL:
        return {}
    from keyheat.evidence.clients import boto3_clients
    from keyheat.evidence.table import account_quotas, region_of
    from keyheat.load.transport.boto import scale_at
    from keyheat.load.transport.target import target_at

    there = None if target == "aws" else target_at(target, region=region)
    region = (region or os.environ.get("AWS_REGION")) if there is None else there.region
    url, local = (None, False) if there is None else (there.url, there.local)
    clients = boto3_clients(region=region, profile=profile, endpoint_url=url, local=local)
    limits: dict[str, Any] = {"quotas": account_quotas(clients)}
    if there is not None and local:
        return limits | {"scale": scale_at(there)}
    return limits | {"region": region_of(clients), "scale": 1.0}
