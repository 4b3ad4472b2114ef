"""What `run.json` says of the machine."""

import pytest

from keyheat.load.record.generator import cpu_model, machine
from keyheat.runs.manifest import Machine


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        ("processor\t: 0\nmodel name\t: Some  CPU @ 3 GHz\n\nmodel name\t: Other\n", "Some CPU @ 3 GHz"),
        ("model\t\t: 85\nmodel name\t: Some CPU\n", "Some CPU"),
    ],
)
def test_the_first_model_that_is_named(cpuinfo: str, model: str) -> None:
    assert cpu_model(cpuinfo) == model


def test_a_machine_that_names_no_model_has_a_name_all_the_same() -> None:
    assert cpu_model("Features: fp asimd\n")


def test_this_machine_is_one() -> None:
    found = Machine.model_validate(machine())
    assert found.cores >= 1
    assert found.memory_bytes > 1 << 20
