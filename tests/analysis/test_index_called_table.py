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

ROOT = Path(__file__).parents[2]
SCENARIO = ROOT / "configs" / "scenarios" / "country-index.toml"
WRITES = '''"""Invoices by country."""

from locust import task

from keyheat.load.users.user import TableUser


class InvoiceUser(TableUser):
    """Writes invoices under ids that are even; their entries in the index meet on the large country."""

    @task
    def put_invoice(self) -> None:
        invoice = f"{self.rng.getrandbits(64):x}"
        self.put(invoice, attributes={"country": self.draw_key(), "invoiced_at": self.next_sort_key()})
'''
BOTH = {Resource(None, WRITE), Resource("table", WRITE)}


def test_a_label_says_which_of_the_two_it_means() -> None:
    for index in (None, "table", "by-country", "index"):
        assert index_of(label_of(index)) == index
    assert (whose(label_of(None)), whose(label_of("table"))) == ("the table", "index table")


@pytest.mark.opens
def test_it_is_measured_diagnosed_and_shown_beside_the_table(
    verb: Callable[..., Said], tmp_path: Path
) -> None:
    (tmp_path / "invoices.py").write_text(WRITES)
    scenario, folder = tmp_path / "invoices.toml", tmp_path / "run"
    said = (
        SCENARIO.read_text().replace('"by-country"', '"table"').replace('"country_index"', '"./invoices.py"')
    )
    scenario.write_text(said)
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
