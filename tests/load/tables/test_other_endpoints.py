"""The tables of a run at endpoints that others wrote, one of which keeps no tags with a new table."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import boto3
import pytest

from keyheat.load.tables.lifecycle import RunTables
from keyheat.load.tables.obstacles import Allowed
from keyheat.load.tables.ownership import TableRefused
from tests.load.foreign_endpoints import dynalite, dynoxide
from tests.load.tables.conftest import ELSEWHERE
from tests.make import a_spec

SPEC = a_spec(
    sort_key="sk",
    indexes=[{"name": "by-land", "partition_key": "land", "provisioned": {"read": 1, "write": 2}}],
)


def client_at(url: str) -> Any:
    return boto3.client(
        "dynamodb", "us-east-1", endpoint_url=url, aws_access_key_id="any", aws_secret_access_key="any"
    )


def a_run(url: str, run_id: str, said: list[str], allowed: Allowed | None = None) -> RunTables:
    return RunTables(
        allowed=allowed,
        target=ELSEWHERE,
        run_id=run_id,
        say=said.append,
        sleep=lambda seconds: time.sleep(min(0.05, seconds)),
        connect=lambda _target: client_at(url),
    )


@pytest.mark.opens
@pytest.mark.nightly
@pytest.mark.parametrize(("endpoint_of", "keeps_tags"), [(dynoxide, True), (dynalite, False)])
def test_only_a_table_that_says_so_is_the_runs(
    endpoint_of: Callable[[], AbstractContextManager[str]], keeps_tags: bool
) -> None:
    said: list[str] = []
    with endpoint_of() as url:
        tables = a_run(url, "run-1", said)
        tables.prepare(SPEC)
        later = a_run(url, "run-2", said)
        if keeps_tags:
            with pytest.raises(TableRefused, match=r"run run-1 of .* --share"):
                later.prepare(SPEC)
            later = a_run(url, "run-2", said, Allowed(local=False, share=True))
            later.prepare(SPEC)
            assert "table made is shared: run run-1" in said.pop()
            assert [hold.run for hold in tables.company().others["made"]] == ["run-2"]
        else:
            with pytest.raises(TableRefused, match="--allow-table made"):
                later.prepare(SPEC)
        later.leave()
        tables.leave()
        assert client_at(url).list_tables()["TableNames"] == ([] if keeps_tags else ["made"])
    (line,) = said
    assert ("is deleted" if keeps_tags else "is not deleted: its tag 'keyheat' is None") in line
