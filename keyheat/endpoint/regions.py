"""The Regions of one endpoint: tables, streams and metrics of each, chosen by whom a request is signed for.

    Authorization: AWS4-HMAC-SHA256 Credential=AKID/20261124/eu-west-1/dynamodb/aws4_request, Signature=...

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
A Region is there from the first request on that is signed for it; no two share anything but the clock, the
connections and the rules of faults.
"""

import logging
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from keyheat.endpoint.cloudwatch.metrics import Metrics
from keyheat.endpoint.dynamodb import DynamoDB, missing_token, request_ids
from keyheat.endpoint.errors import CORAL, ServiceError, resource_not_found
from keyheat.endpoint.http import Headers
from keyheat.endpoint.options import REGION_NAME
from keyheat.endpoint.service import FaultInjection, Service
from keyheat.endpoint.tables.catalog import Table, region_in, table_name

LOG = logging.getLogger(__name__)
SCOPE: Final = re.compile(rb"Credential=[^/,]*/\d{8}/([^/,]*)/([a-z0-9-]{1,40})/aws4_request")
MOST_REGIONS: Final = 100
"""AWS has some forty; the bound keeps a client from filling the memory by signing for new ones."""
MOST_SCOPES: Final = 1_024
"""Credentials that are known at a time: each client has a new one every day."""
MOST_SAID: Final = 64


@dataclass(slots=True)
class Regions:
    """Every Region that was asked for. `home` is that of requests which name none.

    `publish_delay_s`: seconds after a minute's end until CloudWatch serves it.
    `asked` counts requests by operation, in all Regions together.
    """

    home: Service
    publish_delay_s: float = 0.0
    ids: Iterator[bytes] = field(default_factory=lambda: request_ids(random.Random()))
    asked: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    _apis: dict[str, DynamoDB] = field(default_factory=dict)
    _scopes: dict[bytes, DynamoDB] = field(default_factory=dict)
    _said: set[tuple[str, str]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._apis[self.home.region] = self._answering(self.home)

    def __iter__(self) -> Iterator[Service]:
        return (apis.service for apis in list(self._apis.values()))

    @property
    def at_home(self) -> DynamoDB:
        """The Region of requests that name none."""
        return self._apis[self.home.region]

    def signed_for(self, headers: Headers) -> DynamoDB:
        """The Region in a request's signature, home where it says none. On the path of every request.

        Raises MissingAuthenticationTokenException or InvalidSignatureException.
        """
        authorization = headers.get(b"authorization")
        if authorization is None:
            raise missing_token()
        scope = authorization.partition(b",")[0]
        known = self._scopes.get(scope)
        if known is not None:
            return known
        found = SCOPE.search(authorization)
        if found is None or not found[1]:
            return self.at_home
        apis = self.called(found[1].decode("latin-1"))
        if found.end() == len(scope):
            if len(self._scopes) >= MOST_SCOPES:
                self._scopes.clear()
            self._scopes[scope] = apis
        return apis

    def called(self, name: str) -> DynamoDB:
        """The Region of that name. Raises InvalidSignatureException if it is invalid, or one too many."""
        apis = self._apis.get(name)
        if apis is None:
            if re.fullmatch(REGION_NAME, name) is None:
                raise _no_region(name)
            if len(self._apis) >= MOST_REGIONS:
                raise _no_region(name, f"The local endpoint has {MOST_REGIONS} Regions already.")
            apis = self._apis[name] = self._answering(self.home.in_region(name))
        return apis

    def forget(self, service: Service) -> None:
        """Remove a Region that no request was answered for."""
        del self._apis[service.region]

    def table_named(self, service: Service, table: str) -> str:
        """The name of a table among those of all Regions: at home its name, elsewhere its ARN."""
        return table if service is self.home else service.table_arn(table)

    def find(self, name_or_arn: str) -> tuple[Service, str]:
        """The Region and the name of a table by its name or ARN; the table may be gone.

        Raises ResourceNotFoundException for a Region that has not been used.
        """
        region = region_in(name_or_arn)
        if region is None:
            return self.home, name_or_arn
        if region not in self._apis:
            raise resource_not_found()
        return self._apis[region].service, table_name(name_or_arn)

    def tables(self) -> dict[str, tuple[Service, Table]]:
        """Every table of every Region, by `table_named`."""
        return {
            self.table_named(service, table.name): (service, table)
            for service in self
            for table in service.catalog
        }

    def set_faults(self, faults: FaultInjection | None) -> None:
        """Go by these faults from now on, and by no others; a Region that comes later does as home."""
        for service in self:
            service.faults = faults

    def _answering(self, service: Service) -> DynamoDB:
        return DynamoDB(
            service=service,
            metrics=Metrics(service, self.publish_delay_s),
            ids=self.ids,
            asked=self.asked,
            table_missing=self._say_where,
        )

    def _say_where(self, service: Service, table: str) -> None:
        """Warn once that a table is in another Region: the answer, which is DynamoDB's, does not say so."""
        there = sorted(one.region for one in self if one is not service and table in one.catalog)
        if there and (service.region, table) not in self._said and len(self._said) < MOST_SAID:
            self._said.add((service.region, table))
            LOG.warning(
                "table %s was asked for in %s and is in %s: the Region that a client is set to has tables "
                "of its own",
                table, service.region, ", ".join(there),
            )  # fmt: skip


def _no_region(name: str, why: str = "") -> ServiceError:
    """DynamoDB's error for an unknown Region."""
    message = f"Credential should be scoped to a valid region, not '{name[:64]}'. {why}"
    return ServiceError("InvalidSignatureException", message, prefix=CORAL)
