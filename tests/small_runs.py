"""Scenarios at a twentieth of their size, side by side, each on an endpoint that tells what it decided.

Rates and the endpoint's limits are smaller alike, so that a busy machine can send them. The endpoint's log of
decisions is the truth.
"""

import json
import re
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from keyheat.endpoint.process import EndpointProcess
from keyheat.evidence.collection import collect_from_cli
from keyheat.load.run import launch
from keyheat.runs.formats import Evidence
from keyheat.scenario.scenario import Scenario, load_scenario
from tests.make import SCENARIOS, a_shipped

DEPENDING = {"aggregate-scan", "aggregate-stream", "dynamic-sharding"}
"""Scenarios of which no dry run shows what they send: it depends on answers."""
SAMPLED = [path for path in sorted(SCENARIOS.glob("*.toml")) if path.stem not in DEPENDING]
SCALE = 0.05
DURATION_S = 26
TRUTH = {"KeyRangeThroughputExceeded": "partition", "ProvisionedThroughputExceeded": "table"}


@dataclass(frozen=True, slots=True)
class Known:
    """A run of a scenario and what the endpoint refused in it, by constraint."""

    scenario: Scenario
    folder: Path
    url: str  # of its endpoint, which is still there
    evidence: Evidence
    refused: Counter[str]


@contextmanager
def run_small(names: Iterable[str], folder: Path) -> Iterator[dict[str, Known]]:
    """The loads of all these scenarios side by side, and then what the client of each saw."""
    with ExitStack() as stack:
        urls = {name: stack.enter_context(EndpointProcess.start(scale=SCALE)).url for name in names}
        paths = {name: a_twentieth(name, folder) for name in urls}
        loads = [
            subprocess.Popen(
                launch.command(path, load_scenario(path), folder / name, "--no-report", "--host", urls[name]),
                stdout=subprocess.DEVNULL,
            )
            for name, path in paths.items()
        ]
        assert [load.wait() for load in loads] == [0] * len(loads)
        yield {
            name: Known(
                scenario := load_scenario(paths[name]), folder / name, url,
                without_cloudwatch(folder / name), refused_by(url, scenario.table.name),
            )
            for name, url in urls.items()
        }  # fmt: skip


def without_cloudwatch(folder: Path) -> Evidence:
    """What the client saw, without waiting until the minute is over and its metrics are published."""
    return collect_from_cli(folder, [{"MetricDataResults": []}], now_s=time.time())


def a_twentieth(name: str, folder: Path) -> Path:
    """A scenario at a twentieth of its size and shorter; an endpoint of its own is as small."""
    text = (SCENARIOS / f"{name}.toml").read_text()
    rate = a_shipped(name).load.requests_per_s * SCALE
    text = re.sub(r"(?m)^requests_per_s = \S+", f"requests_per_s = {rate}", text)
    text = re.sub(r"(?m)^users = \S+", "users = 10", text)
    text = re.sub(r"(?m)^duration_s = \S+", f"duration_s = {DURATION_S}", text)
    path = folder / f"{name}.toml"
    path.write_text(f"{text}\n[local]\nscale = {SCALE}\n")
    return path


def refused_by(url: str, table: str) -> Counter[str]:
    """How many requests an endpoint refused, by constraint, as its log of decisions has it."""
    with urllib.request.urlopen(f"{url}/_keyheat/decisions?table={table}") as answer:
        decisions = json.load(answer)
    counts: Counter[str] = Counter()
    for row in decisions:
        counts.update({TRUTH[cause]: count for cause, count in row["refused"].items()})
    return counts
