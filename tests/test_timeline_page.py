"""docs/timeline.md: its command is run, and its story is the one that the simulator tells."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat import runfiles
from keyheat.runs import parquet
from keyheat.scenario.scenario import load_scenario, scenario_from_dict

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "timeline.md").read_text(encoding="utf-8")
COMMAND = "keyheat simulate auto-scaling-late"


def test_the_page_tells_what_happens(verb: Callable[..., Any], tmp_path: Path) -> None:
    assert re.findall(r"^```sh\n(.*?)\n```$", PAGE, re.DOTALL | re.MULTILINE) == [COMMAND]
    assert verb(*COMMAND.split()[1:], "--out", tmp_path).code == 0
    run = runfiles.read_json(tmp_path / "run.json", runfiles.RUN)
    (event,) = run["timeline"]
    asked = f"auto scaling asks for {event['to']:,} WCU/s: {event['because']} |"
    assert f"| {event['at_s']:,.0f} | {asked}" in PAGE
    assert f"| {event['in_force_s']:,.0f} | {event['to']:,} WCU/s are in force" in PAGE
    throttled = parquet.read_table(tmp_path / "seconds.parquet", runfiles.SECONDS)
    seconds = [row["second"] for row in throttled.to_pylist() if row["throttled"]]
    assert (seconds[-1] - seconds[0]).total_seconds() + 1 == 159  # 2 min 39 s
    for name, value in event.items():
        shown = {True: f'"{name}": "{value}"', False: f'"{name}": {value}'}[isinstance(value, str)]
        assert shown.replace("None", "null") in PAGE


def test_the_tables_of_the_page_are_right_in_a_scenario() -> None:
    steps, scaling = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    raw = load_scenario(ROOT / "configs" / "scenarios" / "country-index.toml").model_dump(mode="json")
    raw["load"]["duration_s"] = 3_600
    changing = scenario_from_dict({**raw, **tomllib.loads(steps)}, "the page's steps")
    assert [step.at_s for step in changing.timeline] == [600, 600, 1_800, 1_900]
    raw["table"]["auto_scaling"] = tomllib.loads(scaling)["table"]["auto_scaling"]
    assert scenario_from_dict(raw, "the page's scaling").table.scaled
