"""What a summary keeps of what a run was measured on."""

from typing import Any

import pytest

from keyheat.analysis.summary import in_words, setup_of
from keyheat.runs.manifest import Machine
from keyheat.runs.table_facts import TableFacts
from keyheat.words import Capacity
from tests.make import a_manifest, a_shipped

GIB = 1 << 30
MACHINE = Machine(cores=2, memory_bytes=24 * GIB, cpu="Some CPU")


def test_the_scenario_is_kept_without_its_defaults() -> None:
    raw = a_shipped("leaderboard").model_dump(mode="json")
    kept = setup_of(a_manifest(scenario=raw)).scenario
    assert kept == setup_of(a_manifest(scenario=dict(kept or {}))).scenario
    assert kept is not None
    assert len(str(kept)) < len(str(raw)) / 2
    newer = raw | {"new_field": 3}
    assert setup_of(a_manifest(scenario=newer)).scenario == newer, "of another version: as it is written"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("local", "local"),
        ("https://dynamodb.eu-west-1.amazonaws.com", "aws"),
        ("https://123456789012.ddb.eu-west-1.amazonaws.com", "aws"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
    ],
)
def test_the_target_in_a_word(target: str, said: str) -> None:
    assert setup_of(a_manifest(target=target)).target == said


def test_a_machine_is_its_cores_its_memory_and_its_model_and_a_simulated_run_has_none() -> None:
    assert in_words(MACHINE) == "2 cores, 24 GiB, Some CPU"
    assert setup_of(a_manifest(machine=MACHINE)).machine == "2 cores, 24 GiB, Some CPU"
    same = MACHINE.model_copy(update={"memory_bytes": 24 * GIB - 300_000_000})
    assert in_words(same) == in_words(MACHINE)
    assert setup_of(a_manifest(target="simulated", machine=MACHINE)).machine is None


def test_what_surrounds_an_existing_table_is_kept() -> None:
    table = TableFacts(
        name="orders", billing_mode="PAY_PER_REQUEST", warm=Capacity(read=12_000, write=4_000),
        table_class="STANDARD_INFREQUENT_ACCESS",
    )  # fmt: skip
    scaled = {"index": None, "side": "write", "min": 5, "max": 1_000, "target": 0.7}
    around: dict[str, Any] = {"table": table, "auto_scaling": {"known": True, "scaled": [scaled]}}
    assert setup_of(a_manifest(**around)).existing is None, "the scenario says it of our own tables"
    assert setup_of(a_manifest(existing=True, **around)).existing == {
        "name": "orders", "table_class": "STANDARD_INFREQUENT_ACCESS",
        "warm": {"read": 12_000, "write": 4_000},
        "auto_scaling.table.write": {"min": 5, "max": 1_000, "target": 0.7},
    }  # fmt: skip
