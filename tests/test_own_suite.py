"""`keyheat init --suite`: suites and schedules in a repository that is not ours."""

import json
import os
import re
import shutil
import subprocess
import sys
from difflib import ndiff
from pathlib import Path
from typing import Any

import pytest

from keyheat.intake.suite import SCHEDULES as KINDS
from keyheat.regression.suite import find_suite
from keyheat.words import BROKEN, DONE, WRONG_USE
from tests.conftest import Golden, Verb, done
from tests.outside import a_readers_environment
from tests.test_schedules import (
    PAGE,
    VARIABLE,
    a_program,
    cron_environment,
    cron_line,
    suites_named,
    text_of,
)

PROGRAMS = Path(sys.executable).parent
(SENTENCES,) = re.findall(r"^(orders now throttles .*\nChanged: .*)$", PAGE, re.MULTILINE)
ORDERS = {
    "TableName": "orders",
    "AttributeDefinitions": [{"AttributeName": "customer", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "customer", "KeyType": "HASH"}],
    "ProvisionedThroughput": {"ReadCapacityUnits": 1_000, "WriteCapacityUnits": 1_000},
}
WORKFLOW = Path(".github/workflows/keyheat-regress.yml")
EVERY_ONE = [word for name in KINDS for word in ("--schedule", name)]


@pytest.fixture(autouse=True)
def repository(no_history: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A team's own, with what DescribeTable said of its table; the reader stands at its root."""
    root = tmp_path / "order service"
    (root / ".git").mkdir(parents=True)
    (root / "orders.json").write_text(json.dumps({"Table": ORDERS}), encoding="utf-8")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def scenario(verb: Verb, repository: Path) -> Path:
    done(verb, "keyheat init orders.json --writes-per-s 200 --reads-per-s 50 --out keyheat/orders.toml")
    return repository / "keyheat" / "orders.toml"


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def written(verb: Verb, scenario: Path) -> Path:
    """Every schedule of a suite; the folder that they are in, GitHub's beside the others."""
    said = verb("init", "--suite", "capacity", *EVERY_ONE)
    assert said.code == DONE, said.err
    shutil.copy(WORKFLOW, "keyheat/schedules/github-actions.yml")
    return scenario.parent / "schedules"


def run(words: list[str], folder: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    """A command in a shell's environment, with this Keyheat and the folder's programs."""
    path = os.pathsep.join([str(folder), str(PROGRAMS), os.environ["PATH"]])
    env = a_readers_environment() | {"PATH": path, **more}
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.nightly
@pytest.mark.opens
@pytest.mark.slow
def test_cron_makes_a_baseline_finds_it_as_good_and_names_the_change_that_made_it_worse(
    written: Path, scenario: Path, tmp_path: Path
) -> None:
    a_program(tmp_path / "logger", "exit 0")
    _fields, _user, command = cron_line(written)
    words = ["sh", "-c", command.replace("/var/lib/keyheat", str(tmp_path))]
    suite = cron_environment(written)[VARIABLE]

    def night() -> str:
        said = run(words, tmp_path, **{VARIABLE: suite})
        assert said.stderr == ""
        return said.stdout

    def results() -> dict[str, Any]:
        last = max(
            (tmp_path / "reports" / "out").glob("*/regression.json"), key=lambda path: path.stat().st_mtime_ns
        )
        return dict(json.loads(last.read_text(encoding="utf-8")))

    assert night() == ""
    assert results()["verdict"] == "baseline"
    assert night() == ""
    assert results()["verdict"] == "good"
    changed(scenario, "write = 1_000", "write = 20")
    mail = night()
    assert f"keyheat regress: exit code {BROKEN} on " in mail
    for sentence in SENTENCES.splitlines():
        assert sentence in mail.replace("\\", ""), mail  # of Markdown


def test_each_file_is_ours_with_one_line_changed_and_names_the_suite_from_where_it_is_run(
    written: Path, scenario: Path, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, (_from, (first, *others)) in KINDS.items():
        difference = ndiff(text_of(first).splitlines(), text_of(first, written).splitlines())
        assert [line[0] for line in difference if line[0] in "+-"] == ["-", "+"], name
        assert all(text_of(other) == text_of(other, written) for other in others)
    image = tmp_path / "image"  # whose working directory has what was in the suite's folder
    shutil.copytree(scenario.parent, image)
    assert (image / "schedules" / "kept.py").exists()
    stands = dict.fromkeys(("kubernetes-cronjob.yaml", "eventbridge-ecs.yaml"), image)
    stands["github-actions.yml"] = repository
    for name, suite in suites_named(written).items():
        monkeypatch.chdir(stands.get(name, "/"))
        found = find_suite(suite)
        assert [(case.name, case.simulated) for case in found.cases] == [("orders", True)], name


def test_scenarios_are_found_or_named_and_their_paths_begin_at_the_suite(
    verb: Verb, scenario: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("load").mkdir()
    other = Path("load/carts.toml")
    other.write_text(scenario.read_text(encoding="utf-8").replace('"orders"', '"carts"'), encoding="utf-8")
    monkeypatch.chdir("load")
    said = verb("init", "--suite", "both", ".", "../keyheat", "--schedule", "github")
    assert said.code == DONE, said.err
    assert [case.name for case in find_suite("both.toml").cases] == ["carts", "orders"]
    assert 'scenario = "../keyheat/orders.toml"' in Path("both.toml").read_text(encoding="utf-8")
    monkeypatch.chdir(repository)
    assert 'KEYHEAT_SUITE: "load/both.toml"' in WORKFLOW.read_text(encoding="utf-8")
    said = verb("init", "--suite", "capacity", other, "--schedule", "cron", "--out", "suites/one.toml")
    assert said.code == DONE, said.err
    assert [case.name for case in find_suite("suites/one.toml").cases] == ["carts"]
    assert Path("suites/schedules/keyheat.cron").exists()


def test_a_suite_that_is_there_is_not_made_anew(verb: Verb, scenario: Path) -> None:
    done(verb, "keyheat init --suite capacity --schedule github")
    suite = scenario.parent / "capacity.toml"
    changed(suite, 'target = "simulated"', 'target = "local"  # mine')
    mine = suite.read_text(encoding="utf-8")
    other = scenario.with_name("other.toml")
    other.write_text(scenario.read_text(encoding="utf-8").replace('"orders"', '"other"', 1), encoding="utf-8")
    refused = verb("init", "--suite", "capacity", "keyheat", "--schedule", "cron", "--force")
    assert refused.code == WRONG_USE
    assert "keyheat/other.toml is not in keyheat/capacity.toml, which is kept" in " ".join(
        refused.err.split()
    )
    assert suite.read_text(encoding="utf-8") == mine
    assert not Path("keyheat/schedules").exists()
    other.unlink()
    done(verb, "keyheat init --suite capacity keyheat --schedule github")
    assert suite.read_text(encoding="utf-8") == mine
    suite.unlink()
    done(verb, "keyheat init --suite capacity keyheat/orders.toml --schedule cron")
    assert "# mine" not in suite.read_text(encoding="utf-8")


WRONG = (
    "--suite Capacity",
    "--suite pay.toml",
    "--suite orders",
    "--suite a keyheat again.toml",
    "--suite capacity nothing.toml",
    "--suite capacity empty",
    "--suite capacity --table orders --only x",
    "orders.json --schedule cron",
    "orders.json keyheat/orders.toml",
    "--suite capacity keyheat wrong.toml --schedule github --schedule cron",
    "--suite a --schedule github --out ../a.toml keyheat",
    "--suite a --schedule cron --out 100%/a.toml keyheat",
)


def test_what_is_wrong_is_said_all_at_once_and_nothing_is_written(
    verb: Verb, scenario: Path, repository: Path, golden: Golden
) -> None:
    text = scenario.read_text(encoding="utf-8")
    (repository / "again.toml").write_text(text, encoding="utf-8")
    (repository / "wrong.toml").write_text(text.replace("users = 50", "users = 0"), encoding="utf-8")
    (repository / "empty").mkdir()
    for taken in (WORKFLOW, Path("keyheat/schedules/keyheat.cron")):
        taken.parent.mkdir(parents=True)
        taken.touch()
    before, said = sorted(repository.parent.rglob("*")), ""
    for words in WRONG:
        refused = verb("init", *words.split())
        assert refused.code == WRONG_USE
        said += f"== keyheat init {words}\n{refused.err.strip()}\n"
    assert sorted(repository.parent.rglob("*")) == before
    said = said.replace(str(repository.parent), "FOLDER")
    golden("init-suite.txt", said)
