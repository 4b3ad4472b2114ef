"""A mix of operations on one table: what does each cost, and which of them throttle?"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from locust import task

from keyheat.load.users.operations import ItemUser
from keyheat.scenario.spec.tasks import TaskSpec


class OperationsUser(ItemUser):
    """Sends what a scenario lists as `[[tasks]]` (`scenarios/operations.toml`)."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        tasks = self.load.order.scenario.tasks
        self._weights = [(self._task(spec), spec.share) for spec in tasks if spec.share]
        self._mix = Random(self.rng.random())

    def task_weights(self) -> Iterable[tuple[Callable[[], None], float]]:
        return self._weights

    @task
    def send_one(self) -> None:
        tasks, weights = zip(*self._weights, strict=True)
        self._mix.choices(tasks, weights)[0]()

    def _task(self, spec: TaskSpec) -> Callable[[], None]:
        of_name = {
            "put": self.put_item,
            "put_if_absent": self.put_if_absent,
            "update": self.update_item,
            "delete": self.delete_item,
            "batch_write": self.batch_write,
            "batch_get": self.batch_get,
            "transact_write": self.transact_write,
            "transact_get": self.transact_get,
        }

        def get_item() -> None:
            self.get_item(consistent=spec.consistent)

        def query_items() -> None:
            self.query_items(index=spec.index, limit=spec.limit, consistent=spec.consistent)

        return {**of_name, "get": get_item, "query": query_items}[spec.operation]
