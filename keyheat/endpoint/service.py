"""The service: what an account has in each Region, with its tables, streams, metrics and clock.

The Region of a signature chooses the tables, streams and metrics of a request:

    Authorization: AWS4-HMAC-SHA256 Credential=AKID/20261124/eu-west-1/dynamodb/aws4_request, Signature=...

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
The first request that is signed for a Region makes it; Regions share only the clock and the fault rules.
"""

import logging
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from keyheat.endpoint.errors import CORAL, ServiceError, resource_not_found
from keyheat.endpoint.http import Delivery, Headers
from keyheat.endpoint.keycounts import Recording
from keyheat.endpoint.options import REGION_NAME, Durations
from keyheat.endpoint.tables.catalog import Aim, Catalog, Table, region_in, table_name
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.model.limits import MINUTE_RETENTION_S, MINUTE_S
from keyheat.model.meter import Tally
from keyheat.model.minutes import Datapoints, Dimensions, Minutes
from keyheat.model.resources import Refusal

LOG = logging.getLogger(__name__)
SCOPE: Final = re.compile(rb"Credential=[^/,]*/\d{8}/([^/,]*)/([a-z0-9-]{1,40})/aws4_request")
MOST_REGIONS: Final = 100
"""AWS has some forty; the bound keeps a client from filling the memory by signing for new ones."""
MOST_SCOPES: Final = 1_024
"""Credentials kept at a time: each client has a new one every day."""
MOST_WARNINGS: Final = 64
MOST_ADVANCE_S: Final = 15 * 86_400.0
"""At once: so long CloudWatch keeps minutes."""
ACCOUNT: Final = ""
DELETED_TABLES_KEPT: Final = 1000


@dataclass(slots=True)
class ServiceClock:
    """Epoch seconds, so far ahead of those of `now_s` as it was moved."""

    now_s: Callable[[], float]
    ahead_s: float = 0.0

    def __call__(self) -> float:
        return self.now_s() + self.ahead_s

    def advance(self, seconds: float) -> None:
        """Move it on. Raises `ValueError`: time goes on, and not further than 15 days at once."""
        if not (math.isfinite(seconds) and 0 < seconds <= MOST_ADVANCE_S):
            raise ValueError(f"above 0, and at most {MOST_ADVANCE_S:,.0f} (15 days); not {seconds}")
        self.ahead_s += seconds


@dataclass(frozen=True, slots=True, order=True)
class MetricKey:
    """Which metric: CloudWatch tells metrics apart by both, and adds nothing up across dimensions."""

    name: str
    dimensions: Dimensions = ()


Series = dict[MetricKey, tuple[str, Datapoints]]
"""The unit and the datapoints of each metric."""


def by_period(points: Iterable[tuple[int, Tally]], period_s: int, anchor_s: int = 0) -> Datapoints:
    """Add points, oldest first, up to periods, which begin at `anchor_s` and every `period_s` from it."""
    periods: dict[int, Tally] = {}
    for at_s, tally in points:
        start_s = anchor_s + (at_s - anchor_s) // period_s * period_s
        periods.setdefault(start_s, Tally()).merge(tally)
    return periods


@dataclass(slots=True)
class Life:
    """The datapoints of one table, from creation to deletion. A later table of its name has its own."""

    table: str
    minutes: Minutes
    ended_s: float = math.inf


@dataclass(slots=True)
class Metrics:
    """The datapoints of one Region; `account` has those that belong to no table."""

    account: Minutes = field(default_factory=lambda: Minutes(()))
    _lives: list[Life] = field(default_factory=list)

    def note_tables(self, tables: Iterable[Table], now_s: float) -> None:
        """Note created and deleted tables: metrics outlive their table, as they do in AWS."""
        alive = {id(table.model.minutes): table for table in tables}
        for life in self._lives:
            if id(life.minutes) not in alive:
                life.ended_s = min(life.ended_s, now_s)
            alive.pop(id(life.minutes), None)
        self._lives += [Life(table.name, table.model.minutes) for table in alive.values()]
        ended = [life for life in self._lives if life.ended_s < math.inf]
        for life in ended[: max(0, len(ended) - DELETED_TABLES_KEPT)]:
            self._lives.remove(life)

    def series(self, start_s: float, end_s: float, until_s: int, table: str | None = None) -> Series:
        """The minutes in [start, end) that are published until `until_s`: of one table name, or of all."""
        start_s, end_s = max(start_s, until_s - MINUTE_RETENTION_S), min(end_s, until_s)
        series: dict[MetricKey, tuple[str, list[tuple[int, Tally]]]] = {}
        for life in (Life(ACCOUNT, self.account), *self._lives):
            if table not in (None, life.table):
                continue
            for metric in life.minutes.series(life.table, start_s, min(end_s, life.ended_s)):
                if metric.dimensions or life.table == ACCOUNT:
                    key = MetricKey(metric.metric, tuple(sorted(metric.dimensions)))
                    series.setdefault(key, (metric.unit, []))[1].extend(metric.points.items())
        return {key: (unit, by_period(points, MINUTE_S)) for key, (unit, points) in series.items()}


Struck = Mapping[int, Refusal | None]
"""Items that fault rules struck, by their numbers in the request: a throttle, or None for a conflict."""


class FaultInjection(Protocol):
    """Fault rules, as handlers apply them (`faults.Faults`)."""

    def strike_table(self, context: Any, operation: str, request: Mapping[str, Any]) -> None: ...

    def strike(self, context: Any, operation: str, aims: Sequence[Aim]) -> Struck: ...

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
    recordings: dict[str, Recording] | None = None
    faults: FaultInjection | None = None
    catalog: Catalog = field(init=False)
    metrics: Metrics = field(init=False)

    def __post_init__(self) -> None:
        self.catalog = Catalog(self.clock, self.region)
        self.metrics = Metrics()

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

    def strike(self, operation: str, aims: Sequence[Aim]) -> Struck:
        """The items of a request that fault rules strike. Raises the error that answers it as a whole."""
        faults = self.service.faults
        return {} if faults is None else faults.strike(self, operation, aims)

    def delay(self) -> Delivery:
        if self.delivery is None:
            self.delivery = Delivery()
        return self.delivery


Handler = Callable[[Context, dict[str, Any]], bytes | dict[str, Any]]
"""One operation: takes the request as parsed JSON, returns the response's body, raises `ServiceError`."""


@dataclass(slots=True)
class Regions:
    """Every Region that a request was signed for; `home` is that of requests which name none.

    `requests` counts requests by operation, in all Regions together.
    """

    home: Service
    requests: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    _services: dict[str, Service] = field(init=False)
    _scopes: dict[bytes, Service] = field(default_factory=dict)
    _warned: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._services = {self.home.region: self.home}

    def __iter__(self) -> Iterator[Service]:
        return iter(list(self._services.values()))

    def signed_for(self, headers: Headers) -> Service:
        """The Region in a request's signature, home if it has none. On the path of every request.

        Raises MissingAuthenticationTokenException or InvalidSignatureException.
        """
        authorization = headers.get(b"authorization")
        if authorization is None:
            code, message = "MissingAuthenticationTokenException", "Request is missing Authentication Token"
            raise ServiceError(code, message, prefix=CORAL)
        scope = authorization.partition(b",")[0]
        service = self._scopes.get(scope)
        if service is not None:
            return service
        match = SCOPE.search(authorization)
        if match is None or not match[1]:
            return self.home
        service = self.named(match[1].decode("latin-1"))
        if match.end() == len(scope):
            if len(self._scopes) >= MOST_SCOPES:
                self._scopes.clear()
            self._scopes[scope] = service
        return service

    def named(self, name: str) -> Service:
        """The Region of that name. Raises InvalidSignatureException if it is invalid, or one too many."""
        service = self._services.get(name)
        if service is None:
            if re.fullmatch(REGION_NAME, name) is None:
                raise _no_region(name)
            if len(self._services) >= MOST_REGIONS:
                raise _no_region(name, f"The local endpoint has {MOST_REGIONS} Regions already.")
            recordings: dict[str, Recording] | None = None if self.home.recordings is None else {}
            service = self._services[name] = replace(self.home, region=name, recordings=recordings)
        return service

    def forget(self, service: Service) -> None:
        """Remove a Region that has served no request."""
        del self._services[service.region]

    def table_named(self, service: Service, table: str) -> str:
        """The name of a table among those of all Regions: at home its name, elsewhere its ARN."""
        return table if service is self.home else service.table_arn(table)

    def find(self, name_or_arn: str) -> tuple[Service, str]:
        """The Region and the name of a table by its name or ARN; the table may be gone.

        Raises ResourceNotFoundException for a Region that has not been used.
        """
        region = region_in(name_or_arn) or self.home.region
        if region not in self._services:
            raise resource_not_found()
        return self._services[region], table_name(name_or_arn)

    def tables(self) -> dict[str, tuple[Service, Table]]:
        """Every table of every Region, by `table_named`."""
        return {
            self.table_named(service, table.name): (service, table)
            for service in self
            for table in service.catalog
        }

    def set_faults(self, faults: FaultInjection | None) -> None:
        """Replace the fault rules of all Regions; a Region that comes later takes those of home."""
        for service in self:
            service.faults = faults

    def warn_where(self, service: Service, table: str) -> None:
        """Warn once that a table is in another Region: DynamoDB's own error does not say so."""
        there = sorted(other.region for other in self if other is not service and table in other.catalog)
        if there and (service.region, table) not in self._warned and len(self._warned) < MOST_WARNINGS:
            self._warned.add((service.region, table))
            LOG.warning(
                "a request for table %s was signed for %s; the table is in %s, and Regions share no tables",
                table, service.region, ", ".join(there),
            )  # fmt: skip


def _no_region(name: str, why: str = "") -> ServiceError:
    """DynamoDB's error for an unknown Region."""
    message = f"Credential should be scoped to a valid region, not '{name[:64]}'. {why}"
    return ServiceError("InvalidSignatureException", message, prefix=CORAL)
