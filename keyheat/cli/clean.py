"""The verb clean: the items that a run left on somebody else's table are found by their mark, and deleted."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keyheat.cli.common import Within, a_folder, price_list, some_prices
from keyheat.cli.telling import in_json
from keyheat.plan.prices import Prices
from keyheat.terminal.console import bars, confirmed, err, out, print_json, shown
from keyheat.words import DONE, INTERRUPTED, INVALID, REFUSED

if TYPE_CHECKING:
    from keyheat.load.existing.cleaning import Cleaned
    from keyheat.load.existing.leftovers import Leftovers

ATTEMPTS = 10


@click.command()
@click.argument("folder", metavar="DIR", type=a_folder)
@click.option("--yes", is_flag=True, help="do not ask; needed where nobody can be asked")
@click.option(
    "--max-units-per-s",
    "most_per_s",
    type=Within(min=0, min_open=True),
    help="reads and writes together  [default: a quarter of what the table has provisioned, or 500]",
)
@click.option("--endpoint-url", help="where the table is, if neither on this machine nor in AWS")
@in_json("what was deleted, and what it consumed,")
@some_prices
def clean(
    folder: Path,
    yes: bool,
    most_per_s: float | None,
    endpoint_url: str | None,
    as_json: bool,
    prices: Path,
) -> int:
    """Delete the items of the run in DIR from a table that no run of ours created, and no other item.

    The whole table is read to find them. Interrupted, the same command goes on where it was.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    from keyheat.cli.guards import at_known_endpoint
    from keyheat.load.existing.leftovers import leftovers_of
    from keyheat.load.transport.boto import make_client

    left = at_known_endpoint(lambda url: leftovers_of(folder, url), endpoint_url)
    listed = price_list(prices)
    if not left.marked:
        return _nothing(left.without_marks, as_json=as_json)
    try:
        with closing(make_client(left.target, attempts=ATTEMPTS)) as client:
            return _clean(client, folder, left, listed, yes=yes, most_per_s=most_per_s, as_json=as_json)
    except (ClientError, BotoCoreError) as error:
        err.print(f"table {left.table} at {left.target.url}: {error}. {_how_to_go_on(folder)}", markup=False)
        return INVALID


def _nothing(why: str, *, as_json: bool) -> int:
    """Say why there is nothing to clean."""
    if as_json:
        print_json({"deleted": 0, "finished": True, "because": why})
    else:
        out.print(why, markup=False)
    return DONE


def _clean(
    client: Any,
    folder: Path,
    left: "Leftovers",
    prices: Prices,
    *,
    yes: bool,
    most_per_s: float | None,
    as_json: bool,
) -> int:
    from keyheat.load.existing.cleaning import Cleaner, begun
    from keyheat.load.existing.leftovers import cost_in_words, usual_pace
    from keyheat.load.existing.pacing import UnitPace
    from keyheat.load.tables.waiting import described
    from keyheat.terminal.progress import CleaningBar

    description = described(client, left.table)
    if description is None:
        return _nothing(f"nothing to clean: table {left.table} is not there any more", as_json=as_json)
    pace = most_per_s or usual_pace(description, local=left.target.local)
    err.print(cost_in_words(left, description, prices, pace), markup=False)
    if left.running:
        err.print("Its run says that it is still going on: if it is, wait for its end.", markup=False)
    if not (left.target.local or yes or _agreed()):
        err.print("keyheat: refused: say --yes to have them deleted", markup=False)
        return REFUSED
    size_bytes = description.get("TableSizeBytes", 0)
    cleaned = begun(folder, run_id=left.run_id, table=left.table, size_bytes=size_bytes)
    with CleaningBar(cleaned.table, cleaned.segments, bars) as bar:
        cleaner = Cleaner(
            client=client,
            description=description,
            cleaned=cleaned,
            pace=UnitPace(units_per_s=pace),
            note=lambda now: bar.show(len(now.done), now.deleted),
        )
        try:
            cleaner.clean(lambda now: now.save(folder))
        except KeyboardInterrupt:
            code = INTERRUPTED
        else:
            code = DONE
    if as_json:
        print_json(_json(cleaned))
    else:
        _say(cleaned, folder, left)
    return code


def _agreed() -> bool:
    """Whether somebody who can be asked says yes."""
    from keyheat.load.guard.consent import somebody_there

    return somebody_there() and confirmed("Delete them?")


def _json(cleaned: "Cleaned") -> dict[str, object]:
    return {
        "run_id": cleaned.run_id,
        "table": cleaned.table,
        "deleted": cleaned.deleted,
        "left": cleaned.left,
        "read_units": cleaned.read_units,
        "write_units": cleaned.write_units,
        "segments": cleaned.segments,
        "segments_done": len(cleaned.done),
        "finished": cleaned.finished,
    }


def _say(cleaned: "Cleaned", folder: Path, left: "Leftovers") -> None:
    out.print(
        f"{cleaned.deleted:,} items of run {cleaned.run_id} deleted from table {cleaned.table}, "
        f"for {cleaned.read_units:,.0f} read and {cleaned.write_units:,.0f} write units",
        markup=False,
    )
    if cleaned.left:
        err.print(f"{cleaned.left:,} were somebody else's by then, and are left as they are", markup=False)
    if not cleaned.finished:
        done, of = len(cleaned.done), cleaned.segments
        err.print(f"{done:,} of {of:,} parts of the table are done. {_how_to_go_on(folder)}", markup=False)


def _how_to_go_on(folder: Path) -> str:
    return f"To go on: keyheat clean {shown(folder)}"
