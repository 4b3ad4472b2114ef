"""The runs of docs/sharding.md, at a twentieth of the size for a few seconds."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.opens

ROOT = Path(__file__).parents[2]
RUN = "keyheat run dynamic-sharding-one dynamic-sharding dynamic-sharding-fixed --out reports/out/dynamic"
SMALL = {
    "requests_per_s": 200, "users": 10, "duration_s": 4, "scale": 0.05,
    "cooldown_s": 0.6, "backoff_low_s": 0, "backoff_high_s": 0.1, "cache_s": 0.2,
}  # fmt: skip


def small(name: str, folder: Path) -> Path:
    text = (ROOT / "configs" / "scenarios" / f"{name}.toml").read_text()
    for field, value in SMALL.items():
        text, found = re.subn(rf"(?m)^{field} = \S+", f"{field} = {value}", text)
        assert found == 1 or "dynamic_sharding]" not in text, field
    path = folder / f"{name}.toml"
    path.write_text(text)
    return path


def run_all(folder: Path) -> dict[str, dict[str, Any]]:
    """`run.json` of the runs that the page's command makes, by scenario."""
    program, verb, *names, out, where = shlex.split(RUN)
    assert (program, verb, out, where) == ("keyheat", "run", "--out", "reports/out/dynamic")
    paths = [str(small(name, folder)) for name in names]
    said = subprocess.run(
        [Path(sys.executable).parent / program, verb, *paths, "--no-collect", out, str(folder / "runs")],
        capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    made = {name: folder / "runs" / name / "run.json" for name in names}
    assert all(path.exists() for path in made.values()), said.stdout + said.stderr
    assert (folder / "runs" / "index.html").exists(), "the three side by side"
    return {name: json.loads(path.read_text()) for name, path in made.items()}


@pytest.mark.nightly
def test_no_item_is_lost_and_fixed_shards_stay(tmp_path: Path) -> None:
    """How many shards a key gets depends on how fast this machine sends; `test_writer` has the rules."""
    runs = run_all(tmp_path)
    counted = runs["dynamic-sharding"]["counted"]
    assert counted["shards.ended_with"] == 1 + counted["shards.increments"]
    assert counted["metadata.write_units"] >= counted["shards.increments"]
    assert counted["shards.capacity_asked"] == 0
    for name in ("missing", "duplicate", "misordered"):
        assert counted[f"reads.{name}"] == 0
    assert counted["reads.required"] > 0
    for name, shards in (("one", 1), ("fixed", 5)):
        counted = runs[f"dynamic-sharding-{name}"]["counted"]
        assert counted["shards.ended_with"] == shards
        assert counted["shards.increments"] == counted["metadata.read_units"] == 0
        assert counted["reads.missing"] == 0
