"""The table is made as the scenario describes it, and a table of somebody else's is left alone."""

import pytest

from generator.run.table import Refused, TableError, check_table, prepare_table, table_facts
from generator.transport.boto import make_client
from generator.transport.target import target_at
from tablemodel.endpoint.process import EndpointProcess
from tablemodel.spec.table import TableSpec

SPECS = {
    "provisioned": {"provisioned": {"read": 5, "write": 7}},
    "on demand": {
        "billing_mode": "PAY_PER_REQUEST",
        "max_on_demand": {"write": 900},
        "warm": {"read": 14_000, "write": 5_000},
    },
    "with indexes": {
        "sort_key": "sk",
        "provisioned": {"read": 5, "write": 7},
        "indexes": [
            {"name": "by-land", "partition_key": "land", "provisioned": {"read": 1, "write": 2}},
            {
                "name": "by-day",
                "partition_key": "pk",
                "sort_key": "day",
                "local": True,
                "projection": "INCLUDE",
                "include": ["filler"],
            },
        ],
    },
}


@pytest.mark.parametrize("kind", SPECS)
def test_the_table_is_as_described(endpoint: EndpointProcess, kind: str) -> None:
    spec = TableSpec.model_validate({"name": "made", **SPECS[kind]})
    facts = table_facts(prepare_table(target_at(endpoint.url), spec, "run-1"))
    assert (facts["name"], facts["billing_mode"]) == ("made", spec.billing_mode)
    assert facts["provisioned"] == (spec.provisioned.model_dump() if spec.provisioned else None)
    assert facts["has_lsi"] == any(index.local for index in spec.indexes)
    assert [index["name"] for index in facts["indexes"]] == [i.name for i in spec.indexes if not i.local]
    if spec.max_on_demand:
        assert facts["max_on_demand"] == {"read": None, "write": 900}
        assert facts["warm"] == {"read": 14_000, "write": 5_000}


def test_an_index_may_be_ordered_by_a_number(endpoint: EndpointProcess) -> None:
    views = {"name": "by-views", "partition_key": "board", "sort_key": "views", "sort_key_type": "N"}
    capacity = {"provisioned": {"read": 5, "write": 7}}
    spec = TableSpec.model_validate({"name": "made", **capacity, "indexes": [{**views, **capacity}]})
    prepare_table(target_at(endpoint.url), spec, "run-1")
    client = make_client(target_at(endpoint.url))
    defined = client.describe_table(TableName="made")["Table"]["AttributeDefinitions"]
    client.close()
    kinds = {attribute["AttributeName"]: attribute["AttributeType"] for attribute in defined}
    assert kinds == {"pk": "S", "board": "S", "views": "N"}


def test_a_table_of_ours_is_loaded_again_and_another_is_refused(
    endpoint: EndpointProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKID")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    spec = TableSpec.model_validate({"name": "made", "provisioned": {"read": 5, "write": 7}})
    elsewhere = target_at(endpoint.url.replace("127.0.0.1", "0.0.0.0"))
    assert not elsewhere.local
    prepare_table(elsewhere, spec, "run-1")
    check_table(elsewhere, "made")
    prepare_table(elsewhere, spec, "run-2")
    client = make_client(elsewhere)
    arn = client.describe_table(TableName="made")["Table"]["TableArn"]
    client.untag_resource(ResourceArn=arn, TagKeys=["keyheat"])
    for refused in (lambda: check_table(elsewhere, "made"), lambda: prepare_table(elsewhere, spec, "run-3")):
        with pytest.raises(Refused, match="not created by a run of ours"):
            refused()
    prepare_table(target_at(endpoint.url), spec, "run-4")  # on this machine it is nobody's loss
    client.close()


def test_a_table_with_other_keys_is_not_loaded(endpoint: EndpointProcess) -> None:
    plain = {"name": "made", "provisioned": {"read": 5, "write": 7}}
    prepare_table(target_at(endpoint.url), TableSpec.model_validate(plain), "run-1")
    with pytest.raises(TableError, match="other keys"):
        prepare_table(target_at(endpoint.url), TableSpec.model_validate({**plain, "sort_key": "sk"}), "run-2")


def test_a_target_that_is_not_there_is_said() -> None:
    with pytest.raises(TableError, match=r"http://127\.0\.0\.1:1"):
        check_table(target_at("http://127.0.0.1:1"), "made")
