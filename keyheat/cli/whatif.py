"""The verb whatif: how many shards, or how much capacity, and what it costs; on the simulator."""

from pathlib import Path
from typing import cast

import click

from keyheat.cli.common import Within, a_scenario, changed, price_list, some_prices
from keyheat.cli.telling import in_json
from keyheat.load.run.jobs import find_scenario
from keyheat.terminal.console import bars, out, print_json
from keyheat.words import BROKEN, DONE

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
    as_json: bool,
    prices: Path,
) -> int:
    """The smallest number of shards, or capacity, with which SCENARIO hardly throttles, and what it costs.

    Every number is tried on the simulator. Exit code 1: not even the largest one is enough.
    """
    from keyheat.plan.forecast import forecast
    from keyheat.simulator.search import SHARDS_MOST, Question, smallest_capacity, smallest_shards
    from keyheat.terminal.trying import Trying
    from keyheat.terminal.whatif import whatif_json, whatif_text
    from keyheat.words import Direction

    loaded, path = find_scenario(scenario, settings)
    listed, asked = price_list(prices), cast(Question, question)
    with Trying(f"{loaded.name}: {asked}", bars) as trying:
        if asked == "shards":
            found = smallest_shards(
                loaded,
                index=index,
                share_most=share,
                most=most or SHARDS_MOST,
                burst=burst,
                folder=path.parent,
                watch=trying,
            )
        else:
            found = smallest_capacity(
                loaded,
                Direction(asked.removesuffix("-capacity")),
                index=index,
                share_most=share,
                most=most,
                burst=burst,
                folder=path.parent,
                watch=trying,
            )
    key = forecast(loaded, listed, margin=1.0, folder=path.parent).hot_key if asked == "shards" else None
    writes = index is None and found.direction is Direction.WRITE
    formula = key.needed if key is not None and writes else None
    if as_json:
        print_json(whatif_json(found, listed, formula))
    else:
        out.print(whatif_text(found, listed, formula))
    return DONE if found.answer is not None else BROKEN
