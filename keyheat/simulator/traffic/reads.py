"""Reads: queries of collections, from all of their shards, and of single items."""

from keyheat.simulator.flow import Answer
from keyheat.simulator.masses import Masses
from keyheat.simulator.traffic.costs import QueryCost, read_sizes
from keyheat.simulator.traffic.setting import Setting
from keyheat.simulator.traffic.users import Request
from keyheat.simulator.traffic.written import Written
from keyheat.words import Direction


def query(
    setting: Setting,
    keys: Masses,
    cost: QueryCost,
    *,
    of: Written | None = None,
    part: float = 1.0,
    shards: int = 1,
    index: str | None = None,
) -> Request:
    """One read of a collection: a query for each of its shards, page by page.

    `keys` are those that are asked, a shard each; `of` says how many items they have, of which the query
    matches a `part`.
    """
    found = of or setting.written(keys)
    pages, units = (found.mean(of, part, setting.coming) for of in (cost.pages, cost.units))
    times = shards * pages
    return Request(
        operation="Query",
        direction=Direction.READ,
        keys=setting.placed(keys, "point"),
        units=units / pages,
        times=times,
        eventual=not cost.consistent,
        index=index,
        told=lambda answer: count_reads(setting, answer, times),
    )


def get(setting: Setting, keys: Masses, *, there: float = 1.0, consistent: bool = True) -> Request:
    """One read of one item, which is there with this probability; else its price is the least one."""
    item, nothing = (
        setting.load.mean_read_units(consistent=consistent),
        1.0 if consistent else 0.5,
    )
    return Request(
        operation="GetItem",
        direction=Direction.READ,
        keys=setting.placed(keys, "point"),
        units=there * item + (1 - there) * nothing,
        sizes=read_sizes(setting.load, consistent=consistent) if there == 1.0 else (),
        eventual=not consistent,
        told=lambda answer: count_reads(setting, answer, 1.0),
    )


def count_reads(setting: Setting, answer: Answer, requests: float) -> None:
    """Count reads of so many requests each, not as reads that were checked: there are no items to check."""
    setting.counts["simulated.reads"] += answer.accepted / requests
    setting.counts["simulated.read_requests"] += answer.attempts
    setting.counts["simulated.read_units"] += answer.units
