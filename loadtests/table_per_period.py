"""Each period has a table of its own: is the new one warm when the rollover comes?"""

from typing import Any

import orjson
from locust import task

from keyheat.load.users.items import ItemTemplate
from keyheat.load.users.user import TableUser

ARCHIVE = {"ReadCapacityUnits": 500, "WriteCapacityUnits": 5}


class PeriodUser(TableUser):
    """Writes to the last period's table for half of the time, then to the new one, which is judged."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        scenario = self.load.order.scenario
        (self._last,) = scenario.companions
        self._last_items = ItemTemplate(scenario.model_copy(update={"table": self._last}))
        self._rollover_s = scenario.load.duration_s / 2
        self._lowers = self.number == 0  # one user in all processes

    @task
    def put_event(self) -> None:
        key, table = self.draw_key(), self._last.name
        if self.elapsed_s < self._rollover_s:
            body = self._last_items.put(key, self.next_sort_key(), self.rng)
            self.send("PutItem", body, key=key, direction="write", units=1, table=table)
            return
        self.put(key)
        if self._lowers:
            self._lowers = False
            lower = orjson.dumps({"TableName": table, "ProvisionedThroughput": ARCHIVE})
            self.send("UpdateTable", lower, key=table, direction="write", units=0, table=table)
