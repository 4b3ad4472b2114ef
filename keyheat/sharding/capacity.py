"""More provisioned capacity, within a bound: what more shards cannot do about a table that is too small."""

from collections.abc import Callable, Mapping
from math import ceil
from threading import Lock
from time import time
from typing import Any, Protocol

from botocore.exceptions import ClientError

from keyheat.model.resources import Cause
from keyheat.sharding.client import Throttle, error_code

BUSY = frozenset({"ResourceInUseException", "LimitExceededException"})


class ControlClient(Protocol):
    def describe_table(self, **request: Any) -> Mapping[str, Any]: ...

    def update_table(self, **request: Any) -> Mapping[str, Any]: ...


class ProvisionedCapacity:
    """Asks UpdateTable for `factor` times the write capacity, never above `most_write_units` and not more
    often than every `every_s` seconds. A decrease is left to a person or to auto scaling: AWS allows few."""

    def __init__(
        self,
        client: ControlClient,
        table: str,
        *,
        most_write_units: int,
        factor: float = 1.5,
        every_s: float = 60.0,
        clock: Callable[[], float] = time,
    ) -> None:
        self._client = client
        self._table = table
        self._most_write_units = most_write_units
        self._factor = factor
        self._every_s = every_s
        self._clock = clock
        self._next_s = 0.0
        self._lock = Lock()  # held only to decide which thread asks

    def __call__(self, throttle: Throttle) -> None:
        """Ask, where the provisioned throughput is what was exceeded: no other limit moves with it."""
        if throttle.cause is not Cause.PROVISIONED:
            return
        with self._lock:
            now_s = self._clock()
            if now_s < self._next_s:
                return
            self._next_s = now_s + self._every_s
        self._increase()

    def _increase(self) -> None:
        table = self._client.describe_table(TableName=self._table)["Table"]
        now = table["ProvisionedThroughput"]
        units = min(self._most_write_units, ceil(now["WriteCapacityUnits"] * self._factor))
        if table["TableStatus"] != "ACTIVE" or units <= now["WriteCapacityUnits"]:
            return
        throughput = {"ReadCapacityUnits": now["ReadCapacityUnits"], "WriteCapacityUnits": units}
        try:
            self._client.update_table(TableName=self._table, ProvisionedThroughput=throughput)
        except ClientError as error:
            if error_code(error.response) not in BUSY:  # another process is changing it
                raise
