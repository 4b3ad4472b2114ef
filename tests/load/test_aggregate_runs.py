"""Sales per product and day, kept in three ways by load tests as they are: the totals are the orders."""

from collections import Counter
from pathlib import Path

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from tests.load.conftest import Loaded
from tests.make import SCENARIOS
from tests.outside import free_port, run_of

SECONDS = {"scan": 5, "transaction": 5, "stream": 12}  # a consumer looks for new shards every 10 s


Totals = Counter[tuple[str, str]]


def totals_in(url: str, table: str, run_id: str) -> tuple[Totals, Totals]:
    """What the orders of a run come to, and the totals that are kept, by product and day."""
    truth, kept = Totals(), Totals()
    pages = make_client(target_at(url)).get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    for item in (item for page in pages for item in page["Items"]):
        of = (item["product"]["S"], item["day"]["S"])
        if item["pk"]["S"].startswith(f"{run_id}/order/"):
            truth[of] += 1
        elif item["pk"]["S"].startswith(f"{run_id}/total/"):
            kept[of] += int(item["orders"]["N"])
    return truth, kept


@pytest.mark.parametrize(
    ("way", "processes"),
    [("scan", 1), ("transaction", 1), pytest.param("stream", 2, marks=pytest.mark.nightly)],
)
def test_the_totals_are_what_the_orders_come_to(
    load_run: Loaded, tmp_path: Path, endpoint: EndpointProcess, way: str, processes: int
) -> None:
    """A consumer counts no order twice, and lacks at most what came after its last flush."""
    folder, port = tmp_path / "run", str(free_port())
    workers = ("--processes", "2", "--master-bind-port", port, "--master-port", port)
    smaller = ("--set", "load.requests_per_s=120", "--set", f"load.duration_s={SECONDS[way]}")
    options = ("--host", endpoint.url, "--keep-table", "--share", *(workers if processes > 1 else ()))
    load_run(f"aggregate_{way}.py", SCENARIOS / f"aggregate-{way}.toml", *smaller, *options)
    run = run_of(folder)
    counted, consumed = run["counted"], run["totals"]["consumed_units"]
    placed, table = counted["orders.placed"], run["table"]["name"]
    truth, kept = totals_in(endpoint.url, table, run["run_id"])
    assert placed == truth.total() > 0
    beside = {name: number for name, number in counted.items() if name.endswith(".write_units")}
    assert counted["orders.units"] == consumed["write"] + consumed["read"] + sum(beside.values())
    if way == "transaction":
        assert (kept, counted["orders.units"] / placed) == (truth, 4.0)
    elif way == "scan":
        assert counted["totals.reports"] >= 1
    else:
        _none, kept = totals_in(endpoint.url, f"{table}-totals", run["run_id"])
        assert kept <= truth
        assert kept.total() == counted["orders.counted"]
        if "totals.updates" in counted:
            assert beside == {f"tables.{table}-totals.write_units": counted["totals.updates"]}
        else:  # a machine too slow to come to a flush
            assert (kept, beside, run["generator"]["bound"]) == (Totals(), {}, True)
    assert not [line for line in run["generator"]["checks"] if "stream" in line or "total" in line]
