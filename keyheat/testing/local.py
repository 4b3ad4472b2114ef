"""A local endpoint as a test meets it: what the code under test sent, and whether it may be sent in earnest.

code under test --boto3--> endpoint (a process) --recorded--> counted: assert_no_throttles
                                                   '--1,000 times a second, simulated: every other check
"""

import json
import os
import urllib.request
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, Unpack
from urllib.parse import urlsplit

from keyheat.analysis.advising.rerun import scenario_of_table
from keyheat.analysis.words import LIMITS, key_name, title_of
from keyheat.model.resources import Cause, parse_reason
from keyheat.numbers import percent, whole
from keyheat.runs.described import table_facts
from keyheat.simulator.flow import digest_of
from keyheat.testing.asked import Chances, Sent
from keyheat.testing.checks import assert_no_hot_partition, require_share
from keyheat.testing.failing import CheckFailed, text_of
from keyheat.testing.recorded import Row, less, requests_in, sent_steadily, throttled_in
from keyheat.words import Constraint

REGION: Final = "us-east-1"
SECONDS: Final = 60
TIMEOUT_S: Final = 60.0
SIGNED: Final = "AWS4-HMAC-SHA256 Credential=local"  # the endpoint asks that there be one, and no more
CONSTRAINTS: Final[dict[Cause, tuple[Constraint, str]]] = {
    Cause.KEY_RANGE: ("partition", "shard_writes"),
    Cause.PROVISIONED: ("table", "raise_capacity"),
    Cause.ACCOUNT: ("account", "raise_account_quota"),
    Cause.MAX_ON_DEMAND: ("max_on_demand", "raise_max_on_demand"),
}


@dataclass(slots=True)
class LocalDynamoDB:
    """A running local endpoint that records; everything is counted from `begin` on."""

    url: str
    _rows: Mapping[str, tuple[Row, ...]] = field(default_factory=dict, repr=False)
    _requests: Counter[str] = field(default_factory=Counter, repr=False)  # by then, and by us since

    def begin(self) -> None:
        """Count from now on."""
        self._rows, self._requests = self._recorded(), Counter(self._page("requests"))

    def environment(self) -> dict[str, str]:
        """Variables that send boto3, and every other AWS SDK, here and with no credentials of anybody's."""
        services = ("DYNAMODB", "DYNAMODB_STREAMS", "CLOUDWATCH")
        return {
            **{f"AWS_ENDPOINT_URL_{service}": self.url for service in services},
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            **dict.fromkeys(("NO_PROXY", "no_proxy"), _past_proxies(self.url)),
        }

    def tables(self) -> tuple[str, ...]:
        """Names of the tables that there are."""
        names: list[str] = []
        more: dict[str, Any] = {}
        while True:
            answer = self._ask("ListTables", more)
            names += answer["TableNames"]
            if (last := answer.get("LastEvaluatedTableName")) is None:
                return tuple(names)
            more = {"ExclusiveStartTableName": last}

    def clear(self) -> None:
        """Delete every table, protected ones too."""
        for name in self.tables():
            if self._described(name).get("DeletionProtectionEnabled"):
                self._ask("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
            self._ask("DeleteTable", {"TableName": name})

    def requests(self) -> dict[str, int]:
        """How often each operation was asked for, such as PutItem, whatever it was answered."""
        return dict(Counter(self._page("requests")) - self._requests)

    def decisions(self, table: str) -> list[dict[str, Any]]:
        """What a table admitted and refused, second by second, since it was created."""
        rows: list[dict[str, Any]] = self._page(f"decisions?table={table}")
        return rows

    def recorded(self, table: str) -> tuple[Row, ...]:
        """What was asked of a table, by kind of request and partition key."""
        return less(self._recorded().get(table, ()), self._rows.get(table, ()))

    def sent(self, requests_per_s: float, *, table: str | None = None, seconds: int = SECONDS) -> Sent:
        """What was asked of a table, in the same proportions, so many requests a second, for a check.

        The table can be left out where only one was asked for anything. Raises `ValueError`.
        """
        if not 0 < requests_per_s < inf or seconds < 1:
            raise ValueError(f"a load has a rate and lasts: not {requests_per_s}/s for {seconds} s")
        name = table or self._only_one()
        rows = self.recorded(name)
        if not rows:
            raise ValueError(f"table {name} was asked for nothing; asked were: {self._asked_in_words()}")
        if name not in self.tables():
            raise ValueError(f"table {name} is gone, and its capacity with it: check before it is deleted")
        scenario = scenario_of_table(table_facts(self._described(name)), seconds)
        assert scenario is not None, "the endpoint says what every table's capacity is"
        return Sent(
            scenario=scenario,
            named=f"the {requests_in(rows)} requests of this test to {name}, {requests_per_s:,g} a second",
            seed=scenario.seed,
            traffic=lambda: sent_steadily(rows, requests_per_s, seconds),
            ours=False,
        )

    def assert_no_hot_partition(
        self,
        *,
        requests_per_s: float,
        table: str | None = None,
        seconds: int = SECONDS,
        **chances: Unpack[Chances],
    ) -> None:
        """No partition's limit is met if what was sent were sent so many times a second."""
        __tracebackhide__ = True
        assert_no_hot_partition(self.sent(requests_per_s, table=table, seconds=seconds), **chances)

    def assert_no_throttles(
        self, *, table: str | None = None, at_most: float = 0.0, show_keys: bool = False
    ) -> None:
        """No request was throttled, or at most a share of them: of one table, or of all, deleted ones too."""
        __tracebackhide__ = True
        require_share(at_most)
        if table is not None and not self.recorded(table):
            raise ValueError(f"table {table} was asked for nothing; asked were: {self._asked_in_words()}")
        for name in [table] if table else self._asked_tables():
            rows = self.recorded(name)
            if throttled_in(rows) > at_most * requests_in(rows):
                raise CheckFailed(_counted(name, rows, at_most, show_keys=show_keys))

    def _asked_tables(self) -> list[str]:
        return [name for name, rows in self._recorded().items() if less(rows, self._rows.get(name, ()))]

    def _only_one(self) -> str:
        names = self._asked_tables()
        if len(names) != 1:
            raise ValueError(f"which table? Name one with table=; asked were: {self._asked_in_words()}")
        return names[0]

    def _asked_in_words(self) -> str:
        return ", ".join(self._asked_tables()) or "none"

    def _recorded(self) -> dict[str, tuple[Row, ...]]:
        return {name: tuple(rows) for name, rows in self._page("recorded").items()}

    def _described(self, table: str) -> dict[str, Any]:
        return dict(self._ask("DescribeTable", {"TableName": table})["Table"])

    def _page(self, name: str) -> Any:
        return self._opened(urllib.request.Request(f"{self.url}/_keyheat/{name}"))

    def _ask(self, operation: str, request: Mapping[str, Any]) -> Any:
        self._requests[operation] += 1
        asked = urllib.request.Request(
            self.url,
            json.dumps(request).encode(),
            {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Authorization": SIGNED},
        )
        return self._opened(asked)

    def _opened(self, asked: urllib.request.Request) -> Any:
        """What the endpoint answers; no proxy stands between."""
        straight = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with straight.open(asked, timeout=TIMEOUT_S) as answer:
            return json.load(answer)


def _past_proxies(url: str) -> str:
    """The hosts that no proxy is asked for, and this one."""
    others = os.environ.get("no_proxy") or os.environ.get("NO_PROXY")
    return ",".join(filter(None, [others, urlsplit(url).hostname]))


def _counted(table: str, rows: tuple[Row, ...], at_most: float, *, show_keys: bool) -> str:
    """The failure of a check of requests that were really sent."""
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons.update(row["refused"])
    ((first, _count), *_) = reasons.most_common()
    parsed = parse_reason(first)
    assert parsed is not None, "the endpoint uses DynamoDB's words"
    constraint, action = CONSTRAINTS[parsed[2]]
    hottest = max(rows, key=lambda row: row["refused"].get(first, 0))
    throttled, asked = throttled_in(rows), requests_in(rows)
    share = percent(throttled / asked)
    return text_of(
        f"{constraint}: {share} of {whole(asked)} requests to {table} met {LIMITS[constraint]}.",
        [
            ("check", f"at most {percent(at_most)} throttled" if at_most else "no throttles"),
            ("of", "the requests that this test sent to the local endpoint; SDKs retry, so it may not show"),
            ("throttled", ", ".join(f"{whole(count)} x {reason}" for reason, count in reasons.most_common())),
            ("hottest key", _key(hottest, show_keys=show_keys)),
            ("what to do", f"{title_of(action)}. assert_no_hot_partition(requests_per_s=...) says how far."),
            ("how sure", "the endpoint's own reason for every refusal"),
        ],
    )


def _key(row: Row, *, show_keys: bool) -> str:
    name = row["name"]
    if name is None:
        return f"the one at {row['key']}, whose item is gone"
    return key_name(digest_of(name), name if show_keys else None)
