"""Only the items of one run are deleted, however often it is begun, and paced."""

from collections.abc import Callable
from typing import Any

import pytest

from keyheat.load.tables import cleaning
from keyheat.load.tables.cleaning import Cleaned, clean_table, page_items
from tests.endpoint.account import attributes, on_demand, schema
from tests.endpoint.clients import FakeClock, service_app_at
from tests.load.tables.conftest import replacing

MINE, OTHER = "a" * 12, "b" * 12
TABLE = on_demand(
    "theirs",
    AttributeDefinitions=[*attributes("customer", kind="N"), *attributes("at", kind="B")],
    KeySchema=schema("customer", "at"),
)


@pytest.fixture
def theirs() -> Any:
    """A table with thirty items of each of two runs, and thirty of its owner's."""
    client = service_app_at().ddb
    client.create_table(**TABLE)
    for run in (MINE, OTHER, None):
        for number in range(30):
            mark = {"keyheat_run": {"S": run}} if run else {"name": {"S": MINE}}
            key = {"customer": {"N": str(number)}, "at": {"B": f"{run}/{number}".encode()}}
            client.put_item(TableName="theirs", Item={**key, **mark})
    return client


def owners(client: Any) -> list[str | None]:
    items = client.scan(TableName="theirs")["Items"]
    return sorted((item.get("keyheat_run", {}).get("S") or "" for item in items), reverse=True)


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service in this process takes one request at a time."""
    monkeypatch.setattr(cleaning, "AT_ONCE", 1)


def cleaned_pages(
    client: Any, delete_item: Callable[..., Any] | None = None, pace: float | None = None, **time: Any
) -> tuple[Cleaned, int]:
    """Clean the table; returns what was done, and in how many pages."""
    cleaned, description = Cleaned(MINE, "theirs"), client.describe_table(TableName="theirs")["Table"]
    client = replacing(client, delete_item=delete_item or client.delete_item)
    return cleaned, len(list(clean_table(client, description, cleaned, pace, **time)))


def test_only_the_items_of_the_run_disappear_page_by_page(
    theirs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleaning, "MOST_PAGE_ITEMS", 20)
    done, pages = cleaned_pages(theirs)
    assert pages == 5, "the last page is empty"
    assert (done.deleted, done.looked_at, done.finished) == (30, 90, True)
    assert owners(theirs) == [OTHER] * 30 + [""] * 30
    assert done.write_units == 30.0


def test_an_item_that_became_somebody_elses_is_left(theirs: Any) -> None:
    def too_late(**request: Any) -> Any:
        theirs.put_item(TableName="theirs", Item={**request["Key"], "name": {"S": "theirs"}})
        return theirs.delete_item(**request)

    late, _pages = cleaned_pages(theirs, too_late)
    assert (late.deleted, late.write_units) == (0, 30.0)
    assert len(owners(theirs)) == 90


def test_units_per_second_are_kept(theirs: Any) -> None:
    slept, clock = list[float](), FakeClock(0.0)

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.advance(seconds)

    done, _pages = cleaned_pages(theirs, pace=10.0, clock=clock, sleep=sleep)
    assert sum(slept) == pytest.approx((done.read_units + done.write_units) / 10.0)
    assert max(slept) <= 1.0, "no burst: after each request, and not at the end"


def test_a_page_reads_about_a_seconds_worth() -> None:
    table = {"ItemCount": 1_000, "TableSizeBytes": 8_192_000}
    assert [page_items(table, units_per_s) for units_per_s in (10.0, None)] == [10, 1_000]
    assert page_items(table | {"TableSizeBytes": 400_000_000}, 5.0) == 1
