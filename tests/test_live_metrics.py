"""docs/data/metrics.csv and deploy/grafana: a real load exports what they name.

There is no Grafana here: each query of the dashboard, parsed as Prometheus would, is held against what a load
exported.
"""

import csv
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from prometheus_client import Metric as Family
from prometheus_client.parser import text_string_to_metric_families

from keyheat import runfiles
from keyheat.endpoint.process import EndpointProcess
from keyheat.load.run.prometheus import PREFIX, SAYS, family_of
from keyheat.testing.local import LocalDynamoDB
from tests.load.conftest import SHORT
from tests.load.forked import LocustServer
from tests.make import a_scenario_file
from tests.outside import a_readers_environment, eventually, free_port, get

ROOT = Path(__file__).parents[1]
GRAFANA = ROOT / "deploy/grafana"
BOARD: dict[str, Any] = json.loads((GRAFANA / "dashboards/keyheat-load.json").read_text(encoding="utf-8"))
LISTED = ROOT / "docs/data/metrics.csv"
HOTKEY = ("-f", str(ROOT / "loadtests/hotkey.py"))
MADE = (
    "--autostart", "--only-summary", "--scenario", "scenario.json", "--out", "run", "--no-report",
)  # fmt: skip
WATCHED = {
    "table": {"name": "watched-table"},
    "load": {
        "users": 40, "requests_per_s": 80, "duration_s": 600, "item_bytes": 60_000, "arrivals": "poisson",
    },
}  # fmt: skip
RETRIES = ("--set", "client.sdk='boto3-2026'", "--set", "client.attempts=2")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load exported once it had ended; and its own run.json."""

    after: dict[str, Family]
    run: dict[str, Any]

    def points(self, name: str) -> dict[tuple[tuple[str, str], ...], float]:
        """The samples of a metric by their labels; of a histogram how many values there are."""
        return points_of(self.after[f"keyheat_load_{name}"])


def read(text: str) -> dict[str, Family]:
    """The metrics, as Prometheus' own parser reads them."""
    return {one.name: one for one in text_string_to_metric_families(text)}


def points_of(family: Family) -> dict[tuple[tuple[str, str], ...], float]:
    return {
        tuple(sorted(one.labels.items())): one.value
        for one in family.samples
        if not one.name.endswith(("_bucket", "_sum"))
    }


@pytest.fixture(scope="module")
def loaded(locust_server: LocustServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loaded]:
    """A load that throttles, fails and retries until it has been seen to, with everything exported."""
    folder, port = tmp_path_factory.mktemp("load"), free_port()
    a_scenario_file(folder, SHORT, **WATCHED)
    with ExitStack() as stack:
        endpoint = stack.enter_context(EndpointProcess.start())
        lost = {"name": "lost", "operations": ["PutItem"], "share": 0.05, "error": 503}
        stack.enter_context(LocalDynamoDB(endpoint.url).faults(lost))
        web = free_port()
        words = (
            *HOTKEY, *MADE, "--host", endpoint.url, *RETRIES,
            "--prometheus-port", str(port), "--web-port", str(web),
        )  # fmt: skip
        stack.callback(locust_server.start(words, folder, a_readers_environment()).close)
        eventually(lambda: seen(port, "failures", "requests_given_up"))
        get(f"http://127.0.0.1:{web}/stop", b"")
        run = eventually(lambda: over(folder))
        yield Loaded(read(get(f"http://127.0.0.1:{port}/metrics")), run)


def over(folder: Path) -> dict[str, Any] | None:
    """What a run says of itself, once it is over."""
    file = folder / "run/run.json"
    run = runfiles.read_json(file, runfiles.RUN) if file.exists() else {}
    return run if run.get("totals") else None


def seen(port: int, *names: str) -> str | None:
    """What a load exports, once that has throttles and the metrics named."""
    text = get(f"http://127.0.0.1:{port}/metrics")
    return text if all(f"\nkeyheat_load_{name}_total" in text for name in ("throttles", *names)) else None


pytestmark = pytest.mark.xdist_group("live metrics")


@pytest.mark.opens
def test_a_load_exports_every_metric_with_its_kind(loaded: Loaded) -> None:
    assert {name: one.type for name, one in loaded.after.items()} == {
        one.name: one.type for one in map(family_of, SAYS)
    }
    ((throttle, _count),) = loaded.points("throttles").items()
    assert dict(throttle) == {
        "operation": "PutItem", "resource": "table", "direction": "write", "constraint": "partition",
        "reason": "TableWriteKeyRangeThroughputExceeded",
    }  # fmt: skip
    ((info, _always),) = loaded.points("info").items()
    assert (dict(info)["run"], dict(info)["table"]) == (loaded.run["run_id"], "watched-table")


@pytest.mark.opens
def test_what_is_exported_at_the_end_is_what_the_run_came_to(loaded: Loaded) -> None:
    by_outcome: dict[str, float] = {}
    for labels, value in loaded.points("attempts").items():
        by_outcome[dict(labels)["outcome"]] = value
    totals = loaded.run["totals"]
    assert by_outcome == {
        "accepted": totals["accepted"], "throttled": totals["throttled"], "error": totals["errors"],
    }  # fmt: skip
    reasons = {dict(labels)["reason"]: value for labels, value in loaded.points("throttles").items()}
    assert reasons == totals["by_reason"]
    assert sum(loaded.points("failures").values()) == totals["errors"]
    consumed = {dict(labels)["direction"]: value for labels, value in loaded.points("consumed_units").items()}
    assert consumed["write"] == pytest.approx(totals["consumed_units"]["write"])
    assert sum(loaded.points("service_time_seconds").values()) == totals["attempts"]
    assert loaded.points("generator_limited") == {(): float(loaded.run["generator"]["bound"])}
    (hottest, *_) = sorted(loaded.points("hot_key_throttles").items(), key=lambda one: -one[1])
    assert dict(hottest[0]) == {"key": "hot", "resource": "table", "direction": "write"}


def queries() -> list[str]:
    """The PromQL of all panels, with what Grafana puts in the place of its variables."""
    found = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
    return [one.replace("$__rate_interval", "20s").replace("$instance", ".*") for one in found]


def metrics_in(query: str) -> set[str]:
    nodes: list[promql_parser.Expr] = []
    promql_parser.walk(promql_parser.parse(query), lambda node: nodes.append(node) or True)
    return {str(node.name) for node in nodes if isinstance(node, promql_parser.VectorSelector)}


@pytest.mark.opens
def test_the_dashboard_asks_for_what_a_load_exports_and_for_all_that_it_does(loaded: Loaded) -> None:
    exported = {f"{PREFIX}{name}" for name in SAYS if family_of(name).name in loaded.after}
    exported |= {f"{name}_bucket" for name in exported if name.endswith("_time_seconds")}
    asked = {name for query in queries() for name in metrics_in(query)}
    assert asked <= exported
    assert not {name for name in exported if not {name, f"{name}_bucket"} & asked}


@pytest.mark.opens
def test_the_list_names_the_labels_that_they_have(loaded: Loaded) -> None:
    with LISTED.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"].startswith("keyheat_load_")]
    told = {row["metric"]: set(re.findall(r"\w+", row["labels"])) for row in rows}
    found = {
        f"{PREFIX}{metric}": {
            name for labels in points_of(loaded.after[family_of(metric).name]) for name, _value in labels
        }
        for metric in SAYS
    }
    assert told == found
