"""The four demo scenarios on a real endpoint: every label against what the endpoint itself decided.

The scenarios are the demo's at a tenth of the size (rates and the endpoint's limits alike), so that a busy
machine can send them. The endpoint's log of decisions is the truth; the analyzer is shown ever less.
"""

import json
import re
import subprocess
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from analyzers.client import read_client_files
from analyzers.diagnosis import diagnose
from analyzers.evidence import collect
from analyzers.formats import Diagnosis, Evidence
from analyzers.thresholds import load_thresholds
from generator.run import launch
from tablemodel.endpoint.process import EndpointProcess
from tablemodel.scenario import load_scenario

SCENARIOS = Path(__file__).parents[1] / "configs" / "scenarios"
DEMO = {"hotkey": "partition", "datekey": "partition", "sharded": "none", "too-small": "table"}
TRUTH = {"KeyRangeThroughputExceeded": "partition", "ProvisionedThroughputExceeded": "table"}
pytestmark = pytest.mark.xdist_group("demo labels")  # one set of runs serves all tests here
CAUSE_METRIC = re.compile(r"(KeyRange|Provisioned|MaxOnDemand|Account)\w*ThrottleEvents$")


@dataclass(frozen=True, slots=True)
class Known:
    """A run of a demo scenario and what the endpoint refused in it, by constraint."""

    folder: Path
    evidence: Evidence
    refused: Counter[str]


def a_tenth(name: str, folder: Path) -> Path:
    """The demo's scenario at a tenth of its size, and half as long."""
    text = (SCENARIOS / f"{name}.toml").read_text()
    rate = load_scenario(SCENARIOS / f"{name}.toml").load.requests_per_s / 10
    text = re.sub(r"(?m)^requests_per_s = \S+", f"requests_per_s = {rate}", text)
    text = re.sub(r"(?m)^users = \S+", "users = 10", text)
    text = re.sub(r"(?m)^duration_s = \S+", "duration_s = 26", text)
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def load_command(name: str, folder: Path, url: str) -> list[str]:
    path = a_tenth(name, folder)
    return launch.command(path, load_scenario(path), folder / name, "--no-report", "--host", url)


def refused_by(url: str, table: str) -> Counter[str]:
    with urllib.request.urlopen(f"{url}/_keyheat/decisions?table={table}") as answer:
        rows = json.load(answer)
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update({TRUTH[cause]: count for cause, count in row["refused"].items()})
    return counts


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Known]]:
    """All four loads side by side, each on an endpoint of its own, then the evidence of each."""
    folder = tmp_path_factory.mktemp("demo")
    with ExitStack() as stack:
        urls = {name: stack.enter_context(EndpointProcess.start(scale=0.1)).url for name in DEMO}
        loads = [
            subprocess.Popen(load_command(name, folder, url), stdout=subprocess.DEVNULL)
            for name, url in urls.items()
        ]
        assert [load.wait(timeout=120) for load in loads] == [0, 0, 0, 0]
        yield {
            name: Known(folder / name, collect(folder / name), refused_by(url, f"keyheat-{name}"))
            for name, url in urls.items()
        }


def without_reasons(evidence: Evidence) -> Evidence:
    """What an old SDK leaves: throttles, and no word on why."""
    rows = tuple(row.model_copy(update={"reason": None}) for row in evidence.throttles or ())
    return evidence.model_copy(update={"throttles": rows})


def without_causes(evidence: Evidence) -> Evidence:
    """What CloudWatch said before it had metrics by cause."""
    series = tuple(one for one in evidence.series if not CAUSE_METRIC.search(one.metric))
    return without_reasons(evidence).model_copy(update={"series": series})


HIDDEN = {"reason": lambda evidence: evidence, "cause_metric": without_reasons, "inferred": without_causes}


def diagnosed(run: Known, grade: str) -> Diagnosis:
    return diagnose(
        HIDDEN[grade](run.evidence),
        client=read_client_files(run.folder), thresholds=load_thresholds(), scenario=None,
    )  # fmt: skip


@pytest.mark.parametrize("name", DEMO)
@pytest.mark.parametrize("grade", HIDDEN)
def test_the_label_is_what_the_endpoint_decided(known: dict[str, Known], name: str, grade: str) -> None:
    run = known[name]
    truth = run.refused.most_common(1)[0][0] if run.refused else "none"
    verdict = diagnosed(run, grade).verdict
    assert truth == DEMO[name], f"the endpoint refused {run.refused}"
    assert verdict.constraint == truth, verdict.because
    assert verdict.grade == (grade if run.refused else "none")


@pytest.mark.parametrize("name", DEMO)
def test_no_throttle_is_lost_between_endpoint_and_label(known: dict[str, Known], name: str) -> None:
    run = known[name]
    labelled = Counter[str]()
    for label in diagnosed(run, "reason").labels:
        labelled[label.constraint] += label.throttles
    assert labelled == run.refused
