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
from tests.make import a_shipped
from tests.small_runs import Known, run_small

ROOT = Path(__file__).parents[1]
RUN_SMALL = {"leaderboard-sharded": ("none", None), "table-per-period-cold": ("table", "table")}


PAGE = (ROOT / "docs" / "key-designs.md").read_text(encoding="utf-8")
ROW = r"^\| K\d+ [^|]+\| \[(\w+)\.py\]\(\.\./loadtests/\1\.py\)(?:, `([\w-]+)`)? \|(.*)\|$"
MEASURED = [
    (loadtest, variant or loadtest.replace("_", "-"), [cell.strip() for cell in cells.split("|")])
    for loadtest, variant, cells in re.findall(ROW, PAGE, re.MULTILINE)
]


def test_every_number_of_the_playbook_has_a_row() -> None:
    """Some are another scenario with one number changed, and have no name."""
    assert set(re.findall(r"^\| (K\d+) ", PAGE, re.MULTILINE)) == {f"K{number}" for number in range(1, 19)}
    assert len(MEASURED) == 20


@pytest.mark.parametrize(("loadtest", "name", "cells"), MEASURED)
def test_the_page_says_the_label_that_the_scenario_expects(
    loadtest: str, name: str, cells: list[str]
) -> None:
    scenario = a_shipped(name)
    assert scenario.loadtest == loadtest
    expected, units_per_s, throttled, measured = cells[:4]
    assert re.search(rf"\b{scenario.expects}\b", expected)
    assert measured == scenario.expects
    assert re.fullmatch(r"[\d,]+", units_per_s)
    assert re.fullmatch(r"\d+ %", throttled)


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
