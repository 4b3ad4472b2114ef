"""keyheat regress: what it keeps, what it is held against, and every way in which it ends."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import keyheat.cli.regress
from keyheat.cli.simulate import How
from keyheat.regression.history import History, Session
from keyheat.simulator.jobs import Job
from tests.conftest import Verb
from tests.make import a_suite
from tools.samples import make_run as make_sample

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_history")]

Fake = Callable[[Job, How], int]
REAL = keyheat.cli.regress.make_run
DEARER = "load.item_bytes=16_000"
SMALLER = "local.scale=0.5"
CALM = "table.provisioned.write=3"
PAIRED = "[run]\npaired = true\n"
STRICT = "thresholds.throttle_share_max=0.0001"


def suite(*settings: str, cases: str = "") -> Path:
    """The suite's file, with more settings in its case, and more cases."""
    path = Path("short.toml")
    short = ("load.duration_s=3", "table.provisioned.write=2", *settings)
    path.write_text(a_suite("short", *short, more=f'expects = "table"\n{cases}'))
    return path


def sessions() -> tuple[Session, ...]:
    with History(Path("reports/history.sqlite")) as history:
        return history.sessions()


def outcome(folder: Path | str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((Path(folder) / "regression.json").read_text())
    return read


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replaces the making of runs, one after the other; the last one goes on."""

    def replace(*fakes: Fake) -> None:
        left = list(fakes)

        def make_run(job: Job, how: How, *, of_series: tuple[int, int] | None = None) -> int:
            return (left.pop(0) if len(left) > 1 else left[0])(job, how)

        monkeypatch.setattr(keyheat.cli.regress, "make_run", make_run)

    return replace


def a_sample(name: str, code: int) -> Fake:
    """A made-up run with all its files, and the exit code that it ends with."""

    def make(job: Job, _how: How) -> int:
        make_sample(name, job.folder, seconds=40)
        return code

    return make


def real(job: Job, how: How) -> int:
    return REAL(job, how)


def test_the_first_session_is_the_baseline_and_the_next_is_held_against_it(verb: Verb) -> None:
    first = verb("regress", suite(), "--out", "first")
    assert first.code == 0
    assert first.says("short has a new baseline: 2 valid runs.")
    assert "1 of 2  too-small, repetition 1: table" in first.err
    assert {path.name for path in Path("first").iterdir()} == {
        "too-small", "regression.json", "regression.html",
    }  # fmt: skip
    assert (Path("first") / "too-small" / "2" / "summary.json").exists()
    second = verb("regress", suite(), "--out", "second")
    assert second.code == 0
    assert second.says("short is as good as it was: all 2 gates held.")
    assert "Page: second/regression.html" in second.out
    assert [one.verdict for one in sessions()] == ["good", "baseline"]
    told = outcome("second")
    assert (told["baseline"]["session"], told["verdict"], told["exit_code"]) == ("1", "good", 0)
    (case,) = told["cases"]
    assert [run["url"] for run in case["after"]] == [
        (Path("second") / "too-small" / str(number)).absolute().as_uri() for number in (1, 2)
    ]
    assert all(run["report"] is None for run in case["after"]), "nobody needs to look at them"


def test_a_gate_that_fails_is_exit_code_1_and_its_runs_have_reports(verb: Verb) -> None:
    verb("regress", suite())
    refused = verb("regress", suite(DEARER), "--accept")
    assert (refused.code, len(sessions())) == (2, 1), "nothing was run"
    assert "use --new-baseline if the change is intended" in refused.err
    said = verb("regress", suite(DEARER), "--out", "dear")
    assert said.code == 1
    assert said.says("short regressed: 1 of 2 gates failed.")
    assert said.says("too-small, units_per_operation.write 8 units before, 16 units now (+100 %")
    assert said.says("Changed: load.item_bytes 8,000 → 16,000 (too-small).")
    assert [one.verdict for one in sessions()] == ["regressed", "baseline"]
    (case,) = outcome("dear")["cases"]
    assert all(run["report"].endswith("/report.html") for run in case["after"])
    assert (Path("dear") / "too-small" / "1" / "report.html").exists()


def test_a_first_session_that_nobody_expected_wants_to_be_looked_at(verb: Verb) -> None:
    file = suite()
    file.write_text(file.read_text().replace('expects = "table"', 'expects = "none"'))
    said = verb("regress", file)
    assert said.code == 1
    assert said.says("short has no baseline yet: review this session, then accept it.")
    assert said.says(f"If this is as intended: keyheat regress {file} --accept")
    second = verb("regress", file)
    assert second.code == 1
    assert second.says("short shows no regression, but no session is accepted yet: review this one.")
    again = verb("regress", file, "--accept")
    assert again.says("short has a new baseline")
    assert [one.verdict for one in sessions()] == ["baseline", "unaccepted", "unaccepted"]
    assert verb("regress", file).code == 0, "from then on it is what was meant"
    anew = verb("regress", file, "--new-baseline")
    assert anew.code == 1
    assert anew.says("short has a session to review and accept; until then session 4 stays the baseline.")
    assert anew.says(f"If this is as intended: keyheat regress {file} --new-baseline --accept")


def test_another_setup_is_refused_before_anything_is_sent(verb: Verb, runs: Any) -> None:
    verb("regress", suite())
    runs(lambda _job, _how: pytest.fail("something was sent"))
    files = ("--export", "j.xml", "--export", "m.md", "--export", "github")
    said = verb("regress", suite(SMALLER, CALM), "--out", "other", *files)
    assert said.code == 2
    told = json.loads(verb("regress", suite(SMALLER, CALM), "--out", "other", "--json", "-q").out)
    assert (told["verdict"], told["exit_code"], told["cases"]) == ("not_compared", 2, [])
    assert "| too-small | scale | 1 | 0.5 |" in Path("m.md").read_text()
    assert Path("j.xml").exists()
    assert "::error" in said.out + said.err
    assert said.says("The baseline, session 1 of ")
    assert len(sessions()) == 1
    assert not Path("other").exists()


def test_the_baselines_own_scenario_is_run_again_beside_the_new_one(verb: Verb) -> None:
    first = verb("regress", suite(cases=PAIRED), "--out", "first")
    assert (first.code, "baseline's scenarios" in first.out) == (0, False), "there is nothing to rerun yet"
    said = verb("regress", suite(DEARER, cases=PAIRED), "--out", "pairs")
    assert said.code == 1
    assert said.says("beside 2 runs of the baseline's scenarios")
    order = [line.split(": ")[0].split("  ")[1] for line in said.err.splitlines() if " of 4  " in line]
    first, second = "too-small, repetition 1", "too-small, repetition 2"
    assert order == [f"{first} (baseline)", first, second, f"{second} (baseline)"]
    told = outcome("pairs")
    assert told["paired"]
    assert {one["what"] for one in told["suspects"]} == {"load.item_bytes"}
    with History(Path("reports/history.sqlite")) as history:
        assert [run.side for run in history.runs(history.session(2), side=None)].count("before") == 2
        assert history.last_good("short") == history.session(1)


def test_a_run_that_says_nothing_about_its_table_is_exit_code_3(verb: Verb, runs: Any) -> None:
    verb("regress", suite())
    runs(real, a_sample("generator-bound", 3))
    said = verb("regress", suite(), "--out", "bound")
    assert said.code == 3
    assert said.says("short is inconclusive: 1 of 2 runs are invalid.")
    assert said.says("too-small, repetition 2 is invalid: The load generator was the limit")
    assert "INVALID" in said.err
    assert sessions()[0].verdict == "invalid"
    run = outcome("bound")["cases"][0]["after"][1]
    assert (run["valid"], run["report"] is not None) == (False, True)


@pytest.mark.parametrize(
    ("code", "words", "verdict"),
    [
        (3, "too-small, repetition 2 is invalid: It has no diagnosis", "invalid"),
        (4, "short was refused after 1 run.", "refused"),
    ],
)
def test_a_run_without_a_diagnosis_or_that_is_refused_ends_the_session_with_its_code(
    verb: Verb, runs: Any, code: int, words: str, verdict: str
) -> None:
    runs(real, lambda _job, _how: code)
    said = verb("regress", suite(), "--out", "ended")
    assert (said.code, sessions()[0].verdict) == (code, verdict)
    assert said.says(words)


def stopped_by(number: int) -> Fake:
    def stop(_job: Job, _how: How) -> int:
        os.kill(os.getpid(), number)
        return pytest.fail("it went on")

    return stop


STOPS = {
    **{number.name: stopped_by(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)},
    "a run that was interrupted": lambda _job, _how: 130,
}


@pytest.mark.parametrize("stop", STOPS)
def test_what_was_made_before_an_interrupt_is_kept(verb: Verb, runs: Any, stop: str) -> None:
    before = signal.getsignal(signal.SIGTERM)
    runs(real, STOPS[stop])
    said = verb("regress", suite(), "--out", "stopped")
    assert said.code == 130
    assert said.says("short was interrupted: 1 run kept, nothing decided.")
    (session,) = sessions()
    assert session.verdict == "interrupted"
    with History(Path("reports/history.sqlite")) as history:
        assert [(run.case, run.repetition) for run in history.runs(session)] == [("too-small", 0)]
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_session_is_ended_whatever_happens_in_it(verb: Verb, runs: Any) -> None:
    def full_disk(_job: Job, _how: How) -> int:
        raise OSError(28, "No space left on device")

    runs(real, full_disk)
    said = verb("regress", suite())
    assert (said.code, "No space left" in said.err) == (2, True)
    assert sessions()[0].verdict == "invalid"


def test_two_at_once_on_one_history_are_both_fine(verb: Verb, runs: Any) -> None:
    codes = []

    def another_one_first(job: Job, how: How) -> int:
        codes.append(verb("regress", "short.toml", "--out", "inner").code)
        return REAL(job, how)

    runs(another_one_first, real)
    assert verb("regress", suite(), "--out", "outer").code == 0
    assert codes == [0]
    assert [one.verdict for one in sessions()] == ["baseline", "baseline"]
    with History(Path("reports/history.sqlite")) as history:
        assert {len(history.runs(one)) for one in history.sessions()} == {2}


def test_it_can_be_held_against_any_session(verb: Verb) -> None:
    verb("regress", suite(), "--label", "gold")
    assert "has a new baseline" in verb("regress", suite(DEARER), "--new-baseline").out
    assert verb("regress", suite(DEARER)).code == 0, "what is meant has changed"
    for named in ("gold", "1"):
        held = verb("regress", suite(), "--baseline", named)
        assert held.code == 0
        assert held.says("Compared with session 1 of")
        assert held.says("as requested")
    wrong = verb("regress", suite(), "--baseline", "silver")
    assert wrong.code == 2
    assert "no session with the number or label 'silver'" in wrong.err


@pytest.mark.usefixtures("some_account")
def test_a_suite_on_an_account_is_agreed_to_once_before_anything_is_sent(
    verb: Verb, runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    asked: list[How] = []

    def answer(job: Job, how: How) -> int:
        asked.append(how)
        return a_sample("hotkey", 0)(job, how)

    runs(answer)
    on_aws = '\n[[cases]]\nname = "real"\nscenario = "hotkey"\ntarget = "aws"\n'
    nobody = verb("regress", suite(cases=on_aws))
    assert (nobody.code, "--yes" in nobody.err) == (4, True)
    assert (asked, sessions()) == ([], ())
    assert not Path("reports/out").exists()
    dear = verb("regress", suite(cases=f"{on_aws}[run]\nmax_dollars = 0.000001\n"), "--yes")
    assert (dear.code, asked) == (4, [])
    rich = suite(cases=f"{on_aws}[run]\nmax_dollars = 100\n")
    cheap = verb("regress", rich, "--yes", "--max-dollars", "1e-6")
    assert (cheap.code, asked) == (4, []), "what a person says goes before what a file says"
    capped = suite(cases=f"{on_aws}[run]\nmax_units = 100_000_000\n")
    assert verb("regress", capped, "--yes", "--accept").code == 0
    assert [how.target for how in asked] == ["simulated", "aws", "simulated", "aws"]
    options = asked[1].options
    assert "--yes" in options
    assert options[options.index("--max-units") + 1] == "100000000.0"
    assert asked[0].options == ()


def test_an_export_that_fails_changes_no_verdict_and_the_exit_code_is_said_everywhere(verb: Verb) -> None:
    Path("file").write_text("")
    files = [f"--export={name}" for name in ("file/a.xml", "a.md", "github")]
    said = verb("regress", suite(), *files, "--json", "-q")
    told = json.loads(said.out)
    assert said.err.startswith("::error "), "nothing else is on stdout"
    assert told == outcome(told["folder"])
    assert (said.code, told["exit_code"], told["verdict"]) == (3, 3, "baseline")
    assert any("cannot write file/a.xml" in problem for problem in told["problems"])
    assert Path("a.md").exists()
    assert sessions()[0].verdict == "baseline"
    assert verb("regress", suite(STRICT), "--export", "file/a.xml").code == 1


WRONG = {
    "a folder of others": (["short.toml", "--out", "others"], "is not an empty folder"),
    "a folder as a file": (["short.toml", "--export", "others"], "others is a folder"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_before_anything_is_made(verb: Verb, runs: Any, name: str) -> None:
    runs(lambda _job, _how: pytest.fail("a run was made"))
    suite()
    Path("others").mkdir()
    (Path("others") / "run.json").write_text("{}")
    arguments, words = WRONG[name]
    said = verb("regress", *arguments)
    assert said.code == 2
    assert words in said.err
    assert not Path("reports/history.sqlite").exists() or sessions() == ()
