"""docs/suites.md: its example is a suite, its tables are those of the code, its command does what it says."""

import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.measures import ABSENCES, MEASURES
from keyheat.regression.suite import SUITES, find_suite, load_suite
from keyheat.regression.suite_spec import LABELS, LEAST_EFFECTS, CaseSpec, GateSpec, SuiteSpec

PAGE = Path(__file__).parents[2] / "docs" / "suites.md"
Verb = Callable[..., Any]


def text() -> str:
    return PAGE.read_text(encoding="utf-8")


def measures_table() -> Iterator[str]:
    yield "| measure | unit | kind | better | `least_effect` | what it is |"
    yield "|---|---|---|---|---|---|"
    for name, one in MEASURES.items():
        least = f"{LEAST_EFFECTS[name]:g}" if one.kind == "statistical" else ""
        yield f"| `{name}` | {one.unit} | {one.kind} | {one.better} | {least} | {one.says} |"


def absences_table() -> Iterator[str]:
    yield "| reason | in words | beside a run that has a number |"
    yield "|---|---|---|"
    for name, one in ABSENCES.items():
        stands = f"{one.than_any} than any" if one.than_any else "not to be compared"
        yield f"| `{name}` | {one.says} | {stands} |"


@pytest.mark.parametrize(
    ("name", "table"),
    [("measures", measures_table), ("absences", absences_table)],
    ids=["measures", "absences"],
)
def test_the_tables_are_the_codes(
    name: str, table: Callable[[], Iterator[str]], pytestconfig: pytest.Config
) -> None:
    block = re.compile(rf"(<!-- {name}: [^\n]*-->\n)(.*?)(<!-- end of {name} -->)", re.DOTALL)
    wanted = "\n" + "\n".join(table()) + "\n\n"
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(block.sub(lambda found: found[1] + wanted + found[3], text()), encoding="utf-8")
    found = block.search(text())
    assert found is not None
    assert found[2] == wanted


def test_the_example_is_a_suite(tmp_path: Path) -> None:
    example, run = re.findall(r"```toml\n(.*?)```", text(), re.DOTALL)
    path = tmp_path / "orders.toml"
    path.write_text(example + run)
    suite = load_suite(path)
    hot, large, designed = suite.cases
    assert (suite.run.max_dollars, suite.run.collect) == (3, False)
    assert [(one.name, one.target, one.repetitions) for one in (hot, large, designed)] == [
        ("hotkey", "local", 5), ("hotkey-large", "local", 5), ("hotkey-designed", "simulated", 1),
    ]  # fmt: skip
    assert [gate.measure for gate in hot.gates] == [LABELS, "accepted_units_per_s.write"]
    assert large.scenario.load.item_bytes == 3_000
    assert [gate.measure for gate in designed.gates] == ["shards_needed"]


def test_every_field_is_told() -> None:
    told = set(
        re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", text(), re.MULTILINE)))
    )
    fields = {name for model in (SuiteSpec, CaseSpec, GateSpec) for name in model.model_fields}
    assert fields <= told


def test_every_suite_of_ours_is_told_and_its_target_is_right() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (simulated|the local endpoint) \|", text(), re.MULTILINE))
    assert rows.keys() == {path.stem for path in SUITES.glob("*.toml")}
    for name, target in rows.items():
        said = "simulated" if target == "simulated" else "local"
        assert {one.target for one in find_suite(name).cases} == {said}


def test_its_command(verb: Verb) -> None:
    (command,) = re.findall(r"```sh\n(.*?)```", text(), re.DOTALL)
    program, *words = shlex.split(command)
    assert program == "keyheat"
    said = verb(*words)
    assert (said.code, said.err) == (0, "")
    assert said.out == (SUITES.parent / "suite.schema.json").read_text()
