"""A local endpoint as a test meets it: what the code under test sent, and whether it may be sent in earnest.

code under test --boto3--> endpoint (a process) --recorded--> counted: assert_no_throttles
                                                   '--1,000 times a second, simulated: every other check
"""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from types import TracebackType
from typing import Any, Final, Self, TypedDict, Unpack
from urllib.error import HTTPError
from urllib.parse import quote, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

import numpy as np

from keyheat.analysis.advice.replay import OPERATIONS, scenario_of_table
from keyheat.endpoint.tables.catalog import region_in
from keyheat.model.resources import Cause, parse_reason
from keyheat.numbers import percent, whole
from keyheat.runs.table_facts import table_facts
from keyheat.scenario.keys import digest_of
from keyheat.simulator.flow import Flow, IndexFlow, Recorded
from keyheat.simulator.masses import Masses
from keyheat.terms import CONFIDENCE
from keyheat.testing.checks import assert_no_hot_partition, require_share
from keyheat.testing.failure import CheckFailed, text_of
from keyheat.testing.subject import Chances, CheckedLoad
from keyheat.words import LIMITS, Direction, key_name, title_of


class RecordedRow(TypedDict):
    """What was asked of one key in one kind of request; `entry`: not asked for, but put there by writes."""

    direction: Direction
    index: str | None
    eventual: bool
    entry: bool
    key: str  # the hash that places the key, in hex; empty: keys too many to tell apart
    name: str | None
    requests: int
    units: float
    refused: dict[str, int]


Rows = Sequence[RecordedRow]


def requests_in(rows: Rows) -> int:
    """Requests of clients, without the index entries of writes."""
    return sum(row["requests"] for row in rows if not row["entry"])


def throttled_in(rows: Rows) -> int:
    """Those of them that were refused."""
    return sum(sum(row["refused"].values()) for row in rows if not row["entry"])


def sent_steadily(rows: Rows, requests_per_s: float, seconds: int) -> Recorded:
    """The recorded requests in their proportions, at a total rate."""
    flows = tuple(_flows(rows, requests_per_s / requests_in(rows)))
    return Recorded([flows] * seconds)


def _flows(rows: Rows, times_per_s: float) -> Iterator[Flow]:
    """A flow for each kind of request, every recorded request being sent `times_per_s`."""
    kinds: dict[tuple[Direction, str | None, bool, bool], list[RecordedRow]] = {}
    for row in rows:
        kinds.setdefault((row["direction"], row["index"], row["eventual"], row["entry"]), []).append(row)
    entries = {index: of for (_side, index, _eventual, entry), of in kinds.items() if entry and index}
    for (side, index, eventual, entry), mine in kinds.items():
        if entry:
            continue
        count = requests_in(mine)
        yield Flow(
            operation=OPERATIONS[side],
            direction=Direction(side),
            requests=count * times_per_s,
            units=_units(mine) / count,
            keys=_masses(mine),
            index=index,
            eventual=eventual,
            index_writes=tuple(
                IndexFlow(index=name, units=_units(of) / count, keys=_masses(of))
                for name, of in (entries.items() if side == "write" else ())
            ),
        )


def _masses(rows: Rows) -> Masses:
    """Where the units fall; those of keys too many to tell apart fall evenly."""
    total = _units(rows)
    named = sorted((row for row in rows if row["key"]), key=lambda row: row["key"])
    shares = np.array([row["units"] for row in named], np.float64) / total
    names = [row["name"] or f"the key at {row['key']}" for row in named]
    return Masses(
        points=np.array([int(row["key"], 16) for row in named], np.uint64),
        shares=shares,
        even=max(0.0, 1.0 - float(shares.sum())) if len(named) < len(rows) else 0.0,
        name=names.__getitem__,
    )


def _units(rows: Rows) -> float:
    return sum(row["units"] for row in rows)


TIMEOUT_S: Final = 60.0
JSON: Final = {"Content-Type": "application/json"}


def call_endpoint(
    url: str, method: str = "GET", content: bytes | object = None, headers: Mapping[str, str] = JSON
) -> bytes:
    """What an endpoint answers, with no proxy between. Raises `ValueError` with the reason of a refusal."""
    body = content if content is None or isinstance(content, bytes) else json.dumps(content).encode()
    straight = build_opener(ProxyHandler({}))
    try:
        with straight.open(Request(url, body, dict(headers), method=method), timeout=TIMEOUT_S) as answer:
            response: bytes = answer.read()
            return response
    except HTTPError as refused:
        with refused:
            reason = json.load(refused)
        raise ValueError(reason.get("error") or reason["message"]) from None


@dataclass(slots=True)
class LocalFaults:
    """Rules that are set on an endpoint until the `with` block ends, or `clear` is called."""

    _url: str
    _ended: list[dict[str, Any]] | None = None

    def set(self, rules: Sequence[Mapping[str, Any]], seed: int) -> Self:
        """Set them, in the place of all others. Raises `ValueError` with everything that is wrong."""
        call_endpoint(self._url, "PUT", {"seed": seed, "rules": list(rules)})
        return self

    def clear(self) -> None:
        """Take them back, and keep what they did."""
        if self._ended is None:
            self._ended = json.loads(call_endpoint(self._url, "DELETE"))["rules"]

    def counts(self) -> list[dict[str, Any]]:
        """Each rule, how often it was `asked` about what it is for, and how often it `struck`."""
        if self._ended is not None:
            return self._ended
        return list(json.loads(call_endpoint(self._url))["rules"])

    def struck(self, name: str | None = None) -> int:
        return sum(rule["struck"] for rule in self.counts() if name in (None, rule["name"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()


REGION: Final = "us-east-1"
SECONDS: Final = 60
SIGNED: Final = "AWS4-HMAC-SHA256 Credential=local/20261124/{region}/dynamodb/aws4_request"
"""The endpoint asks that there be one, and for which Region."""
HOW_FAR: Final = "assert_no_hot_partition(requests_per_s=...) says how far."
ACTIONS: Final = {
    Cause.KEY_RANGE: "shard_writes",
    Cause.PROVISIONED: "raise_capacity",
    Cause.ACCOUNT: "raise_account_quota",
    Cause.MAX_ON_DEMAND: "raise_max_on_demand",
}


@dataclass(slots=True)
class LocalDynamoDB:
    """A running local endpoint that records; `begin` forgets what was recorded so far.

    A table is called by its name, one in another Region than the endpoint's own by its ARN.
    """

    url: str
    _requests: Counter[str] = field(default_factory=Counter, repr=False)  # of our own

    def begin(self) -> None:
        call_endpoint(self._url_of("recorded"), "DELETE")
        self._requests.clear()

    def environment(self) -> dict[str, str]:
        """Variables that send boto3, and every other AWS SDK, here and with no credentials of anybody's."""
        services = ("DYNAMODB", "DYNAMODB_STREAMS", "CLOUDWATCH")
        no_proxy = (os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), urlsplit(self.url).hostname)
        return {
            **{f"AWS_ENDPOINT_URL_{service}": self.url for service in services},
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            **dict.fromkeys(("NO_PROXY", "no_proxy"), ",".join(filter(None, no_proxy))),
        }

    def tables(self) -> tuple[str, ...]:
        """The tables that there are: by their names, those of other Regions by their ARNs."""
        return tuple(self._page("tables"))

    def faults(self, *rules: Mapping[str, Any], seed: int = 1, **rule: Any) -> LocalFaults:
        """Have requests meet faults from now on: by one rule in keywords, or by several.

        Rules have the fields of a file of rules, which docs/local-table.md explains. They end with the `with`
        block, or with the test. Raises `ValueError` with everything that is wrong.
        """
        return LocalFaults(self._url_of("faults")).set([*rules, rule] if rule else rules, seed)

    def advance(self, seconds: float) -> None:
        """Move the endpoint's time on: what it has saved up, splits and grows, and minutes of CloudWatch."""
        call_endpoint(self._url_of("advance"), "POST", {"seconds": seconds})

    def snapshot(self) -> bytes:
        """Every table and its items, to be kept in a file or given back."""
        return call_endpoint(self._url_of("snapshot"))

    def restore(self, snapshot: bytes) -> None:
        """Have what a snapshot has, and nothing else. Raises `ValueError` for one that is not whole."""
        call_endpoint(self._url_of("snapshot"), "PUT", snapshot)

    def clear(self) -> None:
        """Delete every table of every Region, protected ones too, and every rule of faults."""
        LocalFaults(self._url_of("faults")).clear()
        for name in self.tables():
            if self._described(name).get("DeletionProtectionEnabled"):
                self._ask("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
            self._ask("DeleteTable", {"TableName": name})

    def requests(self) -> dict[str, int]:
        """How often each operation was asked for, such as PutItem, whatever it was answered."""
        return dict(Counter(self._page("requests")) - self._requests)

    def decisions(self, table: str) -> list[dict[str, Any]]:
        """What a table admitted and refused, second by second, since it was created.

        Raises `ValueError` where there is no such table.
        """
        rows: list[dict[str, Any]] = self._page(f"decisions?table={quote(table)}")
        return rows

    def recorded(self, table: str) -> tuple[RecordedRow, ...]:
        return self._recorded().get(table, ())

    def sent(self, requests_per_s: float, *, table: str | None = None, seconds: int = SECONDS) -> CheckedLoad:
        """The requests to a table, in the same proportions at another rate, for a check.

        The table can be left out where only one was asked for anything. Raises `ValueError`.
        """
        if not 0 < requests_per_s < inf or seconds < 1:
            raise ValueError(f"a load has a rate and lasts: not {requests_per_s}/s for {seconds} s")
        used = self._used_tables()
        if table is None and len(used) != 1:
            raise ValueError(f"which table? Name one with table=; asked were: {', '.join(used) or 'none'}")
        name = table or used[0]
        rows = self.recorded(name)
        if not rows:
            raise ValueError(f"table {name} was asked for nothing; asked were: {', '.join(used) or 'none'}")
        if name not in self.tables():
            raise ValueError(f"table {name} is gone, and its capacity with it: check before it is deleted")
        scenario = scenario_of_table(table_facts(self._described(name)), seconds)
        assert scenario is not None, "the endpoint says what every table's capacity is"
        return CheckedLoad(
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
        """No partition limit is reached if the recorded requests were sent at this rate."""
        __tracebackhide__ = True
        assert_no_hot_partition(self.sent(requests_per_s, table=table, seconds=seconds), **chances)

    def assert_no_throttles(
        self, *, table: str | None = None, at_most: float = 0.0, show_keys: bool = False
    ) -> None:
        """No request was throttled, or at most a share of them: of one table, or of all, deleted ones too."""
        __tracebackhide__ = True
        require_share(at_most)
        used = self._used_tables()
        if table is not None and not self.recorded(table):
            raise ValueError(f"table {table} was asked for nothing; asked were: {', '.join(used) or 'none'}")
        for name in [table] if table else used:
            rows = self.recorded(name)
            if throttled_in(rows) > at_most * requests_in(rows):
                raise CheckFailed(_counted(name, rows, at_most, show_keys=show_keys))

    def _used_tables(self) -> list[str]:
        return [name for name, rows in self._recorded().items() if rows]

    def _recorded(self) -> dict[str, tuple[RecordedRow, ...]]:
        return {name: tuple(rows) for name, rows in self._page("recorded").items()}

    def _described(self, table: str) -> dict[str, Any]:
        return dict(self._ask("DescribeTable", {"TableName": table})["Table"])

    def _url_of(self, page: str) -> str:
        return f"{self.url}/_keyheat/{page}"

    def _page(self, name: str) -> Any:
        return json.loads(call_endpoint(self._url_of(name)))

    def _ask(self, operation: str, request: Mapping[str, Any]) -> Any:
        """Send a DynamoDB request about a table, to the Region of the table."""
        self._requests[operation] += 1
        region = region_in(request.get("TableName", "")) or ""
        headers = {
            "X-Amz-Target": f"DynamoDB_20120810.{operation}",
            "Authorization": SIGNED.format(region=region),
        }
        return json.loads(call_endpoint(self.url, "POST", request, headers))


def _counted(table: str, rows: tuple[RecordedRow, ...], at_most: float, *, show_keys: bool) -> str:
    """The failure of a check of requests that were really sent."""
    reasons: Counter[str] = Counter()
    for row in rows:
        reasons.update(row["refused"])
    ((first, _count), *_) = reasons.most_common()
    parsed = parse_reason(first)
    assert parsed is not None, "the endpoint uses DynamoDB's words"
    cause = parsed[2]
    hottest = max(rows, key=lambda row: row["refused"].get(first, 0))
    throttled, requests = throttled_in(rows), requests_in(rows)
    share = percent(throttled / requests)
    return text_of(
        f"{cause.constraint}: {share} of {whole(requests)} requests to {table} "
        f"met {LIMITS[cause.constraint]}.",
        [
            ("check", f"at most {percent(at_most)} throttled" if at_most else "no throttles"),
            ("of", "the requests that this test sent to the local endpoint; SDKs retry, so it may not show"),
            ("throttled", ", ".join(f"{whole(count)} x {reason}" for reason, count in reasons.most_common())),
            ("hottest key", _key(hottest, show_keys=show_keys)),
            ("what to do", f"{title_of(ACTIONS[cause])}. {HOW_FAR}"),
            (CONFIDENCE, "the endpoint's own reason for every refusal"),
        ],
    )


def _key(row: RecordedRow, *, show_keys: bool) -> str:
    name = row["name"]
    if name is None:
        return f"the one at {row['key']}, whose item is gone"
    return key_name(digest_of(name), name if show_keys else None)
