"""An account with no table yet, as our endpoint shows it, in this process."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyheat.endpoint.options import Durations
from keyheat.load.options import Guards
from keyheat.load.tables.lifecycle import RunTables
from keyheat.load.transport.target import Target
from tests.endpoint.clients import service_app_at
from tests.make import a_spec

ELSEWHERE = Target("http://in.process", "in.process", 80, False, "us-east-1")
"""A target that is not on this machine."""


@dataclass(frozen=True, slots=True)
class Account:
    """A client, and a clock that moves when somebody sleeps."""

    ddb: Any
    sleep: Callable[[float], None]
    now_s: Callable[[], float]

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


@pytest.fixture
def account() -> Account:
    """Where a table takes a while to be made and deleted. `test_clean_orphans` has one that others wrote."""
    return ours(create_s=20.0, delete_s=10.0)


def replacing(client: Any, **instead: Callable[..., Any]) -> Any:
    """The client with some of its methods replaced."""

    class Instead:
        def __getattr__(self, name: str) -> Any:
            return instead.get(name) or getattr(client, name)

    return Instead()


def refuses(operation: str, code: str = "AccessDeniedException", message: str = "no") -> Callable[..., Any]:
    """A method that is answered with an error."""

    def refuse(**_request: Any) -> Any:
        raise ClientError({"Error": {"Code": code, "Message": message}}, operation)

    return refuse


HOUR_S = 3600.0


class Heard(RunTables):
    """The tables of a run, and what a person was told of them."""

    lines: list[str]
    phases: list[str]

    @property
    def last(self) -> str:
        return self.lines[-1]

    def begins(self) -> "Heard":
        """With a table `made`."""
        self.prepare(a_spec())
        return self

    def met(self) -> list[str]:
        """Runs that loaded it at the same time."""
        return [other.run for other in self.company()[0]]


def run_of(
    account: Account, run_id: str = "run-1", *, instead: Mapping[str, Callable[..., Any]] | None = None,
    target: Target = ELSEWHERE, lasts_s: float = HOUR_S, alone: bool = False, **guards: Any,
) -> Heard:  # fmt: skip
    """A run's tables; some methods of its client are others `instead`."""
    lines, phases = list[str](), list[str]()
    tables = Heard(
        target=target, run_id=run_id, guards=Guards(**guards), lasts_s=lasts_s, alone=alone,
        say=lines.append, phase=lambda name, _words: phases.append(name),
        sleep=account.sleep, now_s=account.now_s,
        connect=lambda _target: replacing(account.ddb, **instead) if instead else account.ddb,
    )  # fmt: skip
    tables.lines, tables.phases = lines, phases
    return tables
