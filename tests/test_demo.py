"""The verb demo on a slow machine: demand and tables are halved, and what was spoiled runs again."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from keyheat.cli import run as demo
from keyheat.cli.simulate import How
from keyheat.runs.formats import write_diagnosis
from keyheat.simulator.jobs import Job
from keyheat.words import DONE, INVALID
from tests.conftest import Verb
from tests.make import a_diagnosis, a_shipped
from tests.outside import check_verdict

Loads = list[dict[str, float]]
ANSWERS = {"hotkey": "partition", "datekey": "partition", "sharded": "none", "too-small": "table"}


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> Loads:
    """What was loaded beside each other, round by round: each scenario with its demand."""
    made: Loads = []

    def load(jobs: Sequence[Job], how: How) -> list[int]:
        made.append({job.scenario.name: job.scenario.load.requests_per_s for job in jobs})
        return [INVALID if job.scenario.name == "sharded" else DONE for job in jobs]

    monkeypatch.setattr(demo, "loaded_together", load)
    monkeypatch.setattr("keyheat.load.record.generator.machine", lambda: {"cores": 2})
    monkeypatch.setattr(demo, "in_turn", load)
    monkeypatch.setattr("keyheat.show.compare.write_comparison", lambda *_of: None)
    return made


@pytest.mark.parametrize(
    ("enough", "scales", "code"),
    [(0.25, [1.0, 0.5, 0.25], INVALID), (0.0, [1.0, 0.5, 0.25, 0.125, 0.0625], DONE)],
    ids=["spoiled by something else in the end", "a machine that cannot send anything is no failure"],
)
def test_what_the_generator_spoiled_runs_again_at_half_its_size(
    verb: Verb, loads: Loads, monkeypatch: pytest.MonkeyPatch, home: Path,
    enough: float, scales: list[float], code: int,
) -> None:  # fmt: skip
    def spoiled(job: Job) -> bool:
        return job.scenario.name == "sharded" and job.scenario.local.scale > enough

    monkeypatch.setattr(demo, "_spoiled", spoiled)
    said = verb("demo", "--out", home / "demo")
    assert [list(made) for made in loads] == [list(demo.DEMO), *[["sharded"]] * (len(scales) - 1)]
    full = loads[0]["sharded"]
    assert [made["sharded"] / full for made in loads] == scales
    assert "this machine was too busy for sharded: demand and tables are halved, to scale 0.5" in said.err
    assert said.code == code


@pytest.mark.parametrize(
    ("constraint", "valid", "again"),
    [("none", True, False), ("partition", True, True), ("none", False, True)],
)
def test_a_run_that_comes_out_otherwise_is_the_machines_matter(
    constraint: str, valid: bool, again: bool, tmp_path: Path
) -> None:
    """Requests that a busy machine sends late come at once, and may throttle what does not throttle else."""
    job = Job(a_shipped("sharded"), tmp_path / "sharded.toml", tmp_path)
    write_diagnosis(tmp_path / "diagnosis.json", a_diagnosis(constraint, valid=valid))
    assert demo._spoiled(job) is again


@pytest.mark.opens
@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("hotkey", "sharded"), id="two"),
        pytest.param(demo.DEMO, id="all", marks=[pytest.mark.nightly, pytest.mark.long]),
    ],
)
def test_they_are_loaded_and_judged_and_stand_side_by_side(
    verb: Verb, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, names: tuple[str, ...]
) -> None:
    """In earnest, at a sixteenth of their size."""
    shorter = "load.duration_s=26"
    monkeypatch.setattr(demo, "find_scenario", lambda name: (a_shipped(name, shorter), Path(f"{name}.toml")))
    monkeypatch.setattr(demo, "DEMO", names)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "MOST_SCALE", demo.LEAST_SCALE)
    said = verb("demo", "--out", "demo")
    assert "Side by side: demo/index.html" in said.out
    page = (tmp_path / "demo" / "index.html").read_text(encoding="utf-8")
    assert all(f"{name}/report.html" in page for name in names)
    valid = [check_verdict(tmp_path / "demo" / name, ANSWERS[name]) for name in names]
    assert said.code == (DONE if all(valid) else INVALID), said.err
    assert max(a_shipped(name).load.duration_s for name in ANSWERS) < 60, "which takes less than a minute"
