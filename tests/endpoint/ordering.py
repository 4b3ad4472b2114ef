"""A table of orders and refused requests, for the tests of the operations on items."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.endpoint.account import BOTH, N, S, attributes, index, local, on_demand, schema, table, units

ORDERS = on_demand(
    AttributeDefinitions=[*attributes("pk", "g", "l"), *attributes("sk", kind="N")],
    KeySchema=BOTH,
    GlobalSecondaryIndexes=[index("by_group", KeySchema=schema("g", "sk"), ProvisionedThroughput=None)],
    LocalSecondaryIndexes=[local("local", "l", Projection={"ProjectionType": "KEYS_ONLY"})],
)


def key(partition: str, sort: int) -> dict[str, Any]:
    return {"pk": S(partition), "sk": N(sort)}


def ordered(app: Any) -> Any:
    """The client of a service that has the table of orders."""
    app.ddb.create_table(**ORDERS)
    app.clock.advance(600)
    return app.ddb


def small(app: Any, name: str = "small", each: int = 1) -> Any:
    """The client of a service that has a table of one unit per second, key `pk`, burst included."""
    app.ddb.create_table(**table(name, ProvisionedThroughput=units(each, each)))
    app.clock.advance(600)
    return app.ddb


def refused(call: Any, **request: Any) -> dict[str, Any]:
    """The error answer of a request that fails."""
    with pytest.raises(ClientError) as caught:
        call(**request)
    response: dict[str, Any] = caught.value.response
    return response


def first_refused(call: Callable[[int], Any], most: int = 10_000) -> tuple[int, dict[str, Any]]:
    """The number of the first call that fails, and the error answer."""
    for number in range(most):
        try:
            call(number)
        except ClientError as error:
            return number, error.response  # type: ignore[return-value]
    pytest.fail(f"{most} calls, and none was refused")


def counted(app: Any, metric: str, table: str = "small", **dimensions: str) -> float:
    """The sum of a metric of the table over the last hour, of an operation where that is named."""
    now_s = app.clock.now_s
    wanted = {"TableName": table, **dimensions}
    series = app.service.catalog.get(table).model.minutes.series(table, now_s - 3600, now_s + 60)
    return sum(
        point.sum
        for one in series
        if one.metric == metric and dict(one.dimensions) == wanted
        for point in one.points.values()
    )
