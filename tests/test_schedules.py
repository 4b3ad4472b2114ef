"""deploy/schedules and schedules.md: valid by each one's own rules, with commands that we have.

What schemas say of them is tested in test_deploy.py.
Nothing here reaches a cluster, a scheduler or an account. Where a validator is not on this machine, what it
would read is still held against the command line, the policies and the shapes of AWS's requests.
"""

import json
import os
import re
import runpy
import shlex
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
import yaml
from botocore.exceptions import ClientError

from keyheat import words as codes
from keyheat.cli.main import cli
from keyheat.regression.suite import find_suite

ROOT = Path(__file__).parents[1]
SCHEDULES = ROOT / "deploy" / "schedules"
PAGE = (ROOT / "docs" / "schedules.md").read_text(encoding="utf-8")
INSTALLED = "/opt/keyheat/"  # where cron and systemd look for Keyheat
VARIABLE = "KEYHEAT_SUITE"


def text_of(name: str, folder: Path = SCHEDULES) -> str:
    return (folder / name).read_text(encoding="utf-8")


def cron_line(folder: Path = SCHEDULES) -> tuple[list[str], str, str]:
    """The five fields of time, the user, and the command of the one line."""
    (line,) = (line for line in text_of("keyheat.cron", folder).splitlines() if re.match(r"[\d*]", line))
    *fields, user, command = line.split(None, 6)
    return fields, user, command


def cron_environment(folder: Path = SCHEDULES) -> dict[str, str]:
    """What cron sets for the command; it takes the quotes off."""
    return {
        name: value.strip('"')
        for name, value in re.findall(r"(?m)^(\w+)=(.*)$", text_of("keyheat.cron", folder))
    }


def workflow(folder: Path = SCHEDULES) -> dict[Any, Any]:
    return dict(yaml.safe_load(text_of("github-actions.yml", folder)))


def steps() -> dict[str, dict[str, Any]]:
    found = workflow()["jobs"]["regress"]["steps"]
    return {step.get("name") or step.get("uses") or step["run"]: step for step in found}


def cronjob(folder: Path = SCHEDULES) -> dict[str, Any]:
    objects = yaml.safe_load_all(text_of("kubernetes-cronjob.yaml", folder))
    return next(dict(one) for one in objects if one["kind"] == "CronJob")


def pod(folder: Path = SCHEDULES) -> dict[str, Any]:
    return dict(cronjob(folder)["spec"]["jobTemplate"]["spec"]["template"]["spec"])


def resources(folder: Path = SCHEDULES) -> dict[str, Any]:
    """The resources of the template by name, with the defaults of its parameters."""
    text = text_of("eventbridge-ecs.yaml", folder)
    with_defaults: dict[str, str] = {}

    class Template(yaml.SafeLoader):
        """CloudFormation's YAML; `!Ref` and `!Sub` of what has no default stay as they are."""

    def function(_loader: yaml.Loader, _name: str, node: yaml.Node) -> Any:
        words = with_defaults.get(str(node.value), str(node.value))
        return re.sub(r"\$\{(\w+)\}", lambda found: with_defaults.get(found[1], found[0]), words)

    Template.add_multi_constructor("!", function)
    parameters = yaml.load(text, Template)["Parameters"]
    with_defaults |= {name: str(one["Default"]) for name, one in parameters.items() if "Default" in one}
    return dict(yaml.load(text, Template)["Resources"])


def suites_named(folder: Path = SCHEDULES) -> dict[str, str]:
    """The suite that each file names, as what reads the file hands it to the command."""
    assigned = re.findall(r"(?m)^Environment=(.*)$", text_of("keyheat-regress.service", folder))
    service = dict(word.split("=", 1) for line in assigned for word in shlex.split(line))
    (container,) = pod(folder)["containers"]
    (task,) = resources(folder)["Task"]["Properties"]["ContainerDefinitions"]
    return {
        "keyheat.cron": cron_environment(folder)[VARIABLE],
        "keyheat-regress.service": service[VARIABLE],
        "github-actions.yml": workflow(folder)["jobs"]["regress"]["env"][VARIABLE],
        "kubernetes-cronjob.yaml": {one["name"]: one["value"] for one in container["env"]}[VARIABLE],
        "eventbridge-ecs.yaml": {one["Name"]: one["Value"] for one in task["Environment"]}[VARIABLE],
    }


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every `keyheat` command in the files and on the page, as words, with where it stands."""
    cron = re.search(r"keyheat regress .*?(?= >)", cron_line()[2])
    yield "keyheat.cron", shlex.split(cron[0])
    (service,) = re.findall(r"(?m)^ExecStart=(.*)$", text_of("keyheat-regress.service"))
    yield "keyheat-regress.service", shlex.split(service)
    yield "github-actions.yml", shlex.split(steps()["Regress"]["run"])
    (container,) = pod()["containers"]
    yield "kubernetes-cronjob.yaml", [*container["command"], *container["args"]]
    (container,) = resources()["Task"]["Properties"]["ContainerDefinitions"]
    task = container["Command"]
    yield "eventbridge-ecs.yaml", task[task.index("--") + 1 :]
    for command in re.findall(r"`(keyheat [^`]*-[^`]*)`", PAGE):
        yield "schedules.md", shlex.split(command)


def parsed(words: list[str]) -> tuple[str, dict[str, Any]]:
    """The verb, and what it is told by the names of its options, as our own command line reads it.

    Raises `ClickException`.
    """
    assert Path(words[0]).name == "keyheat"
    group = click.Context(cli, info_name="keyheat")
    name, verb, arguments = cli.resolve_command(group, words[1:])
    read = verb.make_context(name, arguments, parent=group).params
    options = {one.opts[-1].lstrip("-").replace("-", "_"): one.name for one in verb.params}
    return str(name), {option: read[str(held)] for option, held in options.items() if held in read}


COMMANDS = list(commands())


@pytest.fixture(autouse=True)
def the_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    """What every schedule sets."""
    monkeypatch.setenv(VARIABLE, "designs")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "words"), COMMANDS, ids=[f"{where}-{n}" for n, (where, _) in enumerate(COMMANDS)]
)
def test_every_command_is_one_that_we_have_and_is_safe(
    where: str, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it runs what the one variable names."""
    monkeypatch.setenv(VARIABLE, suites_named().get(where, "smoke"))
    verb, said = parsed(words)
    if verb == "clean":
        return
    assert verb == "regress"
    suite = find_suite(said["suite"])
    assert where == "schedules.md" or suite.name == suites_named()[where]
    assert {case.target for case in suite.cases} <= {"simulated", "local"}, "an account is never the default"
    assert said["history"] != parsed(["keyheat", "regress", "smoke"])[1]["history"], (
        "it outlives the checkout"
    )
    assert not said["yes"] or said["max_dollars"], "yes only within caps"


@pytest.mark.opens
def test_the_line_of_cron_is_silent_on_a_good_night_and_tells_of_any_other(tmp_path: Path) -> None:
    fields, user, command = cron_line()
    assert len(fields) == 5
    assert all(re.fullmatch(r"[\d*,/-]+", field) for field in fields)
    assert user == "keyheat"
    assert "%" not in command, "cron ends the command there"
    a_program(tmp_path / "keyheat", 'echo "found something" > regress.md; echo "in the log"; exit $CODE')
    a_program(tmp_path / "logger", 'echo "$@" >> logged')

    def night(code: int) -> str:
        done = subprocess.run(
            ["sh", "-c", command.replace("/var/lib/keyheat", str(tmp_path))],
            env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "CODE": str(code)},
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.stderr == ""
        return done.stdout

    assert night(0) == ""
    assert not (tmp_path / "logged").exists()
    regressed = night(1)
    assert "exit code 1 on" in regressed
    assert "found something\nin the log" in regressed
    refused = night(4)
    assert "exit code 4 on" in refused
    assert "found something" not in refused, "that was another night's"
    assert (tmp_path / "logged").read_text().splitlines()[-1].endswith("regress: exit code 4")
    with (tmp_path / "regress.lock").open("w") as held:
        subprocess.run(["flock", "--exclusive", str(held.fileno())], pass_fds=[held.fileno()], check=True)
        assert "exit code 75 on" in night(0)


def a_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.mark.opens
@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd on this machine")
def test_systemd_takes_the_units_and_finds_them_closed(tmp_path: Path) -> None:
    """Its programs are put where it finds them; nothing is installed."""
    program = tmp_path / "keyheat"
    a_program(program, "exit 0")
    names = [path.name for path in SCHEDULES.glob("keyheat-regress*")]
    for name in names:
        moved = text_of(name).replace(f"{INSTALLED}bin/keyheat", str(program))
        (tmp_path / name).write_text(moved, encoding="utf-8")
    said = analyzed("verify", "--man=no", *(str(tmp_path / name) for name in names))
    assert said.returncode == 0, said.stdout + said.stderr
    assert tmp_path.name not in said.stderr, said.stderr
    shown = analyzed(
        "security", "--offline=true", "--threshold=25", str(tmp_path / "keyheat-regress.service")
    )
    assert shown.returncode == 0, shown.stdout[-2000:] + shown.stderr


def analyzed(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True)


def test_the_workflow_lets_a_pull_request_read_the_history_and_not_write_it() -> None:
    found, by_name = workflow(), steps()
    assert found["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in found[True], "a fork's code would run with our rights"
    restored, kept = by_name["The history of main"]["with"], by_name["Keep the history"]["with"]
    assert restored["path"] == kept["path"]
    assert restored["key"] == kept["key"], "each run keeps its own; the newest one is restored"
    assert kept["key"].startswith(restored["restore-keys"])
    assert "refs/heads/main" in by_name["Keep the history"]["if"]
    assert "head.repo.full_name == github.repository" in by_name["Say it in the pull request"]["if"]
    assert all(re.search(r"@v\d+$", step["uses"]) for step in by_name.values() if "uses" in step)
    _verb, said = parsed(dict(COMMANDS)["github-actions.yml"])
    assert str(said["history"]) == kept["path"]
    uploaded = by_name["Keep the runs"]["with"]["path"].split()
    assert set(map(str, said["export"])) - {"github"} <= set(uploaded)
    assert Path("github") in said["export"]
    assert "regress.md" in set(map(str, said["export"])) & set(uploaded)
    assert "regress.md" in by_name["Say it in the pull request"]["run"]


def test_each_role_may_do_what_it_needs_and_no_more() -> None:
    made = resources()
    run = json.loads((ROOT / "configs" / "iam" / "run.json").read_text(encoding="utf-8"))
    allowed = {action for one in run["Statement"] for action in listed(one["Action"])}
    tables = made["Tables"]
    assert tables["Condition"] == "Loads"
    for statement in tables["Properties"]["PolicyDocument"]["Statement"]:
        assert set(listed(statement["Action"])) <= allowed
        for arn in listed(statement["Resource"]):
            assert arn == "*" or ":${AWS::AccountId}:table/keyheat-*" in arn, arn
    of_load = [one for one in run["Statement"] if one["Sid"][:12] in ("TablesOfKeyh", "ItemsOfKeyhe")]
    loading = {action for one in of_load for action in one["Action"]}
    has = {a for one in tables["Properties"]["PolicyDocument"]["Statement"] for a in one["Action"]}
    assert loading <= has
    (history,) = made["TaskRole"]["Properties"]["Policies"]
    assert {a for one in history["PolicyDocument"]["Statement"] for a in listed(one["Action"])} == {
        "s3:GetObject", "s3:ListBucket", "s3:PutObject",
    }  # fmt: skip
    (begin,) = made["SchedulerRole"]["Properties"]["Policies"]
    for statement in begin["PolicyDocument"]["Statement"]:
        assert "*" not in statement["Resource"]
        assert statement["Condition"]


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


@pytest.mark.opens
@pytest.mark.nightly
def test_the_template_is_what_cloudformation_takes() -> None:
    program = Path(sys.executable).parent / "cfn-lint"
    done = subprocess.run([program, "eventbridge-ecs.yaml"], cwd=SCHEDULES, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


class Bucket:
    """An S3 bucket with one object, whose ETag is its content."""

    def __init__(self, content: bytes | None) -> None:
        self.content = content

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:
        if self.content is None:
            raise ClientError({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        return {"Body": BytesIO(self.content), "ETag": self.content.hex()}

    def put_object(self, *, Bucket: str, Key: str, Body: bytes, **only: str) -> None:
        there = None if self.content is None else self.content.hex()
        if only not in ({"IfMatch": there}, {"IfNoneMatch": "*"} if there is None else {}):
            raise ClientError({"Error": {"Code": "PreconditionFailed"}}, "PutObject")
        self.content = Body


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What kept.py has in it; this process keeps its signals."""
    monkeypatch.setattr(signal, "signal", lambda *_of: None)
    return SimpleNamespace(**runpy.run_path(str(SCHEDULES / "kept.py")))


ADD_ROW = """
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as history:
    history.execute("create table if not exists sessions (at)")
    history.execute("insert into sessions values (1)")
sys.exit(int(sys.argv[2]))
"""


def adding_a_row(file: Path, code: int) -> list[str]:
    """The arguments of kept.py for a night whose command ends with this code."""
    command = [sys.executable, "-c", ADD_ROW, str(file), str(code)]
    return ["s3://bucket/history.sqlite", str(file), "--", *command]


@pytest.mark.opens
def test_the_history_is_kept_whatever_the_exit_code(kept: SimpleNamespace, tmp_path: Path) -> None:
    bucket = Bucket(None)
    for night, code in enumerate((0, 1, 130), 1):
        file = tmp_path / f"{night}.sqlite"
        assert kept.main(adding_a_row(file, code), bucket) == code
        assert bucket.content == file.read_bytes()
        assert sqlite3.connect(file).execute("select count(*) from sessions").fetchone() == (night,)


@pytest.mark.opens
def test_a_history_that_somebody_else_has_written_is_not_overwritten(
    kept: SimpleNamespace, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    class Meanwhile(Bucket):
        """Somebody else writes it while the command runs."""

        def put_object(self, **request: Any) -> None:
            self.content = b"somebody else's"
            super().put_object(**request)

    bucket, file = Meanwhile(b""), tmp_path / "history.sqlite"
    assert kept.main(adding_a_row(file, 0), bucket) == codes.INVALID
    assert bucket.content == b"somebody else's"
    assert "was changed by somebody else" in capfd.readouterr().err
    assert kept.main(["s3://bucket/history.sqlite", str(file)], bucket) == codes.WRONG_USE
