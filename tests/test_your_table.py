"""docs/your-table.md: its commands, in an empty folder; and what `keyheat init` takes and refuses."""

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.intake.sources import read_source
from keyheat.intake.tables import NotTaken
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.words import DONE, WRONG_USE

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples" / "your-table"
PAGE = (ROOT / "docs" / "your-table.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
(HOT,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
Verb = Callable[..., Any]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the examples."""
    for file in EXAMPLES.iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def done(verb: Verb, command: str) -> Any:
    program, *arguments = shlex.split(command)
    assert program == "keyheat"
    said = verb(*arguments)
    assert said.code == DONE, said.err
    return said


def made(name: str) -> Scenario:
    return load_scenario(Path(name))


def test_a_description_has_a_right_plan_and_a_right_verdict(verb: Verb) -> None:
    init, plan, simulate, *_ = COMMANDS
    assert done(verb, init).says("4 lines assumed: look for ASSUMED in it.")
    text = Path("events.toml").read_text(encoding="utf-8")
    assert "item_bytes = 3_000\n" in text, "counted by DynamoDB"
    shown = re.sub(r"\[attributes\.event_type\]\n.*\n", HOT, text)
    assert shown != text
    Path("events.toml").write_text(shown, encoding="utf-8")
    said = done(verb, plan)
    assert said.says("Index by-type: the hottest of 4 partitions is asked for")
    assert said.says("Its hottest key alone is asked for 2,250 WCU/s")
    assert done(verb, f"{simulate} --out out").says("partition")
    verdict = json.loads(Path("out/diagnosis.json").read_text(encoding="utf-8"))
    assert {"by-type"} <= {label["resource"] for label in verdict["labels"]}


def test_what_is_not_described_is_said_to_be_assumed(verb: Verb) -> None:
    done(verb, COMMANDS[0])
    assert "# ASSUMED" in Path("events.toml").read_text(encoding="utf-8")
    assert not made("events.toml").table.name.startswith("events"), "never the table that was described"


@pytest.mark.opens
def test_it_runs_on_a_table_of_this_machine(verb: Verb, tmp_path: Path) -> None:
    done(verb, "keyheat init events.json --writes-per-s 50 --reads-per-s 5")
    (run,) = (one for one in COMMANDS if one.startswith("keyheat run"))
    done(verb, f"{run.replace('20', '3')} --out {tmp_path / 'run'}")
    assert (tmp_path / "run" / "report.html").exists()


def test_templates_plans_and_models_come_over(verb: Verb) -> None:
    for command in [one for one in COMMANDS if one.startswith("keyheat init") and "events" not in one]:
        done(verb, command)
    for name, index, scaled in (
        ("orders-prod.toml", "by-status", 4_000),
        ("orders.toml", "by-status", 4_000),
        ("Carts.toml", "by-sku", 500),
    ):
        table = made(name).table
        assert [one.name for one in table.indexes] == [index]
        assert table.indexes[0].projection == "KEYS_ONLY"
        assert table.auto_scaling is not None
        assert table.auto_scaling.write is not None
        assert (table.auto_scaling.write.max, table.auto_scaling.write.target) == (scaled, 0.7)
    assert made("orders-prod.toml").table.provisioned is not None
    assert made("orders.toml").table.stream == "NEW_IMAGE"
    assert made("orders.toml").table.sort_key_type == "N"


def test_what_was_not_taken_is_said(verb: Verb) -> None:
    said = done(verb, "keyheat init template.yaml --only orders-prod")
    assert "Orders.KMSMasterKey: Fn::GetAtt of Key.Arn is not known here" in said.err
    assert "# Not taken: Orders.KMSMasterKey" in Path("orders-prod.toml").read_text(encoding="utf-8")
    assert (
        "aws_dynamodb_table.baskets: the plan deletes this table" in done(verb, "keyheat init plan.json").err
    )


def test_a_simple_table_has_its_key_and_is_on_demand(verb: Verb) -> None:
    done(verb, "keyheat init template.yaml --only Sessions")
    table = made("Sessions.toml").table
    assert (table.partition_key, table.billing_mode) == ("id", "PAY_PER_REQUEST")


def test_keys_of_several_attributes_are_named(tmp_path: Path) -> None:
    raw = json.loads((tmp_path / "events.json").read_text(encoding="utf-8"))
    keys = raw["Table"]["GlobalSecondaryIndexes"][0]["KeySchema"]
    keys.insert(1, {"AttributeName": "tenant", "KeyType": "HASH"})
    (tmp_path / "several.json").write_text(json.dumps(raw), encoding="utf-8")
    (table,) = read_source(tmp_path / "several.json").tables
    assert table.notes == ("index by-type has keys of several attributes: the first of each is taken",)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say either a file that describes the table, or --table NAME"),
        (("events.json", "--table", "events"), "say either a file"),
        (("events.json", "--region", "eu-west-1"), "are those of a live --table"),
        (("template.yaml",), "it has 2 tables: say --only with one of orders-prod, Sessions"),
        (("template.yaml", "--only", "order"), "it has no table 'order'"),
        (("wrong.json",), "this is none of these: what `aws dynamodb describe-table` printed"),
        (("broken.yaml",), "neither JSON nor YAML"),
        (("keyless.json",), "its keys (KeySchema) are not said"),
    ],
)
def test_what_is_refused(verb: Verb, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "wrong.json").write_text('{"a": 1}')
    (tmp_path / "broken.yaml").write_text("a: [")
    keyless = {"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {}}}}
    (tmp_path / "keyless.json").write_text(json.dumps(keyless))
    refused = verb("init", *arguments)
    assert refused.code == WRONG_USE
    assert said in " ".join(refused.err.split())
    assert not list(tmp_path.glob("*.toml")), "nothing is written"


def test_a_file_that_is_there_is_not_written_over(verb: Verb) -> None:
    Path("events.toml").write_text("mine", encoding="utf-8")
    refused = verb("init", "events.json")
    assert (refused.code, Path("events.toml").read_text(encoding="utf-8")) == (WRONG_USE, "mine")
    done(verb, "keyheat init events.json --force")
    assert made("events.toml").name == "events"


@pytest.mark.opens
def test_a_live_table_is_read(verb: Verb) -> None:
    with EndpointProcess.start() as endpoint:
        raw = json.loads((EXAMPLES / "events.json").read_text(encoding="utf-8"))["Table"]
        index = {
            key: raw["GlobalSecondaryIndexes"][0][key] for key in ("IndexName", "KeySchema", "Projection")
        }
        make_client(target_at(endpoint.url)).create_table(
            **{key: raw[key] for key in ("TableName", "AttributeDefinitions", "KeySchema")},
            BillingMode="PAY_PER_REQUEST",
            GlobalSecondaryIndexes=[index],
        )
        done(verb, f"keyheat init --table events --endpoint-url {endpoint.url}")
        refused = verb("init", "--table", "nobodys", "--endpoint-url", endpoint.url)
    assert [one.name for one in made("events.toml").table.indexes] == ["by-type"]
    assert refused.code == WRONG_USE
    assert "ResourceNotFoundException" in refused.err


def test_nothing_is_taken_from_what_has_no_table(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_text('{"Resources": {"B": {"Type": "AWS::S3::Bucket"}}}')
    with pytest.raises(NotTaken, match="no table of it can be taken"):
        read_source(tmp_path / "none.json")
