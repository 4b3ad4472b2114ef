"""What is in `deploy/`, and the commands of run.md for several machines: valid, and of one mind.

There is no Docker and no cluster here. Their files are held against their schemas, and every command line in
them is read by the parsers that will read it. A master and its workers run in tests/load/live/test_page.py.
"""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from keyheat.cli.local import local as local_command
from keyheat.scenario.scenario import scenario_from_dict

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
SCHEDULES = "deploy/schedules"  # what is in them besides is for test_schedules.py
PAGE = (ROOT / "docs" / "run.md").read_text(encoding="utf-8")
PROGRAMS = Path(sys.executable).parent
PARSE = """
import json, sys
from locust import events
from locust.argument_parser import get_parser
from keyheat.load.options import add_options
events.init_command_line_parser.add_listener(add_options)
commands = (command[1:] for command in json.loads(sys.argv[1]))
read = [vars(get_parser(default_config_files=[]).parse_args(command)) for command in commands]
print(json.dumps(read, default=str))
"""
at_night = partial(pytest.param, marks=pytest.mark.nightly)
PLACES = ("compose", "kubernetes", "page")
Parsed = dict[str, list[dict[str, Any]]]
MASTER, WORKER = re.findall(r"^locust .* --(?:master|worker)\b.*$", PAGE, re.MULTILINE)


def compose() -> dict[str, Any]:
    """The Compose file with the defaults of its variables."""
    text = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", (DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return dict(yaml.safe_load(text))


def manifests() -> dict[str, dict[str, Any]]:
    """The Kubernetes objects by kind and name."""
    objects = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text(encoding="utf-8"))
    return {f"{one['kind']}/{one['metadata']['name']}": one for one in objects}


def container(role: str) -> dict[str, Any]:
    (one,) = manifests()[f"Deployment/keyheat-{role}"]["spec"]["template"]["spec"]["containers"]
    return dict(one)


def commands_of(where: str) -> list[list[str]]:
    """The `locust` commands of the master and of a worker."""
    if where == "compose":
        return [compose()["services"][role]["command"] for role in ("master", "worker")]
    if where == "kubernetes":
        return [[*container(role)["command"], *container(role)["args"]] for role in ("master", "worker")]
    return [shlex.split(MASTER), shlex.split(WORKER)]


@pytest.fixture(scope="module")
def parsed() -> Parsed:
    """What Locust and we read in the commands of the master and of a worker."""
    commands = [command for where in PLACES for command in commands_of(where)]
    assert {command[0] for command in commands} == {"locust"}
    words = [sys.executable, "-c", PARSE, json.dumps(commands)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    read = json.loads(done.stdout)
    return {where: read[2 * number :][:2] for number, where in enumerate(PLACES)}


@pytest.mark.opens
@pytest.mark.parametrize(
    "command",
    [
        "check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml deploy/compose.local.yaml "
        "deploy/compose.grafana.yaml",
        at_night("kubernetes-validate --strict deploy/kubernetes.yaml"),
        at_night(f"kubernetes-validate --strict {SCHEDULES}/kubernetes-cronjob.yaml"),
    ],
    ids=["compose", "kubernetes", "cronjob"],
)
def test_the_files_are_what_their_schemas_say(command: str) -> None:
    program, *arguments = command.split()
    done = subprocess.run([PROGRAMS / program, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.opens
@pytest.mark.xdist_group("commands of deploy")  # which are read once
@pytest.mark.parametrize("where", PLACES)
def test_master_and_worker_say_what_both_parsers_understand_and_find_each_other(
    parsed: Parsed, where: str
) -> None:
    master, worker = parsed[where]
    assert (master["master"], worker["worker"]) == (True, True)
    assert master["locustfile"] == worker["locustfile"]
    assert (ROOT / master["locustfile"]).exists()
    assert worker["master_port"] == master["master_bind_port"] == 5557
    assert master["master_bind_host"] == "*"
    assert worker["scenario"] is None, "the master's order has it"
    if where == "kubernetes":
        assert f"Service/{worker['master_host']}" in manifests()
        assert master["target"] == "aws"
    else:
        assert worker["master_host"] == "127.0.0.1"


@pytest.mark.opens
@pytest.mark.xdist_group("commands of deploy")
def test_compose_keeps_all_in_one_network_so_that_the_endpoint_is_on_this_machine(parsed: Parsed) -> None:
    services = compose()["services"]
    assert {services[role]["network_mode"] for role in ("master", "worker")} == {"service:endpoint"}
    endpoint = services["endpoint"]
    _keyheat, local, *options = endpoint["command"]
    port = local_command.make_context(local, options).params["port"]
    leads, _worker = parsed["compose"]
    target = leads["target"]
    assert target == f"http://127.0.0.1:{port}"
    assert f"'{target}/_keyheat/health'" in endpoint["healthcheck"]["test"][-1]
    assert endpoint["ports"] == [f"127.0.0.1:{leads['web_port']}:8089"]
    assert (ROOT / leads["scenario"]).exists()
    contents = [service["build"] for service in services.values()]
    assert all((DEPLOY / build["context"] / build["dockerfile"]).exists() for build in contents)


@pytest.mark.opens
@pytest.mark.xdist_group("commands of deploy")
def test_the_scenario_of_the_config_map_loads_and_is_the_load_tests(parsed: Parsed) -> None:
    text = manifests()["ConfigMap/keyheat-scenario"]["data"]["scenario.toml"]
    scenario = scenario_from_dict(tomllib.loads(text), "kubernetes.yaml")
    command, _worker = parsed["kubernetes"]
    assert ROOT / command["locustfile"] == scenario.locustfile(ROOT)
    (mount,) = (one for one in container("master")["volumeMounts"] if one["name"] == "scenario")
    assert command["scenario"] == f"{mount['mountPath']}/scenario.toml"


def test_no_file_has_credentials() -> None:
    for path in (path for path in DEPLOY.rglob("*.*") if path.is_file() and "__pycache__" not in path.parts):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"A[KS]IA[0-9A-Z]{16}|SECRET_ACCESS_KEY:? *[=:] *\S", text), path


@pytest.mark.parametrize(("name", "ports"), [("Dockerfile", "8089 5557 8000"), ("Dockerfile.local", "8000")])
def test_the_image_has_what_the_programs_import_and_ports_that_the_files_name(name: str, ports: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    sources = {
        word for line in re.findall(r"^COPY ([^-].*)$", text, re.MULTILINE) for word in line.split()[:-1]
    }
    (shipped,) = re.findall(
        r"^SHIPPED = \((.*)\)$", (ROOT / "setup.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    there = {name.partition("/")[0] for name in sources}
    assert {"keyheat", "setup.py", *re.findall(r'"(\w+)"', shipped)} <= there
    assert all((ROOT / name).exists() for name in sources)
    ignored = (DEPLOY / f"{name}.dockerignore").read_text(encoding="utf-8").splitlines()
    assert {f"!{name}" for name in sources} <= set(ignored)
    assert "--require-hashes" in text
    assert set(re.findall(r" -r (\S+)", text)) <= sources
    assert f"\nEXPOSE {ports}\n" in text
    uid = re.search(r"--uid (\d+)", text)
    assert uid is not None
    assert f"\nUSER {uid[1]}\n" in text


def test_a_package_that_both_lock_files_name_has_one_version() -> None:
    used, all_of_it = (pinned(name) for name in ("requirements.lock", "requirements-dev.lock"))
    assert used.items() <= all_of_it.items()


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=; ]", requirement)[0]


def pinned(lock: str) -> dict[str, set[str]]:
    """Package -> its versions, of which there may be one for each Python."""
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", (ROOT / lock).read_text(encoding="utf-8"), re.M):
        found.setdefault(name, set()).add(version)
    return found
