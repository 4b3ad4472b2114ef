"""The verb retries: what the retries of SDKs make of a demand that is throttled."""

from datetime import UTC, datetime
from pathlib import Path

import click

from keyheat.cli.options import a_path, a_scenario, changed, command_of, in_json
from keyheat.load.run.jobs import find_scenario
from keyheat.model.retries import CLIENTS, NONE, POLICIES, USUAL, policy_named
from keyheat.terminal.console import answer, bars, err, out, strong
from keyheat.words import DONE


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
    from keyheat.terminal.progress import Simulating
    from keyheat.terminal.retries import retries_json, retries_text

    loaded, path = find_scenario(scenario, settings)
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
