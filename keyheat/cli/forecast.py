"""Verbs that say what to expect before anything is sent: plan, whatif, retries."""

import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from keyheat.cli.options import (
    a_path,
    a_scenario,
    changed,
    command_of,
    in_json,
    price_list,
    series_place,
    some_prices,
)
from keyheat.endpoint.options import Within
from keyheat.load.run.jobs import find_scenario
from keyheat.model.retries import CLIENTS, NONE, POLICIES, USUAL, policy_named
from keyheat.runfiles import check_writable, write_json
from keyheat.terminal.console import answer, bars, err, out, strong
from keyheat.words import BROKEN, DONE

if TYPE_CHECKING:
    from keyheat.plan.prices import Prices
    from keyheat.plan.quotas import Quotas
    from keyheat.scenario.scenario import Scenario
    from keyheat.simulator.search import Question, WhatIfSearch

LOCAL = "local"


@click.command()
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
@click.option("--throttled-keys", is_flag=True, help="include the price of Contributor Insights")
@click.option("--markdown", type=a_path, metavar="FILE", help="write Markdown for a pull request, too")
@some_prices
def plan(
    scenario: str,
    settings: tuple[str, ...],
    target: str,
    region: str | None,
    profile: str | None,
    throttled_keys: bool,
    markdown: Path | None,
    prices: Path,
) -> int:
    """Estimate the demand, throttles and cost of SCENARIO before anything is sent."""
    from keyheat.analysis.thresholds import load_thresholds
    from keyheat.evidence.cloudwatch import most_metrics
    from keyheat.plan.plan import planned
    from keyheat.plan.quotas import DEFAULT_QUOTAS
    from keyheat.show.data import json_of
    from keyheat.show.markdown import write_markdown
    from keyheat.show.plan import plan_answer
    from keyheat.show.text import text_of
    from keyheat.simulator.alterations import check_shards
    from keyheat.simulator.rehearsal.ask import loadtest_of

    if target == LOCAL and (region or profile):
        raise click.UsageError("--region and --profile are those of an account: add --target aws, too")
    loaded, path = find_scenario(scenario, settings)
    if loaded.load.arrivals != "trace":
        loadtest_of(loaded, path.parent)  # here it is said why nobody can say what it sends
        check_shards(loaded, path.parent)
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
    planned_answer = plan_answer(made, scenario)
    if told.through:
        planned_answer = replace(planned_answer, notes=(*planned_answer.notes, told.through))
    if markdown is not None:
        write_markdown(markdown, planned_answer)
    answer(lambda: json_of(planned_answer), lambda: text_of(planned_answer))
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
    from keyheat.evidence.table import account_quotas, region_of
    from keyheat.load.transport.endpoint_pages import scale_at
    from keyheat.load.transport.target import proxy_in_words, target_at

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


QUESTIONS = ("shards", "write-capacity", "read-capacity")


@click.command()
@click.argument("scenario", type=a_scenario)
@click.argument("question", type=click.Choice(QUESTIONS))
@changed
@click.option(
    "--throttle-share",
    "share",
    type=Within(0, 1),
    default=0.001,
    show_default=True,
    help="the largest part of the attempts that may be throttled",
)
@click.option("--index", help="a global secondary index: its keys, or its capacity")
@click.option(
    "--most", type=click.IntRange(1), help="largest number tried  [default: 100 shards, 40,000 units]"
)
@click.option("--with-burst", "burst", is_flag=True, help="count capacity that the table has saved up")
@click.option("--out", "folder", type=a_path, help="a page, whatif.html, and whatif.json go there, too")
@in_json("the answer")
@some_prices
def whatif(
    scenario: str,
    question: str,
    settings: tuple[str, ...],
    share: float,
    index: str | None,
    most: int | None,
    burst: bool,
    folder: Path | None,
    prices: Path,
) -> int:
    """The smallest number of shards, or capacity, with which SCENARIO hardly throttles, and what it costs.

    Every number is tried on the simulator. Exit code 1: not even the largest one is enough.
    """
    from keyheat.plan.forecast import forecast
    from keyheat.simulator.rehearsal.ask import assumptions_of
    from keyheat.simulator.search import Question
    from keyheat.terminal.answers import whatif_text
    from keyheat.wording.whatif import whatif_json
    from keyheat.words import Direction

    loaded, path = find_scenario(scenario, settings)
    listed, asked = price_list(prices), cast(Question, question)
    if folder is not None:
        series_place(folder, loaded.name)
    found = _searched(
        loaded, asked, index=index, share_most=share, most=most, burst=burst, folder=path.parent
    )
    key = forecast(loaded, listed, margin=1.0, folder=path.parent).hot_key if asked == "shards" else None
    writes = index is None and found.direction is Direction.WRITE
    formula = key.needed if key is not None and writes else None
    for line in assumptions_of(loaded, path.parent):
        err.print(line)
    content = whatif_json(found, listed, formula)
    page = None if folder is None else _write_page(folder, found, listed, formula, content, path.parent)
    answer(
        lambda: content | ({} if page is None else {"page": str(page)}),
        lambda: whatif_text(found, listed, formula),
    )
    if page is not None:
        out.print(strong("The page: ", page))
    return DONE if found.answer is not None else BROKEN


def _searched(
    loaded: "Scenario",
    asked: "Question",
    *,
    index: str | None,
    share_most: float,
    most: int | None,
    burst: bool,
    folder: Path,
) -> "WhatIfSearch":
    """The smallest number of what is asked for."""
    from keyheat.simulator.search import SHARDS_MOST, smallest_capacity, smallest_shards
    from keyheat.terminal.progress import Trying
    from keyheat.words import Direction

    with Trying(f"{loaded.name}: {asked}", bars) as trying:
        if asked == "shards":
            return smallest_shards(
                loaded, index=index, share_most=share_most, most=most or SHARDS_MOST, burst=burst,
                folder=folder, watch=trying,
            )  # fmt: skip
        return smallest_capacity(
            loaded, Direction(asked.removesuffix("-capacity")), index=index, share_most=share_most,
            most=most, burst=burst, folder=folder, watch=trying,
        )  # fmt: skip


def _write_page(
    folder: Path,
    found: "WhatIfSearch",
    prices: "Prices",
    formula: int | None,
    content: dict[str, Any],
    scenarios: Path,
) -> Path:
    """Write the answer into a folder, as a page and for programs; gives the page's path."""
    from keyheat.pages.whatif import NAME, answered, write_whatif
    from keyheat.wording.whatif import FORMAT

    command = command_of(click.get_current_context(), "--out")
    write_json(folder / "whatif.json", FORMAT, content)
    return write_whatif(
        folder / NAME, answered(found, prices, formula, command, scenarios), datetime.now(UTC)
    )


@click.command()
@click.argument("scenario", type=a_scenario)
@changed
@click.option(
    "--sdk",
    "sdks",
    type=click.Choice([policy.name for policy in POLICIES]),
    multiple=True,
    help=f"whose policy is tried; may be repeated  [default: {', '.join(USUAL)}]",
)
@click.option(
    "--clients",
    type=click.IntRange(1, 10_000),
    help="clients of the SDK that share the demand, each with a retry quota of its own: processes, mostly  "
    f"[default: the scenario's, or {CLIENTS}]",
)
@click.option("--out", "file", type=a_path, help="a page goes there, too: retries.html")
@in_json("the answer")
def retries(
    scenario: str, settings: tuple[str, ...], sdks: tuple[str, ...], clients: int | None, file: Path | None
) -> int:
    """What the retries of SDKs make of SCENARIO's throttles: what is given up, how long the rest takes.

    The same demand is sent, request by request, to the simulator: without retries, as the scenario's client
    does where it says so, and for each policy.
    """
    from keyheat.simulator.rehearsal.ask import assumptions_of
    from keyheat.simulator.retrying import demand_of, retried
    from keyheat.terminal.answers import retries_text
    from keyheat.terminal.progress import Simulating
    from keyheat.wording.retries import retries_json

    loaded, path = find_scenario(scenario, settings)
    if file is not None:
        check_writable(file)
    own = loaded.client
    clients = clients or (CLIENTS if own.sdk == "none" else own.clients)
    tried = dict.fromkeys((NONE, own.policy, *map(policy_named, sdks or USUAL)))
    demand = demand_of(loaded, path.parent)
    runs = []
    for policy in tried:
        with Simulating(f"{loaded.name}, {policy.name}", loaded.load.duration_s, bars) as bar:
            runs.append(retried(loaded, demand, policy, clients=clients, progress=bar.show))
    for line in assumptions_of(loaded, path.parent):
        err.print(line)
    page = {}
    if file is not None:
        from keyheat.pages.retries import RetriesAnswer, write_retries

        command = command_of(click.get_current_context(), "--out")
        found = RetriesAnswer(scenario=loaded, runs=tuple(runs), clients=clients, command=command)
        page["page"] = str(write_retries(file, found, datetime.now(UTC)))
    answer(lambda: retries_json(loaded, runs, clients) | page, lambda: retries_text(loaded, runs, clients))
    if file is not None:
        out.print(strong("The page: ", file))
    return DONE
