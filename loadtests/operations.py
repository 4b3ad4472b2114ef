"""A mix of operations on one table: what does each cost, and which of them throttle?"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from locust import task

from keyheat.load.users.operations import BatchUser, TransactionUser


class OperationsUser(BatchUser, TransactionUser):
    """Sends what `[load.operations]` says, each by its weight (`configs/scenarios/operations.toml`)."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        mix = self.load.order.scenario.load.operations
        assert mix is not None, "checked with the scenario"
        weights = mix.weights()
        of_name = {
            "put": self.put_item,
            "put_if_absent": self.put_if_absent,
            "update": self.update_item,
            "delete": self.delete_item,
            "get": self.get_item,
            "query": self.query_items,
            "batch_write": self.batch_write,
            "batch_get": self.batch_get,
            "transact_write": self.transact_write,
            "transact_get": self.transact_get,
        }
        self._weights = {of_name[name]: weight for name, weight in weights.items()}
        self._mix = Random(self.rng.random())

    def task_weights(self) -> Iterable[tuple[Callable[[], None], float]]:
        return self._weights.items()

    @task
    def send_one(self) -> None:
        self._mix.choices(list(self._weights), list(self._weights.values()))[0]()
