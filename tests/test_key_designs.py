"""Every key design of docs/key-designs.md has a load test and a scenario, which expects the page's label.

Labels themselves are tested in tests/analysis; here are loads that check what they read, or change tables.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.runs.manifest import read_manifest
from tests.conftest import ROOT, Verb
from tests.make import a_shipped
from tests.outside import OR_TOO_SLOW

SCALE = 0.05
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


def counted_in_a_run(verb: Verb, name: str, url: str, folder: Path) -> dict[str, float]:
    """What the users of a design's load test counted, at a twentieth of its size."""
    rate = a_shipped(name).load.requests_per_s * SCALE
    settings = ("--set", f"load.requests_per_s={rate}", "--set", f"local.scale={SCALE}", "--duration", 26)
    said = verb("run", name, *settings, "--target", url, "--out", folder / "run", "--no-collect")
    assert said.code in OR_TOO_SLOW, said.err
    return read_manifest(folder / "run").counted


@pytest.fixture
def url() -> Iterator[str]:
    with EndpointProcess.start(scale=SCALE) as process:
        yield process.url


@pytest.mark.opens
@pytest.mark.usefixtures("no_page")
def test_the_top_of_a_sharded_leaderboard_is_the_top(verb: Verb, url: str, tmp_path: Path) -> None:
    counted = counted_in_a_run(verb, "leaderboard-sharded", url, tmp_path)
    assert counted["reads.checked"] > 0
    assert counted["reads.required"] > 0, "what was written long enough ago has to be found"
    assert [counted[f"reads.{what}"] for what in ("missing", "duplicate", "misordered")] == [0, 0, 0]


@pytest.mark.opens
@pytest.mark.usefixtures("no_page")
def test_the_rollover_leaves_the_last_periods_table_and_lowers_its_capacity(
    verb: Verb, url: str, tmp_path: Path
) -> None:
    counted = counted_in_a_run(verb, "table-per-period-cold", url, tmp_path)
    (last,) = a_shipped("table-per-period-cold").companions
    assert counted[f"tables.{last.name}.write_units"] > 0
    assert f"tables.{last.name}.error" not in counted
    client = make_client(target_at(url))
    described = client.describe_table(TableName=last.name)["Table"]
    client.close()
    assert described["ProvisionedThroughput"]["WriteCapacityUnits"] == 5
