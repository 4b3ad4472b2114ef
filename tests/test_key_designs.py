"""Every key design has a load test, a scenario and a row in the pages, and its label is the expected one.

What the page says was measured comes from runs of the scenarios as they are; here a few are run_small, on a
virtual clock or, where reads are checked or tables change, in real processes.
The page about them is docs/key-designs.md.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from keyheat.analysis.diagnosis import diagnose
from keyheat.analysis.thresholds import load_thresholds
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.runs.client import read_client_files
from keyheat.runs.formats import Diagnosis
from keyheat.runs.manifest import read_manifest
from tests.make import SCENARIOS, a_shipped
from tests.small_runs import Known, run_small

ROOT = Path(__file__).parents[1]
DESIGNS = {
    "K1": {"user-id": "none"},
    "K2": {"status-code": "partition"},
    "K3": {"datekey": "partition"},
    "K6": {"composite-key": "none"},
    "K7": {"random-suffix": "none"},
    "K8": {"calculated-suffix": "none"},
    "K9": {"date-suffix": "none"},
    "K10": {"audit-log": "partition", "audit-log-random": "none", "audit-log-calculated": "none"},
    "K11": {"sequence-key": "none"},
    "K12": {"product-sku": "partition"},
    "K13": {"country-index": "partition"},
    "K14": {"country-index-sharded": "none"},
    "K15": {"leaderboard": "partition"},
    "K16": {"leaderboard-sharded": "none"},
    "K17": {"unique-key": "none"},
    "K18": {
        "table-per-period": "none",
        "table-per-period-cold": "table",
        "table-per-period-on-demand": "partition",
    },
}
NAMED = [(number, name, label) for number, named in DESIGNS.items() for name, label in named.items()]
RUN_SMALL = {"leaderboard-sharded": ("none", None), "table-per-period-cold": ("table", "table")}


def rows_of(page: Path) -> list[list[str]]:
    """The cells of every row that begins with a number of the playbook."""
    found = re.findall(r"^\|( K\d+ .*)\|$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [[cell.strip() for cell in row.split("|")] for row in found]


def test_every_number_of_the_playbook_has_a_row() -> None:
    """Some are another scenario with one number changed, and have no name."""
    said = {cells[0].partition(" ")[0] for cells in rows_of(ROOT / "docs" / "key-designs.md")}
    assert said == {f"K{number}" for number in range(1, 19)}
    assert said - DESIGNS.keys() == {"K4", "K5"}


@pytest.mark.parametrize(("number", "name", "label"), NAMED)
def test_a_name_is_a_scenario_that_expects_its_label(number: str, name: str, label: str) -> None:
    scenario = a_shipped(name)
    assert scenario.name == name
    assert scenario.expects == label
    question = re.match(r'"""(.*\?)"?', scenario.locustfile(SCENARIOS).read_text())
    assert question, "the first line of a load test is its question"


@pytest.mark.parametrize(("number", "name", "label"), NAMED)
def test_the_page_has_a_row_for_it_that_says_the_label(number: str, name: str, label: str) -> None:
    loadtest = a_shipped(name).loadtest
    variant = f", `{name}`" if loadtest != name.replace("-", "_") else ""
    file = f"[{loadtest}.py](../loadtests/{loadtest}.py){variant}"
    rows = [row for row in rows_of(ROOT / "docs" / "key-designs.md") if row[0].startswith(f"{number} ")]
    (row,) = (row for row in rows if row[1] == file)
    assert re.search(rf"\b{label}\b", row[2]), "what to expect"
    units_per_s, throttled, measured = row[3:6]
    assert re.fullmatch(r"[\d,]+", units_per_s)
    assert re.fullmatch(r"\d+ %", throttled)
    assert measured == label


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Known]]:
    with run_small(RUN_SMALL, tmp_path_factory.mktemp("designs")) as known:
        yield known


def diagnosed(run: Known) -> Diagnosis:
    return diagnose(
        run.evidence,
        client=read_client_files(run.folder), thresholds=load_thresholds(), scenario=None,
    )  # fmt: skip


@pytest.mark.opens
@pytest.mark.xdist_group("key designs")  # one set of runs serves all tests below
@pytest.mark.parametrize("name", RUN_SMALL)
def test_a_design_gets_the_label_that_its_scenario_expects(runs: dict[str, Known], name: str) -> None:
    run, (label, resource) = runs[name], RUN_SMALL[name]
    truth = run.refused.most_common(1)[0][0] if run.refused else "none"
    found = diagnosed(run)
    assert truth == run.scenario.expects == label, f"the endpoint refused {run.refused}"
    assert (found.verdict.constraint, found.verdict.resource) == (label, resource), found.verdict.because
    assert sum(one.throttles for one in found.labels) == run.refused.total(), "none is lost on the way"


@pytest.mark.opens
@pytest.mark.xdist_group("key designs")
def test_the_top_of_a_sharded_leaderboard_is_the_top(runs: dict[str, Known]) -> None:
    counted = read_manifest(runs["leaderboard-sharded"].folder).counted
    assert counted["reads.checked"] > 0
    assert counted["reads.required"] > 0, "what was written long enough ago has to be found"
    assert [counted[f"reads.{what}"] for what in ("missing", "duplicate", "misordered")] == [0, 0, 0]


@pytest.mark.opens
@pytest.mark.xdist_group("key designs")
def test_the_rollover_leaves_the_last_periods_table_and_lowers_its_capacity(runs: dict[str, Known]) -> None:
    run = runs["table-per-period-cold"]
    counted = read_manifest(run.folder).counted
    (last,) = run.scenario.companions
    assert counted[f"tables.{last.name}.write_units"] > 0
    assert f"tables.{last.name}.error" not in counted
    client = make_client(target_at(run.url))
    described = client.describe_table(TableName=last.name)["Table"]
    client.close()
    assert described["ProvisionedThroughput"]["WriteCapacityUnits"] == 5
