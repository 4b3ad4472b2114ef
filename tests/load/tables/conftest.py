"""An account with no table yet, as ours and as somebody else's endpoint show it, both in this process."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from moto import mock_aws

from keyheat.endpoint.options import Durations
from keyheat.load.transport.target import Target
from keyheat.scenario.spec.tables import TableSpec
from tests.endpoint.clients import START_S, service_app_at

ELSEWHERE = Target("http://in.process", "in.process", 80, False, "us-east-1")
"""A target that is not on this machine."""


@dataclass(frozen=True, slots=True)
class Account:
    """A client, and a clock that moves when somebody sleeps."""

    ddb: Any
    sleep: Callable[[float], None]
    now_s: Callable[[], float]
    says_maximum: bool = True  # moto keeps no maximum on demand

    def connect(self, _target: Target) -> Any:
        """The client, for a run that asks for one."""
        return self.ddb

    def names(self) -> list[str]:
        """All tables."""
        names: list[str] = self.ddb.list_tables()["TableNames"]
        return names

    def describe(self, name: str) -> dict[str, Any]:
        """DescribeTable's answer."""
        description: dict[str, Any] = self.ddb.describe_table(TableName=name)["Table"]
        return description

    def tags(self, name: str) -> dict[str, str]:
        """A table's tags."""
        listed = self.ddb.list_tags_of_resource(ResourceArn=self.describe(name)["TableArn"])["Tags"]
        return {tag["Key"]: tag["Value"] for tag in listed}

    def recover(self, name: str) -> None:
        """Turn point-in-time recovery on."""
        on = {"PointInTimeRecoveryEnabled": True}
        self.ddb.update_continuous_backups(TableName=name, PointInTimeRecoverySpecification=on)


def ours(**durations: float) -> Account:
    """An account at our endpoint, where tables take as long as said."""
    app = service_app_at(durations=Durations(**durations))
    return Account(app.ddb, app.clock.advance, app.clock)


@pytest.fixture(params=["ours", "moto"])
def account(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    """Our endpoint, and one that others wrote."""
    if request.param == "ours":
        yield ours(create_s=20.0, delete_s=10.0)
        return
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    with mock_aws():
        yield Account(
            boto3.client("dynamodb", region_name="us-east-1"), lambda _s: None, lambda: START_S, False
        )


def spec_of(**fields: Any) -> TableSpec:
    """A small table, with what is said of it."""
    return TableSpec.model_validate({"name": "made", "provisioned": {"read": 5, "write": 7}} | fields)
