"""docs/init.md: its commands, in an empty folder; and what `keyheat init` takes and refuses."""

import json
import re
import shutil
from pathlib import Path

import pytest
from botocore.stub import Stubber

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.scenario.scenario import Scenario, load_scenario
from keyheat.words import WRONG_USE
from tests.conftest import ROOT, Golden, Verb, done
from tests.endpoint.clients import unasked_client

EXAMPLES = ROOT / "examples" / "your-table"
PAGE = (ROOT / "docs" / "init.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^keyheat .+$", PAGE, re.MULTILINE)
HOT, *_, GLOBAL = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with the examples."""
    for file in EXAMPLES.iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def made(name: str) -> Scenario:
    return load_scenario(Path(name))


@pytest.mark.nightly
@pytest.mark.long
@pytest.mark.slow
def test_a_description_has_a_right_plan_and_a_right_verdict_and_a_cure_that_works(verb: Verb) -> None:
    init, plan, simulate, *_ = COMMANDS
    assert done(verb, init).says("6 lines assumed: look for ASSUMED in it.")
    text = Path("events.toml").read_text(encoding="utf-8")
    assert "item_bytes = 3_000  # the table's mean" in text, "counted by DynamoDB"
    shown = re.sub(r"\[attributes\.event_type\]\n.*\n", HOT, text)
    assert shown != text
    Path("events.toml").write_text(shown, encoding="utf-8")
    said = done(verb, plan)
    assert said.says("Index by-type: the demand on the hottest of 4 partitions is")
    assert said.says("Its hottest key alone takes 2,250 WCU/s")
    assert done(verb, f"{simulate} --out out").says("partition")
    verdict = json.loads(Path("out/diagnosis.json").read_text(encoding="utf-8"))
    assert {"by-type"} <= {label["resource"] for label in verdict["labels"]}
    assert {(one["action"], one["resource"]) for one in verdict["cure"]["steps"]} == {
        ("change_index_key", "by-type"), ("pre_warm", "by-type"), ("pre_warm", "table"),
    }  # fmt: skip
    (fix,) = (one for one in COMMANDS if one.startswith("keyheat fix"))
    assert done(verb, fix.replace("events-run", "out")).says("Fixed: with"), "the page's cure works"


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
        assert (table.auto_scaling.write.max, table.auto_scaling.write.target) == (scaled, 0.7)
    assert made("orders-prod.toml").table.provisioned is not None
    assert made("orders.toml").table.stream == "NEW_IMAGE"
    assert made("orders.toml").table.sort_key_type == "N"


def test_what_was_not_taken_is_said(verb: Verb) -> None:
    said = done(verb, "keyheat init template.yaml --only orders-prod")
    assert said.says("Not taken: Orders.KMSMasterKey: Fn::GetAtt of Key.Arn is unknown")
    assert "# Not taken: Orders.KMSMasterKey" in Path("orders-prod.toml").read_text(encoding="utf-8")
    assert done(verb, "keyheat init plan.json").says(
        "aws_dynamodb_table.baskets: the plan deletes this table"
    )


REFUSED = (
    "", "events.json --table events", "events.json --region eu-west-1", "template.yaml",
    "template.yaml --only order", "wrong.json", "keyless.json",
)  # fmt: skip


def test_what_is_refused(verb: Verb, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "wrong.json").write_text('{"a": 1}')
    (tmp_path / "broken.yaml").write_text("a: [")
    keyless = '{"Resources": {"T": {"Type": "AWS::DynamoDB::Table", "Properties": {}}}}'
    (tmp_path / "keyless.json").write_text(keyless)
    said = ""
    for words in REFUSED:
        refused = verb("init", *words.split())
        assert refused.code == WRONG_USE
        said += f"== keyheat init {words}\n{refused.err.strip()}\n"
    golden("init.txt", said)
    assert "neither JSON nor YAML" in verb("init", "broken.yaml").err
    assert not list(tmp_path.glob("*.toml")), "nothing is written"


def test_a_file_that_is_there_is_not_written_over(verb: Verb) -> None:
    Path("events.toml").write_text("mine", encoding="utf-8")
    assert verb("init", "events.json").code == WRONG_USE
    assert Path("events.toml").read_text(encoding="utf-8") == "mine"
    done(verb, "keyheat init events.json --force")
    assert made("events.toml").name == "events"


@pytest.mark.opens
def test_a_live_table_is_read(verb: Verb) -> None:
    with EndpointProcess.start() as endpoint:
        raw = json.loads(Path("events.json").read_text(encoding="utf-8"))["Table"]
        taken = ("TableName", "AttributeDefinitions", "KeySchema")
        (index,) = raw["GlobalSecondaryIndexes"]
        make_client(target_at(endpoint.url)).create_table(
            **{key: raw[key] for key in taken}, BillingMode="PAY_PER_REQUEST",
            GlobalSecondaryIndexes=[{key: index[key] for key in ("IndexName", "KeySchema", "Projection")}],
        )  # fmt: skip
        done(verb, f"keyheat init --table events --endpoint-url {endpoint.url}")
    assert [one.name for one in made("events.toml").table.indexes] == ["by-type"]


def test_a_live_table_that_is_not_there_is_said_with_its_region(
    verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = unasked_client("dynamodb", "eu-west-1")
    monkeypatch.setattr("keyheat.evidence.table.boto3_clients", lambda **_how: lambda _service: client)
    with Stubber(client) as stub:
        stub.add_client_error("describe_table", "ResourceNotFoundException", "Table: events not found")
        stub.add_response("list_tables", {"TableNames": ["orders", "event"]})
        stub.add_client_error("describe_table", "AccessDeniedException", "not you")
        gone, refused = (verb("init", "--table", "events") for _ in range(2))
    assert gone.code == refused.code == WRONG_USE
    assert gone.line == ("keyheat: no table 'events' in eu-west-1; tables in eu-west-1: event, orders")
    assert refused.line == "keyheat: table events in eu-west-1: AccessDeniedException: not you"


PLAIN = {
    "TableName": "plain",
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
}


def test_what_a_condition_leaves_out_is_not_taken_and_numbers_are_whole(verb: Verb) -> None:
    properties = {
        **PLAIN, "TableName": {"Fn::Sub": "orders-${Number}"},
        "TimeToLiveSpecification": {"AttributeName": "until", "Enabled": True},
    }  # fmt: skip
    template = {
        "Parameters": {
            "Number": {"Type": "Number", "Default": "5"},
            "Stage": {"Type": "String", "Default": "dev"},
        },
        "Conditions": {"Prod": {"Fn::Equals": [{"Ref": "Stage"}, "prod"]}},
        "Resources": {
            "Orders": {"Type": "AWS::DynamoDB::Table", "Properties": properties},
            "Audit": {"Type": "AWS::DynamoDB::Table", "Condition": "Prod",
                      "Properties": {**properties, "TableName": "audit"}},
        },
    }  # fmt: skip
    Path("stage.json").write_text(json.dumps(template), encoding="utf-8")
    said = done(verb, "keyheat init stage.json")
    assert said.says("Audit: its condition Prod is false or unknown: change the Default of Stage (dev)")
    assert said.says("its time to live")
    assert made("orders-5.toml").table.name == "keyheat-orders-5"
    template["Conditions"] |= {"Eu": {"Fn::And": [{"Condition": "Prod"}, {"Condition": "Eu"}]}}
    template["Resources"]["Audit"]["Condition"] = "Eu"
    Path("stage.json").write_text(json.dumps(template), encoding="utf-8")
    left_out = verb("init", "stage.json", "--only", "Audit")
    assert left_out.code == WRONG_USE
    assert left_out.line.endswith("Default of Stage (dev) to include it; other tables for --only: orders-5")


def test_a_table_in_several_regions_is_planned_in_all_of_them(verb: Verb) -> None:
    done(verb, COMMANDS[0])
    assert not made("events.toml").table.name.startswith("events"), "never the table that was described"
    text = Path("events.toml").read_text(encoding="utf-8")
    assert "# ASSUMED" in text
    with_regions = text.replace("[table]\n", f"[table]\n{GLOBAL.splitlines()[1]}\n")
    Path("events.toml").write_text(with_regions, encoding="utf-8")
    said = done(verb, "keyheat plan events.toml")
    assert said.says("Every write is replicated to 2 other Regions")


def test_a_table_in_an_account_comes_with_its_auto_scaling(
    verb: Verb, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As DescribeTable and Application Auto Scaling answer; nothing else is asked."""
    described = {
        "TableName": "events",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": 100, "WriteCapacityUnits": 200},
    }
    writes = {
        "ServiceNamespace": "dynamodb", "ResourceId": "table/events", "CreationTime": 0,
        "ScalableDimension": "dynamodb:table:WriteCapacityUnits",
    }  # fmt: skip
    target = writes | {"MinCapacity": 100, "MaxCapacity": 900, "RoleARN": "arn:aws:iam::000000000000:role/r"}
    policy = writes | {
        "PolicyARN": "arn:aws:autoscaling:eu-west-1:000000000000:scalingPolicy:p", "PolicyName": "p",
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 60.0, "ScaleInCooldown": 120},
    }  # fmt: skip
    names = ("dynamodb", "application-autoscaling")
    clients = {name: unasked_client(name, "eu-west-1") for name in names}
    monkeypatch.setattr("keyheat.evidence.table.boto3_clients", lambda **_how: clients.__getitem__)
    tables, scaling = (Stubber(client) for client in clients.values())
    tables.add_response("describe_table", {"Table": described}, {"TableName": "events"})
    scaling.add_response("describe_scalable_targets", {"ScalableTargets": [target]})
    scaling.add_response("describe_scaling_policies", {"ScalingPolicies": [policy]})
    with tables, scaling:
        done(verb, "keyheat init --table events --region eu-west-1 --out live.toml")
        tables.assert_no_pending_responses()
        scaling.assert_no_pending_responses()
    written = made("live.toml").table.auto_scaling.write
    assert (written.min, written.max, written.target) == (100, 900, 0.6)
    assert (written.scale_in_cooldown_s, written.scale_out_cooldown_s) == (120, 0)
