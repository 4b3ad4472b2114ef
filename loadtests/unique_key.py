"""Invoice numbers are drawn at random, and a condition keeps them unique: what do the failed ones cost?"""

from typing import Any

import orjson
from locust import task

from keyheat.load.users.operations import ONLY_SORT_KEY
from keyheat.load.users.outcomes import Conditional
from keyheat.load.users.user import TableUser
from keyheat.model.units import write_units


class InvoiceUser(TableUser):
    """Writes an invoice under a number unless it is taken; the next attempt draws another number."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        size = self.load.items.draw_size(self.rng)
        self._condition: dict[str, Any] = {
            "ConditionExpression": "attribute_not_exists(#key)",
            "ExpressionAttributeNames": {"#key": self.table.partition_key},
        }
        self._size = size  # one size for all, so that old and new items cost the same
        self._conditional = Conditional(units=write_units(0, size), failed_units=write_units(size, size))

    @task
    def put_invoice(self) -> None:
        number = self.draw_key()
        invoice = orjson.Fragment(self.load.items.item(number, ONLY_SORT_KEY, self.rng, self._size))
        note = self._conditional
        self.ask("PutItem", number, note.units, note=note, Item=invoice, **self._condition)
