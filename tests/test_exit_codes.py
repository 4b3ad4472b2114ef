"""Every exit code that the documentation names, each with one clear line for what a person can mend."""

import json
from pathlib import Path

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.runs.formats import read_diagnosis
from tests.conftest import ROOT, Sample, Verb
from tests.endpoint.account import on_demand


@pytest.mark.slow
def test_1_a_threshold_is_broken(verb: Verb, sample: Sample) -> None:
    run = sample("hotkey")
    manifest = json.loads((run / "run.json").read_bytes())
    for allowed, code in ((0.01, 1), (1.0, 0)):
        manifest["scenario"]["thresholds"] = {"throttle_share_max": allowed}
        (run / "run.json").write_text(json.dumps(manifest))
        said = verb("analyze", run)
        assert said.code == code
        assert ("Broken: throttle_share_max" in said.out) == (code == 1)


WRONG_USE = {
    "no such verb": (["mix"], "no command 'mix'"),
    "analyze nothing": (["analyze"], "name a run directory, or use --evidence FILE"),
    "collect nothing": (["collect"], "name a run or table: --run DIR, --table T --last 3h, or --table T --"),
    "an end alone": (["queries", "--table", "t", "--end", "2026-11-20T12:00Z"], "--end needs --start"),
    "many indexes": (
        ["queries", "--table", "t", *(f"--index=i{n}" for n in range(22))], "AWS takes 500 at once",
    ),
    "no such folder": (["analyze", "no-such-folder"], "Directory 'no-such-folder' does not exist"),
    "no such scenario": (["run", "warm"], "neither a file nor one of ours: "),
}  # fmt: skip


@pytest.mark.parametrize("mistake", WRONG_USE)
def test_2_wrong_use(verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: str) -> None:
    arguments, words = WRONG_USE[mistake]
    monkeypatch.chdir(tmp_path)
    said = verb(*arguments)
    assert said.code == 2
    assert words in said.line
    assert not list(tmp_path.iterdir())


ALONE = {
    "simulate hotkey --sed 3": "No such option '--sed'",
    "simulate hotkey --set nope": "'nope' is not PATH=VALUE",
    "diagnose --last 3h --start 07:36": "leave out --start and --end",
    "regress smoke --export a.doc": "a.doc",
    "init there.toml --from-metrics": "--from-metrics reads",
}


@pytest.mark.parametrize("command", ALONE)
def test_2_one_mistake_is_said_as_it_is(
    verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.toml").touch()
    said = verb(*command.split())
    assert said.code == 2
    assert ALONE[command] in said.err
    assert "mistakes:" not in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["there.toml"]


SEVERAL = {
    "simulate": (
        "simulate hotkey --sed 3 --duration x --set nope",
        ["3 mistakes:", "No such option '--sed'", "Invalid value for '--duration'", "'nope' is not PATH="],
    ),
    "prices": (
        "simulate hotkey --prices there.toml --duration x",
        ["Invalid value for '--duration'", "missing @ $.as_of"],
    ),
    "plan": ("plan hotkey --hours 3 --set nope --json=1", ["option '--hours'", "--json", "'nope' is"]),
    "diagnose": (
        "diagnose a b --last 3x --end 2026-11-31",
        ["'3x' is not a length", "'2026-11-31' is not a time", "unexpected extra argument (b)"],
    ),
    "a survey": (
        "diagnose a --all-regions --last 3h --start 07:36",
        ["2 mistakes:", "--all-regions surveys", "leave out --start and"],
    ),
    "regress": (
        "regress nowhere --new-baseline --baseline 3 --export a.doc",
        ["3 mistakes:", "either --new-baseline or --baseline", "nowhere", "a.doc"],
    ),
    "init": (
        "init there.toml there.toml --region x --from-metrics --out there.toml",
        ["4 mistakes:", "name one file", "--region, --profile and", "--from-metrics reads", "exists: add"],
    ),
    "collect": (
        "collect --table t --last 3h --start 2026-11-20T12:00Z --describe-json there.toml",
        ["leave out --start and --end", "--describe-json goes with --metrics"],
    ),
    "whatif": (
        "whatif hotkey load --index i --sdk none --from 3 --to 2 --set nope",
        ["4 mistakes:", "--index is for", "--sdk is for", "--from 3 is not below --to 2", "'nope' is not"],
    ),
    "fix": (
        "fix nowhere --repetitions 0 --bogus",
        ["No such option '--bogus'", "'nowhere' does not exist", "Invalid value for '--repetitions'"],
    ),
}


@pytest.mark.parametrize("command", SEVERAL)
def test_2_every_mistake_of_a_command_line_is_named(
    verb: Verb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    typed, words = SEVERAL[command]
    monkeypatch.chdir(tmp_path)
    Path("there.toml").touch()
    said = verb(*typed.split())
    assert said.code == 2
    assert [word for word in words if word not in said.err] == []
    assert [path.name for path in tmp_path.iterdir()] == ["there.toml"]


def test_2_every_mistake_in_a_scenario_and_its_settings_and_nothing_started(
    verb: Verb, tmp_path: Path
) -> None:
    text = (ROOT / "configs" / "scenarios" / "hotkey.toml").read_text()
    (tmp_path / "changed.toml").write_text(text.replace("share = 0.9 ", "share = 1.5 "))
    settings = ("--set", "nope", "--set", "keys.hotness=3", "--set", "load.duration_s=-1")
    said = verb("run", tmp_path / "changed.toml", "--out", tmp_path / "run", *settings)
    assert said.code == 2
    for words in ("4 errors", "got 1.5 @ $.keys.share (line", "'nope' is not PATH=VALUE", "$.keys.hotness"):
        assert words in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["changed.toml"]


@pytest.mark.usefixtures("no_account")
def test_2_credentials_are_missing(verb: Verb, tmp_path: Path) -> None:
    aws = "https://dynamodb.eu-west-1.amazonaws.com"
    said = verb("run", "hotkey", "--target", aws, "--out", tmp_path / "run")
    assert said.code == 2
    assert "no AWS credentials found" in said.err
    assert not (tmp_path / "run").exists()


def test_3_the_generator_was_the_limit(verb: Verb, sample: Sample) -> None:
    run = sample("generator-bound")
    said = verb("analyze", run)
    assert said.code == 3
    assert not read_diagnosis(run / "diagnosis.json").verdict.valid


@pytest.mark.opens
@pytest.mark.usefixtures("some_account")
def test_4_somebody_elses_table_and_no_folder_is_left(verb: Verb, home: Path) -> None:
    with EndpointProcess.start() as endpoint:
        client = make_client(target_at(endpoint.url))
        client.create_table(**on_demand("keyheat-hotkey"))
        client.close()
        elsewhere = endpoint.url.replace("127.0.0.1", "0.0.0.0")  # any name but this machine's own
        said = verb("run", "hotkey", "--target", elsewhere, "--yes")
    assert said.code == 4
    assert "was not created by a run of ours" in said.err
    assert list(home.iterdir()) == []
