"""A throttled run of a load test that the simulator does not know is analyzed like any other."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.runs.formats import read_diagnosis

Verb = Callable[..., Any]


@pytest.mark.slow
def test_a_load_test_of_ones_own_is_analyzed_by_the_demand_that_was_seen(verb: Verb, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert verb("simulate", "too-small", "--set", "load.duration_s=20", "--out", run).code == 0
    content = json.loads((run / "run.json").read_text())
    content["scenario"]["loadtest"] = "mine"
    (run / "run.json").write_text(json.dumps(content))
    said = verb("analyze", run)
    assert said.code == 0, said.err
    found = read_diagnosis(run / "diagnosis.json")
    assert found.verdict.constraint == "table"
    raised = next(one for one in found.recommendations if one.action == "raise_capacity")
    assert (raised.resource, raised.direction) == ("table", "write")
    assert raised.foreseen is not None
    assert raised.foreseen.throttle_share_after == 0.0
