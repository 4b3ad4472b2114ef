"""keyheat fix: its verdicts and exit codes; both sides by turns."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.cli import fix as verb_of_fix
from keyheat.simulator.jobs import Job
from tests.conftest import Verb
from tests.loaded_runs import written_run

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home", "no_page")]

SHORT, SHORTER = "load.duration_s=20", "load.duration_s=8"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A simulated run directory of a shipped scenario, made once: `runs("hotkey")`."""
    from keyheat.cli.simulate import How, simulated
    from keyheat.scenario.variants import overridden
    from keyheat.simulator.jobs import find_scenario

    folder, made = tmp_path_factory.mktemp("runs"), {}

    def make(name: str, *settings: str) -> Path:
        if (name, settings) not in made:
            scenario, path = find_scenario(name)
            place = folder / f"{name}-{len(made)}"
            scenario = overridden(scenario, settings, name)
            simulated(Job(scenario, path, place), How(target="simulated", report=False, quiet=True))
            made[name, settings] = place
        return made[name, settings]

    return make


@pytest.mark.nightly
def test_repetitions_are_made_by_turns(verb: Verb, runs: Callable[..., Path], home: Path) -> None:
    said = verb("fix", runs("hotkey", SHORTER), "--repetitions", "3", "--out", "hot-fix-3")
    assert said.code == 0
    order = re.findall(r"^hotkey-(\w+-\d): simulating", said.err, re.MULTILINE)
    assert order == ["before-1", "after-1", "after-2", "before-2", "before-3", "after-3"]
    found = json.loads((home / "hot-fix-3" / "fix.json").read_text())["data"]
    for side in ("before", "after"):
        assert [one["seed"] for one in found[side]] == [1, 2, 3]
    assert found["verdict"] == "fixed"
    (throttles,) = [row for row in found["measures"] if row["measure"] == "Throttles"]
    assert " to " in throttles["before"]


def verdict_of(folder: Path, verb: Verb, *more: str) -> tuple[int, dict[str, Any]]:
    said = verb("fix", folder, "--json", "--out", "fixed-it", *more)
    found = json.loads(said.out)
    return said.code, found | found["data"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("name", "lasts", "tried"),
    [
        ("country-index", SHORT, "prefixes of index by-country"),
        ("table-per-period-on-demand", SHORTER, "warm throughput of 9,143 WCU/s of the table"),
        ("read-hot", SHORTER, "a cache of 1 s in every process"),
    ],
)
def test_a_cure_of_each_kind_fixes(
    verb: Verb, runs: Callable[..., Path], name: str, lasts: str, tried: str
) -> None:
    code, found = verdict_of(runs(name, lasts), verb)
    assert (code, found["verdict"]) == (0, "fixed")
    assert tried in found["tried"]


def test_a_limit_that_moves_is_named_and_its_whole_cure_fixes_it(
    verb: Verb, runs: Callable[..., Path]
) -> None:
    """Without its maximum, a hot key is the limit: the cure has both steps."""
    maximum = ('table.billing_mode="PAY_PER_REQUEST"', "table.provisioned=", "table.max_on_demand.write=500")
    run = runs("hotkey", SHORTER, *maximum)
    code, found = verdict_of(run, verb, "--recommendation", "raise_max_on_demand")
    assert (code, found["verdict"]) == (1, "moved")
    assert found["limit"]["constraint"] == "max_on_demand"
    assert found["now"] == {"constraint": "partition", "resource": "table", "direction": "write"}
    assert "but now a partition limit (table writes) does" in found["sentence"]
    said = verb("fix", run, "--json", "--out", "whole")
    assert said.code == 0
    found = json.loads(said.out)["data"]
    assert (found["verdict"], found["recommendation"]) == ("fixed", "raise_max_on_demand + shard_writes")
    assert {"keys.shards", "table.max_on_demand.write"} <= {one["path"] for one in found["changes"]}
    assert found["before"][0]["throttles"] > found["after"][0]["throttles"] == 0


def test_what_no_rerun_can_show_is_exit_code_2_with_what_to_do_by_hand(
    verb: Verb, runs: Callable[..., Path], home: Path
) -> None:
    run = shutil.copytree(runs("hotkey", SHORTER), home / "copy")
    diagnosis = json.loads((run / "diagnosis.json").read_text()) | {"cure": None}
    advice = {"action": "raise_cardinality", "kind": "cure", "why": "", "expected": ""}
    (run / "diagnosis.json").write_text(json.dumps(diagnosis | {"recommendations": [advice]}))
    said = verb("fix", run)
    assert said.code == 2
    assert "by hand:" in said.err
    assert "the application decides" in said.err
    assert not (home / "reports").exists()


def test_wrong_use_and_missing_files(verb: Verb, runs: Callable[..., Path], home: Path) -> None:
    hot = runs("hotkey", SHORTER)
    assert verb("fix", hot, "--table", "mine").code == 2
    assert verb("fix", home / "nowhere").code == 2
    (home / "empty").mkdir()
    empty = verb("fix", home / "empty")
    (home / "empty" / "evidence.json").write_text("{}")
    collected = verb("fix", home / "empty")
    assert (empty.code, collected.code) == (2, 3)
    assert "empty holds no run and no diagnosis; name the folder of one, as `keyheat runs` lists" in empty.err
    assert "diagnosis.json is missing: `keyheat analyze" in collected.err
    calm = verb("fix", runs("sharded", SHORTER))
    assert (calm.code, "was not throttled" in calm.err) == (2, True)


def test_a_table_that_others_load_is_fixed_on_the_simulator(
    verb: Verb, runs: Callable[..., Path], home: Path
) -> None:
    """Its demand is known from evidence alone, and its capacity from what CloudWatch published then."""
    (home / "seen").mkdir()
    evidence = json.loads((runs("too-small", SHORT) / "evidence.json").read_text())
    evidence["table"] |= {"billing_mode": None, "provisioned": None}
    (home / "seen" / "evidence.json").write_text(json.dumps(evidence))
    assert verb("analyze", "seen").code == 0
    diagnosis = Path("seen/diagnosis.json")
    raw = json.loads(diagnosis.read_text())
    for label in raw["labels"]:
        label["throttles"] *= 10
    diagnosis.write_text(json.dumps(raw))
    code, found = verdict_of(Path("seen"), verb)
    assert (code, found["verdict"], found["target"]) == (0, "fixed", "simulated")
    assert "The replay shows only" in found["sentence"]
    for label in raw["labels"]:
        label["throttles"] = max(1, label["throttles"] // 100)
    diagnosis.write_text(json.dumps(raw))
    shutil.rmtree("fixed-it")
    assert "were observed" in verdict_of(Path("seen"), verb)[1]["sentence"]
    assert sum(note.startswith("Assumed: ") for note in found["notes"]) == 2
    measures = {row["measure"]: row["before"] for row in found["measures"]}
    observed, replayed = (measures[f"While throttled, {how}"] for how in ("observed", "replayed"))
    assert re.fullmatch(r"[\d,]+, [\d.,]+ a second", observed)
    assert re.fullmatch(r"[\d,]+, [\d.,]+ a second", replayed)
    said = verb("fix", "seen", "--target", "local")
    assert said.code == 2
    assert "--target simulated only, not to local" in said.err


@pytest.mark.parametrize(("bound", "code"), [(False, 0), (True, 3)], ids=["healthy", "generator-bound"])
def test_loads_go_to_the_runs_own_target(
    verb: Verb, runs: Callable[..., Path], home: Path, monkeypatch: pytest.MonkeyPatch, bound: bool, code: int
) -> None:
    """What is loaded is answered by the model here."""
    copy = home / "loaded"
    shutil.copytree(runs("too-small", SHORT), copy)
    manifest = json.loads((copy / "run.json").read_text())
    (copy / "run.json").write_text(json.dumps(manifest | {"target": "local"}))
    targets = []

    def make_run(job: Job, how: Any, *, of_series: tuple[int, int]) -> int:
        targets.append((how.target, job.scenario.table.name, of_series))
        return written_run(job, bound=bound and of_series[0] == 2)

    monkeypatch.setattr(verb_of_fix, "make_run", make_run)
    said = verb("fix", copy, "--out", "f")
    assert said.code == code, said.err
    assert targets == [
        ("local", "keyheat-too-small-before-1", (1, 2)), ("local", "keyheat-too-small-after-1", (2, 2)),
    ]  # fmt: skip
    assert said.says("after-1 is invalid" if bound else "Fixed: with 1,143 WCU/s")


def test_an_index_that_the_cure_overloads_is_said_before_and_after(verb: Verb, home: Path) -> None:
    """The table refused 117 of 317 writes a second, which its index of 250 WCU never had to take."""
    case = Path(__file__).parent / "cases" / "index-behind-its-table"
    metrics, described = f"{case}.csv", f"{case}.json"
    found = verb("diagnose", "toll-tags", "--metrics", metrics, "--describe-json", described, "--out", "d")
    assert found.code == 1, "it throttles"
    assert "by-plaza has 250 WCU/s, and takes 317 of that demand" in " ".join(found.out.split())
    code, fixed = verdict_of(home / "d", verb)
    assert (code, fixed["verdict"]) == (1, "moved")
