"""An index that is called `table`, as DynamoDB permits: another resource than the table itself."""

from collections.abc import Callable
from pathlib import Path

import pytest

import keyheat
from keyheat.analysis.report import load_run
from keyheat.analysis.summarize import read_summary
from keyheat.show.charts.heat import partition_resources
from keyheat.words import WRITE, Resource, index_of, label_of, whose
from tests.conftest import Said
from tests.make import a_scenario_file

BOTH = {Resource(None, WRITE), Resource("table", WRITE)}


def test_a_label_says_which_of_the_two_it_means() -> None:
    for index in (None, "table", "by-country", "index"):
        assert index_of(label_of(index)) == index
    assert (whose(label_of(None)), whose(label_of("table"))) == ("the table", "index table")


@pytest.mark.slow
def test_it_is_diagnosed_and_shown_beside_the_table(verb: Callable[..., Said], tmp_path: Path) -> None:
    has = {"read": 500, "write": 9_000}
    index = {"name": "table", "partition_key": "country", "provisioned": has}
    scenario = a_scenario_file(
        tmp_path,
        {"keys": {"kind": "uniform", "keys": 1_000_000}, "load": {"duration_s": 20, "item_bytes": 900}},
        table={"name": "invoices", "provisioned": has, "indexes": [index]},
        attributes={"country": {"values": {"large": 80, "small": 20}}},
        tasks=[{"operation": "put", "per_s": 6_000}],
    )
    folder = tmp_path / "run"
    assert verb("simulate", scenario, "--out", folder).code == 0

    run, shown = keyheat.load_run(folder), load_run(folder)
    assert set(run.seconds["resource"]) == set(run.minutes["resource"]) == {"table", "index:table"}
    assert set(run.labels["resource"]) == {"index:table"}
    assert set(shown.record.resources()) == BOTH
    assert shown.partitions is not None
    assert set(partition_resources(shown.partitions)) == BOTH
    assert read_summary(folder).labels == ("index:table write partition",)
    assert verb("analyze", folder).says("limit of index table: one key,")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Second by second: table, writes" in page
    assert "Second by second: index table, writes" in page
