"""Users that place orders, and users that want to know what was sold of each product on each day.

The key pattern of the scenario draws products; an order's own key is new each time, so orders spread evenly.
"""

from collections.abc import Iterator
from typing import Any

import gevent
import orjson
from gevent.pool import Pool
from locust.exception import StopUser

from keyheat.load.transport.answer import Answer
from keyheat.load.users.orders import (
    DAY,
    PRODUCT,
    QUANTITY,
    Of,
    OrderTally,
    OrderTotals,
    add_order,
    day_of,
    order_item,
    order_prefix,
    total_key,
    total_update,
)
from keyheat.load.users.outcomes import RequestPart, Transaction, consumed
from keyheat.load.users.user import TableUser
from keyheat.model.units import write_units
from keyheat.scenario.scenario import Scenario

MOST_PIECES = 5
UPDATE_UNITS = 2.0  # of a total, a small item, in a transaction


def text_keys(scenario: Scenario) -> Iterator[str]:
    """Orders and totals are found by the text that their keys begin with."""
    tables = {"$.table": scenario.table}
    tables |= {f"$.companions[{number}]": table for number, table in enumerate(scenario.companions)}
    for path, table in tables.items():
        for side in ("partition_key_type", "sort_key_type"):
            if getattr(table, side) != "S":
                yield f"keys of orders and totals are text @ {path}.{side}"


class OrderUser(TableUser):
    """Places orders, each of one product; by itself, or together with the total that it changes."""

    abstract = True
    only_ours = "its orders have keys of text that name the run"

    @classmethod
    def lacks(cls, scenario: Scenario) -> Iterator[str]:
        yield from text_keys(scenario)

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._run_id = self.load.order.run_id

    def place(self) -> None:
        number, _, item, size = self._new_order()
        key = order_prefix(self._run_id) + number
        self._placed(self.ask("PutItem", key, write_units(0, size), Item=item))

    def place_with_total(self) -> None:
        """Write one order and add it to its total, in one transaction."""
        number, of, item, size = self._new_order()
        tally = OrderTally(1, int(item[QUANTITY]["N"]))
        update = total_update(self._table, self._run_id, of, tally)
        items = [{"Put": {"TableName": self._table.name, "Item": item}}, {"Update": update}]
        # With a token, a request that is sent again is not done again.
        once = {"ClientRequestToken": number} if self.load.retries is not None else {}
        parts = [
            RequestPart(order_prefix(self._run_id) + number, None, write_units(0, size, transactional=True)),
            RequestPart(total_key(self._run_id, of), None, UPDATE_UNITS),
        ]
        note, key = Transaction(parts), parts[1].key
        self._placed(self.ask("TransactWriteItems", key, note.units, note=note, TransactItems=items, **once))

    def _new_order(self) -> tuple[str, Of, dict[str, Any], int]:
        """The number of an order, what it counts for, the item, and its size."""
        number = self.next_sort_key()
        of = (self.draw_key(), day_of(number))
        size = self.load.items.draw_size(self.rng)
        quantity = 1 + self.rng.randrange(MOST_PIECES)
        item = order_item(self._table, self._run_id, number, of, quantity=quantity, size_bytes=size)
        return number, of, item, size

    def _placed(self, answer: Answer) -> None:
        if answer.accepted:
            self.count("orders.placed")
            self.count("orders.units", consumed(answer)[0])


SEGMENTS = 4
REPORTS = 5  # over the run, but
REPORT_WITHIN_S = (2.0, 10.0)  # neither more often nor more seldom than this
TRIES = 5  # of one page that is throttled


class ReportUser(TableUser):
    """Scans the orders from time to time and adds up what was sold; a report takes as long as it takes.

    Reports come at their own times: they are no part of the load that the scenario states.
    """

    abstract = True
    only_ours = "a report reads the whole table, again and again"

    @classmethod
    def not_sampled(cls, scenario: Scenario) -> str:
        return "scans all that was written by then"

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        scenario = self.load.order.scenario
        self._prefix = order_prefix(self.load.order.run_id)
        least_s, most_s = REPORT_WITHIN_S
        self._every_s = min(most_s, max(least_s, scenario.load.duration_s / REPORTS))
        self._page_units = 0.5  # of the last page that was read

    def on_start(self) -> None:
        """Let some orders come first."""
        gevent.sleep(self._every_s)

    def wait_time(self) -> float:
        """Seconds until the next report is begun."""
        return self._every_s

    def report(self) -> OrderTotals:
        """Add up all orders, the table being read in segments at the same time; timed as a whole."""
        began_s = self.elapsed_s
        totals = OrderTotals()
        whole = all(Pool(SEGMENTS).map(lambda segment: self._read(segment, totals), range(SEGMENTS)))
        if self.load.stopping:
            raise StopUser
        self.count("totals.reports" if whole else "totals.incomplete_reports")
        self.load.record.timed("Report", int((self.elapsed_s - began_s) * 1e6))
        return totals

    def _read(self, segment: int, totals: OrderTotals) -> bool:
        """Add up one segment; whether all of it could be read."""
        start: dict[str, Any] | None = None
        while True:
            page = self._page(segment, start)
            if page is None:
                return False
            for item in page["Items"]:
                if item[self._table.partition_key]["S"].startswith(self._prefix):
                    add_order(totals, item)
            start = page.get("LastEvaluatedKey")
            if start is None:
                return True

    def _page(self, segment: int, start: dict[str, Any] | None) -> dict[str, Any] | None:
        """One page of a segment; None if it stays throttled, or the test stops."""
        request = {
            "TableName": self._table.name,
            "Segment": segment,
            "TotalSegments": SEGMENTS,
            "ProjectionExpression": "#k, #p, #d, #q",  # a smaller answer, for the same units
            "ExpressionAttributeNames": {
                "#k": self._table.partition_key,
                "#p": PRODUCT,
                "#d": DAY,
                "#q": QUANTITY,
            },
            "ReturnConsumedCapacity": "TOTAL",
            **({"ExclusiveStartKey": start} if start else {}),
        }
        try:
            answer = self.send_aside(
                "Scan", orjson.dumps(request), key=f"segment {segment}", direction="read",
                units=self._page_units, tries=TRIES,
            )  # fmt: skip
        except StopUser:  # gevent prints what escapes a greenlet
            return None
        if not answer.accepted:
            return None
        self._page_units = consumed(answer)[0]
        self.count("orders.units", self._page_units)
        return answer.content()
