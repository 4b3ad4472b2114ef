"""Totals of orders, kept in three ways: by a scan, in the order's transaction, from the table's stream."""

from dataclasses import replace
from functools import partial
from math import ceil

from keyheat.model import limits
from keyheat.model.units import read_units
from keyheat.simulator.flow import FlowAnswer
from keyheat.simulator.masses import Masses, even_masses, masses_of_shares
from keyheat.simulator.traffic.operations import put
from keyheat.simulator.traffic.setting import TrafficSetting, Written
from keyheat.simulator.traffic.users import LoadTest, TaskRequest, Users, one_task
from keyheat.words import Direction

REPORTS, REPORT_WITHIN_S = 5, (2.0, 10.0)
SEGMENTS = 4  # of a scan
FLUSH_EVERY_S = 2.0
TOTAL_UNITS = 1.0  # of the update of a total, a small item


def scanned(setting: TrafficSetting) -> LoadTest:
    """Orders are put; one user reads all of them from time to time."""
    orders = even_masses()
    least_s, most_s = REPORT_WITHIN_S
    every_s = min(most_s, max(least_s, setting.load.duration_s / REPORTS))

    def users() -> list[Users]:
        placing = one_task(_order(setting, orders))
        due = int(setting.at_s / every_s) - int(max(0.0, setting.at_s - 1) / every_s)
        reports = (_scan(setting, orders),) * due
        return [placing, Users((), fixed_count=1, aside=reports)]

    return users


def _order(setting: TrafficSetting, orders: Masses) -> TaskRequest:
    item = put(setting, orders)

    def told(answer: FlowAnswer) -> None:
        item.told(answer)
        _count_order(setting, answer)

    return replace(item, told=told)


def _count_order(setting: TrafficSetting, answer: FlowAnswer) -> None:
    setting.counts["orders.placed"] += answer.accepted
    setting.counts["orders.units"] += answer.units + sum(answer.index_units.values())


def _scan(setting: TrafficSetting, orders: Masses) -> TaskRequest:
    """A report: every order, in pages of 1 MB. It is read within a second."""
    of_segment = setting.written(orders).items * setting.load.mean_item_bytes / SEGMENTS
    pages = 1 + int(of_segment // limits.PAGE_BYTES)
    units = pages * read_units(ceil(of_segment / pages), consistent=False)

    def told(answer: FlowAnswer) -> None:
        setting.counts["orders.units"] += answer.units
        whole = answer.attempts and answer.accepted == answer.attempts
        setting.counts["totals.reports" if whole else "totals.incomplete_reports"] += 1

    return TaskRequest(
        operation="Scan",
        direction=Direction.READ,
        keys=orders,
        units=units / pages,
        requests=float(SEGMENTS * pages),
        eventual=True,
        told=told,
    )


def in_transactions(setting: TrafficSetting) -> LoadTest:
    """Each order is written together with the total that it changes, or neither is.

    Orders lie evenly and totals where products are popular, so each is a flow. A total's key has the run's
    name in it: on which partition that of the popular product is, is another in every run.
    """
    orders, run = even_masses(), f"{setting.rng.getrandbits(32):08x}"
    order = TaskRequest(
        operation="TransactWriteItems",
        direction=Direction.WRITE,
        keys=orders,
        units=limits.TRANSACTION_FACTOR * setting.load.mean_write_units,
        together=True,
        told=partial(_count_order, setting),
    )

    def told(answer: FlowAnswer) -> None:
        setting.counts["orders.units"] += answer.units
        setting.counts["transactions.requests"] += answer.flow.requests
        setting.counts["transactions.cancelled"] += max(0.0, answer.flow.requests - answer.accepted)
        if answer.conflicts:
            setting.counts["transactions.conflicts"] += answer.conflicts

    def users() -> list[Users]:
        total = replace(
            order,
            keys=setting.now("totals", lambda: _totals(setting.keys, run)),
            units=limits.TRANSACTION_FACTOR * TOTAL_UNITS,
            within=True,
            told=told,
        )
        return [one_task(order, total)]

    return users


def _totals(products: Masses, run: str) -> Masses:
    """The keys of the totals of these products."""
    shares = products.shares.tolist()
    named = {f"{run}/total/{products.name(number)}": share for number, share in enumerate(shares)}
    return masses_of_shares(named, even=products.even, distinct=products.distinct)


def from_stream(setting: TrafficSetting) -> LoadTest:
    """Orders are put; every two seconds one user adds what came to each total that it changes."""
    orders, totals_table = even_masses(), setting.companion("for the totals")
    since = Written(setting.keys)

    def users() -> list[Users]:
        item = _order(setting, orders)

        def told(answer: FlowAnswer) -> None:
            item.told(answer)
            since.items += answer.accepted

        flush: tuple[TaskRequest, ...] = ()
        if setting.at_s % FLUSH_EVERY_S < 1.0 and since.items:
            flush = (_flush(setting, since, totals_table.name),)
        return [one_task(replace(item, told=told)), Users((), fixed_count=1, aside=flush)]

    return users


def _flush(setting: TrafficSetting, since: Written, table: str) -> TaskRequest:
    """One update for each product that was ordered since the last one."""
    changed, since.items = since.different(), 0.0

    def told(answer: FlowAnswer) -> None:
        setting.counts["totals.updates"] += answer.accepted
        setting.counts["orders.units"] += answer.units

    return TaskRequest(
        operation="UpdateItem",
        direction=Direction.WRITE,
        keys=since.keys,
        units=TOTAL_UNITS,
        requests=changed,
        table=table,
        told=told,
    )
