"""The Region that a request is signed for has tables of its own, and all that belongs to them."""

import json
import logging

import pytest
from botocore.exceptions import ClientError

from keyheat.endpoint.faultrules import checked_rules
from keyheat.endpoint.faults import Faults
from keyheat.endpoint.router import Router
from keyheat.endpoint.service import MOST_REGIONS, Regions, Service
from tests.endpoint.account import on_demand
from tests.endpoint.clients import FakeClock, ServiceApp, taken_apart

HERE, THERE = "us-east-1", "eu-west-1"
TABLE = on_demand(StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})
HOT = {"TableName": "orders", "Item": {"pk": {"S": "hot"}, "x": {"S": "x" * 300_000}}}


@pytest.fixture
def app() -> ServiceApp:
    """An endpoint with a table `orders` in two Regions, which records."""
    clock = FakeClock()
    service = Service(clock=clock, recordings={})
    made = ServiceApp(clock, service, Router(Regions(service)))
    for region in (HERE, THERE):
        made.client("dynamodb", region).create_table(**TABLE)
    return made


def signed(scope: bytes) -> dict[bytes, bytes]:
    return {b"authorization": b"AWS4-HMAC-SHA256 Credential=%b, SignedHeaders=host, Signature=0" % scope}


def arn_in(region: str) -> str:
    return f"arn:aws:dynamodb:{region}:000000000000:table/orders"


def test_a_table_is_in_one_region_with_its_items_its_arns_and_its_stream(app: ServiceApp) -> None:
    here, there = (app.client("dynamodb", region) for region in (HERE, THERE))
    here.put_item(TableName="orders", Item={"pk": {"S": "a"}})
    assert [one.scan(TableName="orders")["Count"] for one in (here, there)] == [1, 0]
    for region, client in ((HERE, here), (THERE, there)):
        described = client.describe_table(TableName="orders")["Table"]
        assert described["TableArn"] == arn_in(region)
        assert described["LatestStreamArn"].startswith(arn_in(region))
        streams = app.client("dynamodbstreams", region).list_streams()["Streams"]
        assert [one["StreamArn"] for one in streams] == [described["LatestStreamArn"]]
        assert client.describe_endpoints()["Endpoints"][0]["Address"] == f"dynamodb.{region}.amazonaws.com"
    there.delete_table(TableName="orders")
    assert [one.list_tables()["TableNames"] for one in (here, there)] == [["orders"], []]


def test_an_arn_of_another_region_is_refused_and_changes_nothing(app: ServiceApp) -> None:
    here = app.client("dynamodb", HERE)
    put = {"Item": {"pk": {"S": "a"}}}
    here.put_item(TableName=arn_in(HERE), **put)
    for refused in (
        lambda: here.put_item(TableName=arn_in(THERE), **put),
        lambda: here.describe_table(TableName=arn_in(THERE)),
        lambda: here.delete_table(TableName=arn_in(THERE)),
        lambda: here.batch_write_item(RequestItems={arn_in(THERE): [{"PutRequest": put}]}),
    ):
        with pytest.raises(ClientError, match=r"ValidationException.*Invalid AWS region in 'arn"):
            refused()
    assert here.scan(TableName="orders")["Count"] == 1


@pytest.mark.parametrize(
    "headers",
    [
        {b"authorization": b"AWS4-HMAC-SHA256 x"},
        signed(b"a/20261124/dynamodb/aws4_request"),  # of several Regions, as SigV4A has it
    ],
)
def test_who_names_no_region_is_at_home(app: ServiceApp, headers: dict[bytes, bytes]) -> None:
    assert app.router.dynamodb.regions.signed_for(headers) is app.service


@pytest.mark.parametrize(
    "name", [b"EU-WEST-1", b"eu_west", b"-", b"eu west", b"1", b"\xff\x00", b"e" * 5_000]
)
def test_nonsense_is_refused_as_dynamodb_does(app: ServiceApp, name: bytes) -> None:
    headers = {b"x-amz-target": b"DynamoDB_20120810.ListTables"} | signed(
        b"a/20261124/%b/dynamodb/aws4_request" % name
    )
    status, _headers, body = taken_apart(app.router.answer(b"POST", b"/", headers, b"{}"))
    answered = json.loads(body)
    assert (status, answered["__type"].rpartition("#")[2]) == (400, "InvalidSignatureException")
    assert answered["message"].startswith("Credential should be scoped to a valid region, not '")
    assert len(body) < 300
    assert len(list(app.router.dynamodb.regions)) == 2


def test_nobody_can_make_regions_without_end(app: ServiceApp) -> None:
    for number in range(MOST_REGIONS - 2):
        app.router.dynamodb.regions.named(f"region-{number}")
    with pytest.raises(ClientError, match=rf"not 'one-more'.*{MOST_REGIONS} Regions already"):
        app.client("dynamodb", "one-more").list_tables()
    assert app.client("dynamodb", THERE).list_tables()["TableNames"] == ["orders"]


def test_a_rule_of_faults_is_for_every_region(app: ServiceApp) -> None:
    app.client("dynamodb", "ap-south-1").list_tables()
    rules = [{"operations": ["PutItem"], "error": 500}]
    app.router.dynamodb.regions.set_faults(Faults(checked_rules("rules", {"rules": rules}), app.clock()))
    app.client("dynamodb", "sa-east-1").list_tables()  # one that comes later
    for region in (HERE, THERE):
        with pytest.raises(ClientError, match="InternalServerError"):
            app.client("dynamodb", region).put_item(TableName="orders", Item={"pk": {"S": "a"}})
    assert app.page("faults", "DELETE")[0] == 200
    app.client("dynamodb", THERE).put_item(TableName="orders", Item={"pk": {"S": "a"}})


def test_who_looks_in_the_wrong_region_reads_why_once(
    app: ServiceApp, caplog: pytest.LogCaptureFixture
) -> None:
    app.client("dynamodb", THERE).delete_table(TableName="orders")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            for call in ("describe_table", "scan"):
                with pytest.raises(ClientError, match="ResourceNotFoundException"):
                    getattr(app.client("dynamodb", THERE), call)(TableName="orders")
        with pytest.raises(ClientError, match="ResourceNotFoundException"):
            app.client("dynamodb", HERE).scan(TableName="nowhere")
    assert [record.getMessage() for record in caplog.records] == [
        "a request for table orders was signed for eu-west-1; the table is in us-east-1, "
        "and Regions share no tables"
    ]
