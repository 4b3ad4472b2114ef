"""The verb retries: what the retries of SDKs make of a demand that is throttled."""

import click

from keyheat.cli.options import a_scenario, changed, in_json
from keyheat.load.run.jobs import find_scenario
from keyheat.model.retries import POLICIES, USUAL, policy_named
from keyheat.terminal.console import answer, bars, err
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
    default=10,
    show_default=True,
    help="clients of the SDK that share the demand, each with a retry quota of its own: processes, mostly",
)
@in_json("the answer")
def retries(scenario: str, settings: tuple[str, ...], sdks: tuple[str, ...], clients: int) -> int:
    """What the retries of SDKs make of SCENARIO's throttles: what is given up, how long the rest takes.

    The same demand is sent, request by request, to the simulator: for each policy, and without retries.
    """
    from keyheat.simulator.rehearsal import assumptions_of
    from keyheat.simulator.retrying import demand_of, retried
    from keyheat.terminal.progress import Simulating
    from keyheat.terminal.retries import retries_json, retries_text

    loaded, path = find_scenario(scenario, settings)
    names = dict.fromkeys(("none", *(sdks or USUAL)))
    demand = demand_of(loaded, path.parent)
    runs = []
    for policy in map(policy_named, names):
        with Simulating(f"{loaded.name}, {policy.name}", loaded.load.duration_s, bars) as bar:
            runs.append(retried(loaded, demand, policy, clients=clients, progress=bar.show))
    for line in assumptions_of(loaded, path.parent):
        err.print(line)
    answer(lambda: retries_json(loaded, runs, clients), lambda: retries_text(loaded, runs, clients))
    return DONE
