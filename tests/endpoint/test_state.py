"""What an endpoint begins with, keeps and is given back: whole, or not at all; and its clock."""

import gzip
import json
import re
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.contents import ContentsError, described_tables, fill, restore, snapshot
from keyheat.endpoint.dynamodb import CONTROL, DATA
from keyheat.endpoint.options import Contents
from keyheat.endpoint.router import Router
from keyheat.endpoint.service import MOST_ADVANCE_S, Context, Regions, Service, ServiceClock
from keyheat.endpoint.tables.describe import describe
from tests.endpoint.account import attributes, index, on_demand, table, units
from tests.endpoint.clients import FakeClock, ServiceApp

INCLUDE = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["total"]}
INDEX = index("by-day", "day", Projection=INCLUDE, ProvisionedThroughput=None)
TYPES = attributes("pk", "day")
ORDERS = table(
    AttributeDefinitions=TYPES,
    ProvisionedThroughput=units(10, 20),
    GlobalSecondaryIndexes=[{**INDEX, "ProvisionedThroughput": units(10, 20)}],
    StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    DeletionProtectionEnabled=True,
    Tags=[{"Key": "team", "Value": "shop"}],
)
ON_DEMAND = on_demand(
    "events",
    AttributeDefinitions=TYPES,
    TableClass="STANDARD_INFREQUENT_ACCESS",
    OnDemandThroughput={"MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 50},
    GlobalSecondaryIndexes=[INDEX],
)
NOW_S = 1_800_000_000.0


def at(service: Service) -> Context:
    return Context(service, service.clock())


@pytest.fixture
def regions() -> Regions:
    return Regions(Service(clock=ServiceClock(lambda: NOW_S)))


@pytest.fixture
def service(regions: Regions) -> Service:
    return regions.home


def filled(service: Service) -> Service:
    """Both tables, with two items of which one is in the index, and a setting."""
    for request in (ORDERS, ON_DEMAND):
        CONTROL["CreateTable"](at(service), request)
    for item in ({"pk": {"S": "a"}}, {"pk": {"S": "b"}, "day": {"S": "monday"}, "total": {"N": "7"}}):
        DATA["PutItem"](at(service), {"TableName": "orders", "Item": item})
    service.catalog.find("orders").time_to_live = "ends"
    return service


def shown(service: Service) -> list[dict[str, Any]]:
    """Every table as it is described, but for what says when it was made."""
    changing = ("CreationDateTime", "TableId", "LatestStreamArn", "LatestStreamLabel", "BillingModeSummary")
    described = (describe(one, NOW_S) for one in service.catalog)
    return [{name: value for name, value in one.items() if name not in changing} for one in described]


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ({"BillingMod": "PROVISIONED"}, "unknown field, did you mean BillingMode? @ $[0].BillingMod"),
        ({"Zzz": 1}, "unknown field, there are AttributeDefinitions, TableName, "),
        (
            {"GlobalSecondaryIndexes": [{**INDEX, "Projektion": 1}]},
            "unknown field, did you mean Projection? @ $[0].GlobalSecondaryIndexes[0].Projektion",
        ),
        ({"TableArn": "arn:x"}, "no ARN of a table: 'arn:x' @ $[0].TableArn"),
    ],
)
def test_a_member_that_the_api_does_not_know_is_a_mistake(members: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        described_tables({**ORDERS, **members})


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("GlobalSecondaryIndexes", ["by-day"]),
        ("KeySchema", "pk"),
        ("ProvisionedThroughput", {"ReadCapacityUnits": "10", "WriteCapacityUnits": 10}),
    ],
)
def test_a_member_of_another_type_is_named(regions: Regions, tmp_path: Path, member: str, value: Any) -> None:
    (tmp_path / "t.json").write_text(json.dumps({**ORDERS, "TableStatus": "ACTIVE", member: value}))
    with pytest.raises(ContentsError, match=rf" @ orders\.{member[0].lower()}{member[1:]}"):
        fill(regions, Contents(table=(tmp_path / "t.json",)))


@pytest.mark.parametrize("content", [{}, [], "orders", [ORDERS, 7], {"Table": []}, None])
def test_a_file_without_a_table_says_what_would_be_one(content: object) -> None:
    with pytest.raises(ValueError, match="create-table prints"):
        described_tables(content)


def test_a_snapshot_is_all_of_an_endpoint(regions: Regions, service: Service) -> None:
    filled(service)
    CONTROL["CreateTable"](at(regions.named("eu-west-1")), ON_DEMAND)
    kept = snapshot(regions)
    others = Regions(Service(clock=service.clock))
    other = others.home
    CONTROL["CreateTable"](at(other), {**ON_DEMAND, "TableName": "goes"})
    CONTROL["CreateTable"](at(others.named("ap-south-1")), ON_DEMAND)
    restore(others, kept)
    assert shown(other) == shown(service)
    assert sorted(others.tables()) == sorted(regions.tables())
    assert snapshot(others) == kept
    found = other.catalog.find("orders")
    assert (found.time_to_live, found.tags) == ("ends", {"team": "shop"})
    read = {"TableName": "orders", "IndexName": "by-day", "Select": "COUNT"}
    assert json.loads(DATA["Scan"](at(other), read))["Count"] == 1  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "damage",
    [
        lambda kept: kept.replace(b'"pk":{"S":"a"}', b'"pk":{"N":"1"}'),
        lambda kept: kept.replace(b'"items":2', b'"items":3'),
        lambda kept: b'{"format":"keyheat.snapshot/1","tables":-1}\n',
        lambda kept: kept.replace(b"keyheat.snapshot/1", b"keyheat.snapshot/9"),
        lambda kept: kept + b"{}\n",
        lambda kept: kept.replace(b'"S":"b"', b'"S":"a"'),
        lambda kept: kept.replace(b'"time_to_live":"ends"', b'"time_to_live":7'),
        *(lambda kept, part=part: kept[: int(len(kept) * part)] for part in (0.0, 0.5, 0.999)),
    ],
)
def test_a_damaged_snapshot_changes_nothing(regions: Regions, service: Service, damage: Any) -> None:
    filled(service)
    kept, catalog = snapshot(regions), service.catalog
    assert damage(kept) != kept
    with pytest.raises(ContentsError, match=r"keyheat\.snapshot/1"):
        restore(regions, damage(kept).replace(b"us-east-1", b"eu-west-1", 1))  # where nobody was
    assert [one.region for one in regions] == ["us-east-1"]
    assert service.catalog is catalog


def test_a_table_is_where_its_arn_says(regions: Regions, service: Service, tmp_path: Path) -> None:
    arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/events"
    (tmp_path / "t.json").write_text(json.dumps([{"Table": {**ON_DEMAND, "TableArn": arn}}, ORDERS]))
    (tmp_path / "i.jsonl").write_bytes(b'{"pk": {"S": "a"}}')
    fill(regions, Contents(table=(tmp_path / "t.json",), seed_items=((arn, tmp_path / "i.jsonl"),)))
    there = regions.named("eu-west-1")
    assert (service.catalog.names(), there.catalog.names()) == (["orders"], ["events"])
    assert len(there.catalog.find("events").items) == 1


def files(folder: Path, items: bytes) -> Contents:
    (folder / "t.json").write_text(json.dumps({"Table": ORDERS}))
    (folder / "i.jsonl").write_bytes(items)
    return Contents(table=(folder / "t.json",), seed_items=((None, folder / "i.jsonl"),))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_items_are_there_from_the_beginning_for_nothing(
    regions: Regions, service: Service, tmp_path: Path, packed: bool
) -> None:
    lines = b'{"pk": {"S": "a"}, "day": {"S": "d"}}\n\n{"Item": {"pk": {"S": "b"}}}\n'
    fill(regions, files(tmp_path, gzip.compress(lines) if packed else lines))
    filled_table = service.catalog.find("orders")
    assert (len(filled_table.items), len(filled_table.items.index("by-day"))) == (2, 1)
    assert filled_table.stream is not None
    assert not list(filled_table.model.decisions())


def test_every_line_that_is_no_item_is_named(regions: Regions, tmp_path: Path) -> None:
    lines = [b'{"pk": {"S": "a"}}', b"rubbish", b'{"day": {"S": "d"}}', b'{"pk": "a"}', b"[]"]
    lines += [b'{"pk": {"S": ""}}'] * 30
    with pytest.raises(ContentsError) as wrong:
        fill(regions, files(tmp_path, b"\n".join(lines)))
    said = str(wrong.value).splitlines()
    assert [line.rpartition("@ ")[2] for line in said[:4]] == [f"line {n}" for n in (2, 3, 4, 5)]
    assert "DynamoDB JSON" in said[0]
    assert len(said) == 20


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (gzip.compress(b'{"pk": {"S": "a"}}' * 1_000)[:-20], "gzip, and damaged or cut off"),
        (gzip.compress(b'{"pk": {"S": "a"}}')[:-8] + b"x" * 8, "gzip, and damaged or cut off"),
        ('{"pk": {"S": "a"}}'.encode("utf-16")[:-1], "not UTF-16 text"),
    ],
    ids=["cut off", "damaged", "UTF-16"],  # what gzip packs has the time in it
)
def test_a_file_that_cannot_be_read_says_why(
    regions: Regions, tmp_path: Path, content: bytes, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    beginning = files(tmp_path, content)
    with pytest.raises(ContentsError, match=f"^{re.escape(str(tmp_path / 'i.jsonl'))}: .*{said}"):
        fill(regions, beginning)
    for wrong in (Contents(table=(tmp_path / "i.jsonl",)), Contents(snapshot=tmp_path / "i.jsonl")):
        with pytest.raises(ContentsError, match=said):
            fill(regions, wrong)
    assert "items of" not in capsys.readouterr().err


def test_time_goes_on_and_never_back() -> None:
    clock = ServiceClock(lambda: NOW_S)
    clock.advance(0.5)
    clock.advance(MOST_ADVANCE_S)
    assert clock() == NOW_S + MOST_ADVANCE_S + 0.5
    for seconds in (0, -1, nan, inf, MOST_ADVANCE_S + 1):
        with pytest.raises(ValueError, match="15 days"):
            clock.advance(seconds)
    assert clock() == NOW_S + MOST_ADVANCE_S + 0.5


@pytest.mark.parametrize(
    ("method", "url", "body", "kind", "status"),
    [
        ("POST", "advance", b'{"seconds": 60}', "application/json; charset=utf-8", 200),
        ("POST", "advance", b'{"seconds": "60"}', "application/json", 400),
        ("POST", "advance", b'{"seconds": 60, "minutes": 1}', "application/json", 400),
        ("POST", "advance", b"{", "application/json", 400),
        ("POST", "advance", b'{"seconds": 60}', "text/plain", 415),
        ("GET", "snapshot", b"", "", 200),
        ("PUT", "snapshot", b"{}", "", 400),
        ("POST", "snapshot", b"", "application/json", 405),
    ],
)
def test_it_is_asked_over_http(method: str, url: str, body: bytes, kind: str, status: int) -> None:
    clock = ServiceClock(lambda: NOW_S)
    service = Service(clock=clock)
    app = ServiceApp(FakeClock(), service, Router(Regions(service), clock=clock))
    assert app.page(url, method, body, content_type=kind)[0] == status
    assert clock.ahead_s == (60 if url == "advance" and status == 200 else 0)
