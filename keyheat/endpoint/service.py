"""The service that one endpoint is: an account in a Region, with its tables and its clock."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from keyheat.endpoint.recorded import Recording
from keyheat.endpoint.streams.registry import Streams
from keyheat.endpoint.tables.catalog import Catalog
from keyheat.model.nodes import Caller


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Seconds that a change of a table takes. The service takes minutes; the local endpoint need not."""

    create_s: float = 0.0
    update_s: float = 0.0
    delete_s: float = 0.0
    insights_s: float = 1.0


@dataclass(slots=True, kw_only=True)
class Service:
    """Everything one endpoint holds. Handlers run one at a time, so nothing here is locked.

    `clock` gives epoch seconds; `scale` multiplies every rate limit; `seed` is that of the tables' models;
    `caller` is the connection that the request at hand came on; `recordings` are of tables by name, None
    where nobody asked for them.
    """

    clock: Callable[[], float]
    region: str = "us-east-1"
    account_id: str = "000000000000"
    scale: float = 1.0
    seed: int = 1
    durations: Durations = Durations()
    streams: Streams = field(default_factory=Streams)
    caller: Caller = field(default_factory=Caller)
    recordings: dict[str, Recording] | None = None
    catalog: Catalog = field(init=False)

    def __post_init__(self) -> None:
        self.catalog = Catalog(self.clock)

    def now_s(self) -> float:
        """Epoch seconds."""
        return self.clock()

    def table_arn(self, name: str) -> str:
        """The ARN of a table of this account, whether it exists or not."""
        return f"arn:aws:dynamodb:{self.region}:{self.account_id}:table/{name}"


Handler = Callable[[Service, dict[str, Any]], bytes | dict[str, Any]]
"""One operation: takes the request as parsed JSON, gives the body of the answer, raises `ServiceError`."""
