"""Commands to paste are what the AWS CLI takes: their options are parameters of the API."""

import json
import shlex

import botocore.session
import pytest
from botocore.validate import validate_parameters

from keyheat.analysis.advice.commands import command_of
from keyheat.runs.formats import Recommendation
from keyheat.runs.table_facts import AutoScaling, IndexFacts, ScalingRange, TableFacts
from keyheat.words import READ, WRITE, Capacity

PAIR = Capacity(read=50.0, write=15.0)
INDEX = IndexFacts(name="by_day", provisioned=PAIR)
PROVISIONED = TableFacts(name="orders", provisioned=PAIR, indexes=(INDEX,))
ON_DEMAND = TableFacts(name="orders", max_on_demand=Capacity(write=10.0))


def advice(action: str, resource: str = "table", units: float | None = 41.2) -> Recommendation:
    return Recommendation(
        action=action, kind="mitigation", why="it is", expected="less", units=units, resource=resource,
        direction=WRITE,
    )  # fmt: skip


def parameters(command: str) -> dict[str, object]:
    """The request that the AWS CLI makes of a command: `--provisioned-throughput A=1,B=2` or JSON."""
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:3] == ["aws", "dynamodb", "update-table"]
    found: dict[str, object] = {}
    for option, value in zip(words[3::2], words[4::2], strict=True):
        name = "".join(part.title() for part in option.removeprefix("--").split("-"))
        if value.startswith("["):
            found[name] = json.loads(value)
        elif "=" in value:
            found[name] = {key: int(number) for key, number in (p.split("=") for p in value.split(","))}
        elif name != "Region":
            found[name] = value
    return found


RAISED = {"ProvisionedThroughput": {"ReadCapacityUnits": 50, "WriteCapacityUnits": 42}}


@pytest.mark.parametrize(
    ("given", "table", "changed"),
    [
        (advice("raise_capacity"), PROVISIONED, RAISED),
        (
            advice("raise_capacity", "by_day"), PROVISIONED,
            {"GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by_day", **RAISED}}]},
        ),
        (
            advice("raise_max_on_demand"), ON_DEMAND,
            {"OnDemandThroughput": {"MaxWriteRequestUnits": 42}},
        ),
    ],
)  # fmt: skip
def test_a_raise_changes_one_rate_and_leaves_the_other(
    given: Recommendation, table: TableFacts, changed: dict[str, object]
) -> None:
    command = command_of([given], table, "--region eu-west-1")
    assert command is not None
    request = parameters(command)
    assert request == {"TableName": "orders", **changed}
    model = botocore.session.Session().get_service_model("dynamodb")
    validate_parameters(request, model.operation_model("UpdateTable").input_shape)


def test_all_raises_of_a_table_are_one_update() -> None:
    reads = advice("raise_capacity").model_copy(update={"direction": READ, "units": 70.0})
    steps = [advice("raise_capacity"), reads, advice("raise_capacity", "by_day")]
    assert parameters(command_of(steps, PROVISIONED, "") or "") == {
        "TableName": "orders",
        "ProvisionedThroughput": {"ReadCapacityUnits": 70, "WriteCapacityUnits": 42},
        "GlobalSecondaryIndexUpdates": [{"Update": {"IndexName": "by_day", **RAISED}}],
    }
    assert command_of([*steps, advice("shard_writes")], PROVISIONED, "") is None
    scaled = AutoScaling(scaled=(ScalingRange(index="by_day", side=WRITE, min=5, max=30),))
    assert command_of(steps, PROVISIONED, "", scaled) is None, "its range is another command"


def test_what_is_scaled_gets_another_range_and_what_is_not_known_gets_no_command() -> None:
    scaled = AutoScaling(scaled=(ScalingRange(index="by_day", side=WRITE, min=5, max=30),))
    command = command_of([advice("raise_capacity", "by_day")], PROVISIONED, "--region eu-west-1", scaled)
    assert command is not None
    assert "--resource-id table/orders/index/by_day" in command
    assert "dynamodb:index:WriteCapacityUnits --min-capacity 42 --max-capacity 42" in command
    higher = command_of([advice("raise_maximum", "by_day")], PROVISIONED, "--region eu-west-1", scaled)
    assert higher.endswith("--min-capacity 5 --max-capacity 42"), "between equal bounds nothing scales"
    for given, table in (
        (advice("raise_capacity"), ON_DEMAND),
        (advice("raise_capacity", units=None), PROVISIONED),
        (advice("back_off"), PROVISIONED),
    ):
        assert command_of([given], table, "--region eu-west-1") is None


def test_what_has_as_much_by_now_is_not_lowered() -> None:
    raised = PROVISIONED.model_copy(update={"provisioned": Capacity(read=5.0, write=4_000.0)})
    assert command_of([advice("raise_capacity")], raised, "") is None
    assert command_of([advice("raise_minimum")], raised, "") is None
