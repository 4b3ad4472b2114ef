"""Suites: what a file may say, what it means, and every mistake in it at once."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keyheat.analysis.measures import MEASURES
from keyheat.masking import short_path
from keyheat.regression import suite
from keyheat.regression.compare import judge
from keyheat.regression.outcome import LABELS, LEAST_EFFECTS, Gate
from keyheat.regression.suite import (
    DEFAULT_GATES,
    OF_LIMITS,
    SUITES,
    Suite,
    SuiteError,
    find_suite,
    load_suite,
)
from keyheat.regression.suite_spec import CaseSpec, SuiteSpec
from keyheat.scenario.scenario import SCENARIOS, ScenarioError, load_scenario
from tests.conftest import ROOT, Golden
from tests.make import a_shipped

HEAD = 'format = "keyheat.suite/1"\nname = "mine"\nquestion = "Still?"\n'


def suite_of(tmp_path: Path, text: str, head: str = HEAD) -> Suite:
    path = tmp_path / "mine.toml"
    path.write_text(head + text)
    return load_suite(path)


def mistakes(tmp_path: Path, text: str, head: str = HEAD) -> list[str]:
    with pytest.raises(SuiteError) as raised:
        suite_of(tmp_path, text, head)
    return raised.value.errors


def case(scenario: str = "hotkey", **more: object) -> str:
    lines = [f"{name} = {json.dumps(value)}" for name, value in {"scenario": scenario, **more}.items()]
    return "\n".join(["[[cases]]", *lines, ""])


def test_a_case_is_simulated_once_and_held_to_its_labels_and_exact_numbers(tmp_path: Path) -> None:
    found = suite_of(tmp_path, case())
    (one,) = found.cases
    assert (one.name, one.target, one.repetitions) == ("hotkey", "simulated", 1)
    assert one.scenario == a_shipped("hotkey")
    exact = {name for name, measure in MEASURES.items() if measure.kind == "exact"}
    assert {gate.measure for gate in one.gates} == {LABELS, *OF_LIMITS, *exact}
    assert found.gates == {"hotkey": one.gates}


def test_a_target_that_has_noise_is_held_to_statistics_too_and_run_five_times(tmp_path: Path) -> None:
    found = suite_of(tmp_path, case(target="local") + case(name="own", target="http://127.0.0.1:8000"))
    for one in found.cases:
        assert (one.gates, one.repetitions) == (DEFAULT_GATES, 5)
    assert [one.name for one in found.cases] == ["hotkey", "own"]
    (once,) = suite_of(tmp_path, case(target="local", repetitions=1)).cases
    assert not any(gate.noisy for gate in once.gates), "one repetition decides nothing statistical"


def test_every_statistical_measure_has_a_least_effect() -> None:
    assert {name for name, measure in MEASURES.items() if measure.kind == "statistical"} == set(LEAST_EFFECTS)
    assert {gate.measure for gate in DEFAULT_GATES} == {LABELS, *MEASURES}
    assert judge({"mine": DEFAULT_GATES}, {}, {})  # the gates know every one of them


def test_a_case_says_its_own_where_the_suite_says_another(tmp_path: Path) -> None:
    text = (
        'target = "local"\nrepetitions = 3\n'
        '[[gates]]\nmeasure = "p99_ms"\n'
        + case()
        + case(name="mine", target="aws", repetitions=2, set=["seed=7", "load.duration_s=9"])
        + '[[cases.gates]]\nmeasure = "throttle_share"\nleast_effect = 0.5\nconfidence = 0.9\n'
        + case("sharded", gates=[])
    )
    first, second, third = suite_of(tmp_path, text).cases
    assert (first.target, first.repetitions, first.gates) == (
        "local", 3, (Gate(measure="p99_ms", least_effect=LEAST_EFFECTS["p99_ms"]),)
    )  # fmt: skip
    assert (second.name, second.target, second.repetitions) == ("mine", "aws", 2)
    assert second.gates == (Gate(measure="throttle_share", least_effect=0.5, confidence=0.9),)
    assert (second.scenario.seed, second.scenario.load.duration_s) == (7, 9)
    assert [first.seed(2), second.seed(0), second.seed(1)] == [3, 7, 8]
    assert third.gates == ()


def test_a_scenario_is_a_name_of_ours_or_a_file_beside_the_suite(tmp_path: Path) -> None:
    own = (SCENARIOS / "hotkey.toml").read_text().replace('name = "hotkey"', 'name = "own"', 1)
    (tmp_path / "down").mkdir()
    (tmp_path / "down" / "own.toml").write_text(own)
    found = suite_of(tmp_path, case("down/own.toml") + case("hotkey"))
    assert [one.name for one in found.cases] == ["own", "hotkey"]
    assert found.cases[0].path == tmp_path / "down" / "own.toml"


def test_mistakes_of_scenarios_are_said_beside_those_of_the_file(tmp_path: Path) -> None:
    mistake, other = mistakes(tmp_path, f"repetition = 3\n{case('hotkeys')}")
    assert mistake == "unknown field, did you mean repetitions? @ $.repetition"
    assert other.endswith(" @ $.cases[0].scenario")


def gate(measure: str, of: str = "") -> str:
    return f'[[{of}gates]]\nmeasure = "{measure}"\n'


MISTAKES = {
    "several fields": (
        'target = "loca"\nrepetitions = 0\n'
        + gate("p99")
        + case("hotkeys", surprise=1)
        + case()
        + gate("labels", "cases.")
        + "least_effect = 0.1\n"
        + case()
        + gate("labels", "cases.") * 2
    ),
    "scenarios": case("hotkeys") + case("wrong.toml") + case(set=["load.duration_s", "keys.shards=0"]),
    "one scenario twice": case() + case(),
    "one name twice": case(name="a") + case("sharded", name="a"),
    "noise once": case(target="local", repetitions=1) + gate("p99_ms", "cases."),
    "noise once, of the suite": "repetitions = 1\n" + gate("p99_ms") + case(target="local"),
    "auto scaling that is loaded": case("auto-scaling-late", target="local"),
    "no such load test": case(set=['loadtest="nothing"']),
    "no such file": case("./none.toml"),
    "a number of cases": "cases = 3\n",
    "no cases": "",
    # A file agrees to nothing in place of a person, and a table is loaded by cases that load one only.
    "yes": f"[run]\nyes = true\n{case()}",
    "a table of others": f'[run]\nallow_table = ["orders"]\n{case()}',
    "a protected table": f'[run]\nallow_protected = ["orders"]\n{case()}',
    "no dollars": f"[run]\nmax_dollars = 0\n{case()}",
    "a table of a simulation": f'[run]\ntable = "orders"\n{case()}',
}


def test_every_mistake_is_said_at_once_with_its_place(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "wrong.toml").write_text('format = "keyheat.scenario/1"\nname = "wrong"\n')
    said = []
    for name, text in MISTAKES.items():
        said += [f"== {name}", *mistakes(tmp_path, text)]
    shown = "".join(f"{line}\n" for line in said).replace(str(tmp_path), "FOLDER")
    golden(
        "suite-mistakes.txt",
        re.sub("(one of|there are:) .* @", r"\1 … @", shown),
    )


JUNK = st.one_of(
    st.none(), st.booleans(), st.integers(-1, 2), st.text(max_size=3), st.just("x" * 400),
    st.just([]), st.just({}), st.just([{"measure": []}]), st.just([3]), st.just(["a"]),
)  # fmt: skip
PLACES = (
    *((name,) for name in SuiteSpec.model_fields),
    *(("cases", 0, name) for name in CaseSpec.model_fields),
    ("cases", 0), ("gates", 0), ("gates", 0, "measure"), ("gates", 0, "confidence"),
)  # fmt: skip


@given(place=st.sampled_from(PLACES), junk=JUNK)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_stands_in_a_field_is_a_suite_or_a_list_of_mistakes(
    monkeypatch: pytest.MonkeyPatch, place: tuple[str | int, ...], junk: object
) -> None:
    raw: Any = {
        "format": "keyheat.suite/1", "name": "mine", "question": "Still?", "gates": [{"measure": "labels"}],
        "cases": [{"scenario": "hotkey"}],
    }  # fmt: skip
    owner = raw
    for step in place[:-1]:
        owner = owner[step]
    owner[place[-1]] = junk
    monkeypatch.setattr(suite, "parsed_toml", lambda _text: raw)
    monkeypatch.setattr(suite, "text_of", lambda _path: "")
    try:
        said = ["" for _case in load_suite(Path("mine.toml")).cases]
    except SuiteError as error:
        said = error.errors
    assert said
    assert all(" @ $" in line for line in said if line)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("format = 3", "Input should be 'keyheat.suite/1', got 3 @ $.format"),
        ("name =", "not TOML: "),
        ("\ufeff\0", "not TOML: "),
    ],
)
def test_what_is_no_suite_is_said(tmp_path: Path, head: str, said: str) -> None:
    assert any(said in line for line in mistakes(tmp_path, "", head))


def test_a_scenario_and_a_suite_are_told_apart(tmp_path: Path) -> None:
    (line,) = mistakes(tmp_path, "", (SCENARIOS / "hotkey.toml").read_text())
    path = tmp_path / "mine.toml"
    command = f"`keyheat init {short_path(path)} --suite NAME` writes a suite of it"
    assert line == f"this is a scenario, not a suite: {command} @ $.format"
    path.write_text(HEAD + case())
    with pytest.raises(ScenarioError) as raised:
        load_scenario(path)
    command = f"`keyheat regress {short_path(path)}` runs its cases"
    assert raised.value.errors == [f"this is a suite, not a scenario: {command} @ $.format"]


def test_a_suite_is_a_name_of_ours_or_a_file(tmp_path: Path) -> None:
    assert find_suite("smoke").path == SUITES / "smoke.toml"
    (tmp_path / "mine.toml").write_text(HEAD + case())
    assert find_suite(str(tmp_path / "mine.toml")).name == "mine"
    with pytest.raises(SuiteError, match="neither a file nor one of ours: designs, nightly, smoke"):
        find_suite("weekly")


@pytest.mark.parametrize("path", sorted(SUITES.glob("*.toml")), ids=lambda path: path.stem)
def test_our_suites_are_right_and_named_as_their_files(path: Path) -> None:
    found = load_suite(path)
    assert found.name == path.stem
    for one in found.cases:
        held = {gate.measure for gate in one.gates if gate.noisy}
        assert "throttle_share" in held
        assert one.simulated == (held == set(OF_LIMITS))


def test_the_designs_are_all_of_the_page() -> None:
    page = (ROOT / "docs" / "key-designs.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\|[^|]*\| \[(\w+)\.py\]", page, re.MULTILINE))
    assert len(listed) > 10
    depending = {"aggregate_scan", "aggregate_stream"}  # on answers, which a simulation does not have
    assert listed - depending <= {one.scenario.loadtest for one in find_suite("designs").cases}
