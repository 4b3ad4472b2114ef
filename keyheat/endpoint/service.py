"""The service in one Region: what an account has there, with its tables, its streams and its clock."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Final, Protocol, cast

from keyheat.endpoint.delivery import Delivery
from keyheat.endpoint.errors import resource_not_found, validation_error
from keyheat.endpoint.metrics import Metrics
from keyheat.endpoint.options import Durations
from keyheat.endpoint.recording import Recording
from keyheat.endpoint.stream import MOST_BYTES, TableStream, View, label_at
from keyheat.endpoint.tables.catalog import Aim, Catalog, Table
from keyheat.endpoint.values import INVALID
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.resources import Refusal

MOST_ADVANCE_S: Final = 15 * 86_400.0
"""At once: so long CloudWatch keeps minutes."""


@dataclass(slots=True)
class ServiceClock:
    """Epoch seconds, so far ahead of those of `now_s` as it was moved."""

    now_s: Callable[[], float]
    ahead_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s() + self.ahead_s

    def advance(self, seconds: float) -> None:
        """Move it on. Raises `ValueError`: time goes on, and not further than 15 days at once."""
        if not (isfinite(seconds) and 0 < seconds <= MOST_ADVANCE_S):
            raise ValueError(f"above 0, and at most {MOST_ADVANCE_S:,.0f} (15 days); not {seconds}")
        self.ahead_s += seconds


@dataclass(slots=True)
class Streams:
    """Streams by ARN. `max_bytes` bounds each of them."""

    max_bytes: int = MOST_BYTES
    _streams: dict[str, TableStream] = field(default_factory=dict)

    def check_change(self, table: Table, view: View | None) -> None:
        """Raises ValidationException for enabling a stream that is enabled, or disabling one that is not."""
        enabled = table.stream is not None and table.stream.disabled_s is None
        if enabled and view is not None:
            raise validation_error(f"Table already has an enabled stream: TableName: {table.name}")
        if not enabled and view is None:
            raise validation_error(f"Table has no stream to disable: TableName: {table.name}")

    def change(self, table: Table, view: View | None, now_s: float) -> None:
        """Enable a table's stream, or with None disable it; the change has been checked."""
        if view is not None:
            self.enable(table, view, now_s)
        elif table.stream is not None:
            table.stream.disable(now_s)

    def enable(self, table: Table, view: View, now_s: float) -> None:
        """Start a stream of a table that has none, or none that is enabled."""
        at_s = now_s
        while f"{table.arn}/stream/{label_at(at_s)}" in self._streams:
            at_s += 0.001  # labels of one table differ
        table.stream = TableStream(
            table_arn=table.arn,
            label=label_at(at_s),
            keys=table.schema.keys,
            view=view,
            partitions=table.model.partitions,
            now_s=now_s,
            max_bytes=self.max_bytes,
        )
        self._streams[table.stream.arn] = table.stream

    def find(self, arn: str, now_s: float) -> TableStream:
        """The stream of an ARN, as it is now. Raises ResourceNotFoundException or ValidationException."""
        require_stream_arn(arn)
        self._forget(now_s)
        stream = self._streams.get(arn)
        if stream is None:
            raise resource_not_found(f"Requested resource not found: Stream: {arn} not found")
        stream.follow_splits()
        stream.trim(now_s)
        return stream

    def listed(self, now_s: float) -> list[TableStream]:
        self._forget(now_s)
        return [stream for _, stream in sorted(self._streams.items())]

    def _forget(self, now_s: float) -> None:
        for arn in [arn for arn, stream in self._streams.items() if stream.expired(now_s)]:
            del self._streams[arn]


def view_of(specification: Mapping[str, Any] | None) -> View | None:
    """The view that a StreamSpecification enables; None if it disables, or if it is absent.

    Raises ValidationException where the switch and the view contradict each other.
    """
    if specification is None:
        return None
    enabled, view = specification["StreamEnabled"], specification.get("StreamViewType")
    if enabled and view is None:
        raise validation_error(INVALID + "StreamViewType is required when StreamEnabled is true")
    if not enabled and view is not None:
        raise validation_error(INVALID + "StreamViewType cannot be given when StreamEnabled is false")
    return cast("View | None", view)


def require_stream_arn(arn: str) -> None:
    """Raises ValidationException for what cannot be the ARN of a stream."""
    if not arn.startswith("arn:") or ":table/" not in arn or "/stream/" not in arn:
        raise validation_error(f"Invalid StreamArn: {arn}")


class FaultInjection(Protocol):
    """Fault rules, as handlers apply them (`faults.injection`)."""

    def handle(self, context: Any, operation: Any, request: dict[str, Any]) -> bytes | dict[str, Any]: ...

    def refusal(self, context: Any, operation: str, aim: Aim) -> Refusal | None: ...

    def refusals(self, context: Any, operation: str, aims: Sequence[Aim]) -> dict[int, Refusal]: ...

    def reasons(self, context: Any, operation: str, aims: Sequence[Aim]) -> list[dict[str, Any] | None]: ...

    def report(self, now_s: float) -> dict[str, Any]: ...


@dataclass(slots=True, kw_only=True)
class Service:
    """Everything an endpoint holds in one Region. Handlers run one at a time, so nothing here is locked.

    `clock` gives epoch seconds; `scale` multiplies every rate limit; `seed` is that of the tables' models;
    `recordings` are of tables by name, None if nothing is recorded; `faults` are the rules in force, None if
    there are no rules.
    """

    clock: Callable[[], float]
    region: str = "us-east-1"
    account_id: str = "000000000000"
    scale: float = 1.0
    seed: int = 1
    durations: Durations = field(default_factory=Durations)
    behaviour: Behaviour = DEFAULT
    streams: Streams = field(default_factory=Streams)
    recordings: dict[str, Recording] | None = None
    faults: FaultInjection | None = None
    catalog: Catalog = field(init=False)
    metrics: Metrics = field(init=False)

    def __post_init__(self) -> None:
        self.catalog = Catalog(self.clock, self.region)
        self.metrics = Metrics()

    def in_region(self, region: str) -> "Service":
        """The same account in another Region, still empty."""
        return replace(
            self,
            region=region,
            streams=Streams(max_bytes=self.streams.max_bytes),
            recordings=None if self.recordings is None else {},
        )

    def table_arn(self, name: str) -> str:
        """The ARN of a table of this account, whether it exists or not."""
        return f"arn:aws:dynamodb:{self.region}:{self.account_id}:table/{name}"


@dataclass(slots=True)
class Context:
    """One request: its Region, its time, the connection it came on, and how its response is sent.

    No `delivery`: the response is sent at once.
    """

    service: Service
    now_s: float
    connection: int | None = None
    delivery: Delivery | None = None

    def delay(self) -> Delivery:
        if self.delivery is None:
            self.delivery = Delivery()
        return self.delivery


Handler = Callable[[Context, dict[str, Any]], bytes | dict[str, Any]]
"""One operation: takes the request as parsed JSON, returns the response's body, raises `ServiceError`."""
