"""`keyheat diagnose` against moto's server: shapes of answers that nobody here wrote."""

import re
from collections.abc import Iterator
from copy import copy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from moto.dynamodb.models import dynamodb_backends
from moto.server import ThreadedMotoServer

from tests.conftest import Verb
from tests.endpoint import account

pytestmark = [pytest.mark.opens, pytest.mark.slow]
TABLES, MINUTES = 125, 20


@pytest.fixture
def url() -> Iterator[str]:
    """An account with more tables than a page of ListTables.

    One throttles, at its table's capacity; of another the stream's readers do, and of a third requests fail.
    """
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    url = "http://{}:{}".format(*server.get_host_and_port())
    where = {
        "endpoint_url": url, "region_name": "us-east-1",
        "aws_access_key_id": "a", "aws_secret_access_key": "b",
    }  # fmt: skip
    create(boto3.client("dynamodb", **where), "table-000")
    were_there_yesterday()
    cloudwatch = boto3.client("cloudwatch", **where)
    throttles = {"WriteThrottleEvents": 300.0, "WriteProvisionedThroughputThrottleEvents": 300.0}
    measure(cloudwatch, "table-117", {"ConsumedWriteCapacityUnits": 900.0, **throttles})
    measure(cloudwatch, "table-005", {"ThrottledRequests": 40.0}, Operation="GetRecords")
    measure(cloudwatch, "table-003", {"SystemErrors": 2.0}, Operation="PutItem")
    idle = {"ConsumedReadCapacityUnits": 0.0, "ConsumedWriteCapacityUnits": 60.0}
    for table in ("table-005", "table-003"):
        measure(cloudwatch, table, idle)
    boto3.client("application-autoscaling", **where).register_scalable_target(
        ServiceNamespace="dynamodb", ResourceId="table/table-117",
        ScalableDimension="dynamodb:table:WriteCapacityUnits", MinCapacity=5, MaxCapacity=15,
    )  # fmt: skip
    yield url
    server.stop()


def create(ddb: Any, name: str) -> None:
    capacity = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 15}
    by_day = account.index("by_day", "day", ProvisionedThroughput=capacity)
    ddb.create_table(**account.table(name, **account.indexed(by_day), ProvisionedThroughput=capacity))


def were_there_yesterday() -> None:
    """Make a day-old account of that table: whoever creates one in a window's last minute knows nothing."""
    for regions in dynamodb_backends.values():
        for backend in regions.values():
            for table in list(backend.tables.values()):
                table.created_at -= timedelta(days=1)
                for number in range(1, TABLES):
                    other = copy(table)
                    other.name = f"table-{number:03}"
                    other.table_arn = table.table_arn.replace(table.name, other.name)
                    backend.tables[other.name] = other


def measure(cloudwatch: Any, table: str, values: dict[str, float], **more: str) -> None:
    """The last minutes of a table."""
    minute = datetime.now(UTC).replace(second=0, microsecond=0)
    dimensions = [{"Name": name, "Value": value} for name, value in {"TableName": table, **more}.items()]
    cloudwatch.put_metric_data(
        Namespace="AWS/DynamoDB",
        MetricData=[
            {
                "MetricName": name,
                "Dimensions": dimensions,
                "Timestamp": minute - timedelta(minutes=number),
                "Value": value,
            }
            for name, value in values.items()
            for number in range(1, MINUTES)
        ],
    )


def test_a_table_behind_the_first_page_is_found(verb: Verb, url: str, tmp_path: Path) -> None:
    said = verb("diagnose", "--endpoint-url", url, "--region", "us-east-1", "--out", tmp_path)
    assert said.code == 1, said.out + said.err
    assert f"Requesting {4 * TABLES + 2} metrics" in said.err, "two batches of them"
    words = " ".join(said.out.split())
    assert re.search(rf"\b2 of {TABLES} tables throttled.*; requests of 1 failed inside DynamoDB", words)
    assert said.says("table-117  Writes, table capacity")
    assert "--resource-id table/table-117" in said.out
    assert "--scalable-dimension dynamodb:table:WriteCapacityUnits --min-capacity 29" in said.out
    assert "Turn on auto scaling" not in said.out
    assert said.says("aise the maximum of auto scaling"), "which would undo a change"
    assert (tmp_path / "table-117" / "report.html").is_file()
