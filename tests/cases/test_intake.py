"""Files of other people: what `init`, `collect` and `local` take of them, and what they say of the rest."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.contents import fill
from keyheat.endpoint.options import Contents
from keyheat.endpoint.service import Regions, Service
from keyheat.evidence.request import facts_from_file, window_of
from keyheat.inputs import NotAccepted, parsed_json, text_of
from keyheat.intake.scenario import Demand, scenario_text
from keyheat.intake.sources import read_source
from keyheat.intake.suite import scenarios_among
from keyheat.intake.tables import NotTaken
from keyheat.runs.table_facts import TableFacts
from keyheat.scenario.scenario import load_scenario
from keyheat.scenario.trace import read_trace
from keyheat.simulator.capacity import scale_to

CASES = Path(__file__).parent
DESCRIPTIONS = ("describe-table-utf16.json", "create-table-output.json", "create-table-input.json")
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-be")
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
SOURCE = "arn:aws:dynamodb:us-east-1:111122223333:table/orders"
GLOBAL = {"TableName": "orders", "GlobalTableSourceArn": SOURCE}


def written(path: Path, text: str, encoding: str) -> Path:
    mark = "\ufeff" if encoding == "utf-16-be" else ""  # Python writes the other marks itself
    path.write_bytes((mark + text).encode(encoding))
    return path


def spec_of(path: Path, folder: Path) -> Any:
    """The table of the scenario that `init` writes of a file."""
    (table,) = read_source(path).tables
    assert not table.notes
    text = scenario_text(table, Demand(), path.name, None)
    return load_scenario(written(folder / "made.toml", text, "utf-8")).table


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_every_form_of_a_description_is_taken_by_all_that_read_one(name: str, tmp_path: Path) -> None:
    spec = spec_of(CASES / name, tmp_path)
    assert (spec.billing_mode, spec.partition_key) == ("PAY_PER_REQUEST", "pk")
    facts, _missing = facts_from_file(
        CASES / name, TableFacts(name="orders"), window_of(NOON, NOON.replace(hour=13), NOON.replace(hour=14))
    )
    assert facts.billing_mode == "PAY_PER_REQUEST"
    regions = Regions(Service(clock=lambda: 0.0))
    fill(regions, Contents(table=(CASES / name,)))
    assert regions.home.catalog.find("orders").schema.keys


def test_an_index_that_is_a_resource_of_its_own_is_taken_like_one_inside_the_table(tmp_path: Path) -> None:
    plan = json.loads((CASES / "terraform-standalone-index.json").read_text())
    spec = spec_of(CASES / "terraform-standalone-index.json", tmp_path)
    (index,) = spec.indexes
    assert (index.name, index.partition_key, index.max_on_demand.write) == ("TitleIndex", "title", 10)
    values = plan["planned_values"]["root_module"]["child_modules"][0]["resources"][1]["values"]
    values["table_name"] = "elsewhere"
    (elsewhere := tmp_path / "plan.json").write_text(json.dumps(plan))
    (note,) = read_source(elsewhere).notes
    assert "its table, elsewhere, is not in this file" in note
    values["table_name"] = None  # known only after apply, and the configuration says whose it is
    referred = {"table_name": {"references": ["aws_dynamodb_table.this[0].id", "aws_dynamodb_table.this"]}}
    address = "aws_dynamodb_global_secondary_index.this"
    module = {"resources": [{"address": address, "expressions": referred}]}
    plan["configuration"] = {"root_module": {"module_calls": {"dynamodb_table": {"module": module}}}}
    elsewhere.write_text(json.dumps(plan))
    assert [one.name for one in spec_of(elsewhere, tmp_path).indexes] == ["TitleIndex"]


def test_scale_in_that_is_off_is_taken_and_simulated(tmp_path: Path) -> None:
    spec = spec_of(CASES / "disable-scale-in.yaml", tmp_path).auto_scaling.write
    assert spec.scale_in is False
    low = [5.0] * 15
    assert scale_to(spec, low, provisioned=100) is None
    assert scale_to(spec.model_copy(update={"scale_in": True}), low, provisioned=100) is not None


def test_scale_in_that_nobody_knows_here_is_named(tmp_path: Path) -> None:
    text = (CASES / "disable-scale-in.yaml").read_text()
    unknown = text.replace("DisableScaleIn: true", "DisableScaleIn: !Ref Off")
    (note,) = read_source(written(tmp_path / "t.yaml", unknown, "utf-8")).notes
    assert "DisableScaleIn: Ref of Off is unknown" in note


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GLOBAL, f"it is a replica, with the keys and the capacity of {SOURCE}: describe its source table"),
        (
            {"Resources": {"T": {"Type": "AWS::DynamoDB::GlobalTable", "Properties": GLOBAL}}},
            "describe its source table",
        ),
        ({"service": "shop", "provider": {"name": "aws"}}, "run `serverless package`"),
    ],
)
def test_what_is_described_elsewhere_is_refused(tmp_path: Path, content: Any, message: str) -> None:
    (file := tmp_path / "source").write_text(json.dumps(content))
    with pytest.raises(NotTaken) as refused:
        read_source(file)
    assert message in str(refused.value)
    assert "without a throughput" not in str(refused.value)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_text_is_read_in_the_encoding_that_its_mark_says(tmp_path: Path, encoding: str) -> None:
    file = written(tmp_path / "x.toml", 'format = "keyheat.scenario/1"\r\nkey = "é"\r\n', encoding)
    assert text_of(file) == 'format = "keyheat.scenario/1"\nkey = "é"\n'
    assert scenarios_among([tmp_path]) == [file]
    assert parsed_json(written(tmp_path / "x.json", '{"key": "é"}', encoding).read_bytes()) == {"key": "é"}
    rows = written(tmp_path / "x.csv", "time,operation,key,size_bytes\r\n0,put,é,100\r\n", encoding)
    (row,) = read_trace(rows, has_sort_key=False, least=lambda *_of: 1)
    assert row.key == "é"


def test_text_that_is_cut_off_in_a_sign_says_so() -> None:
    with pytest.raises(NotAccepted, match="not UTF-16 text"):
        parsed_json("{}".encode("utf-16")[:-1])


def test_a_table_file_is_called_what_it_is() -> None:
    formats = [read_source(CASES / name).format for name in DESCRIPTIONS]
    assert formats == ["a DescribeTable response", "a DescribeTable response", "a CreateTable request"]
