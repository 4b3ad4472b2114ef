"""Two runs on one table: the second is refused, or both know of it; nobody deletes what another uses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest

from keyheat.load.guard.options import Guards
from keyheat.load.tables.claims import CLAIM_S, LOCAL_CLAIM_S, Claim, claims_in
from keyheat.load.tables.lifecycle import RunTables
from keyheat.load.tables.ownership import TableRefused
from keyheat.load.transport.target import Target, target_at
from tests.load.tables.conftest import ELSEWHERE, Account, ours, refuses, replacing
from tests.load.tables.test_prepare import look
from tests.make import a_spec

HERE = target_at("http://127.0.0.1:8000")
HOUR_S = 3600.0


@dataclass(slots=True)
class Somebody:
    """A run of somebody's, and what they are told."""

    account: Account
    run_id: str
    share: bool = False
    target: Target = ELSEWHERE
    lasts_s: float = HOUR_S
    client: Any = None
    keep: bool = False
    alone: bool = False
    foreign: tuple[str, ...] = ()
    said: list[str] = field(default_factory=list)
    tables: RunTables = field(init=False)

    def __post_init__(self) -> None:
        guards = Guards(share=self.share, allow_table=self.foreign, keep_table=self.keep)
        self.tables = RunTables(
            target=self.target, run_id=self.run_id, guards=guards, lasts_s=self.lasts_s,
            alone=self.alone, say=self.said.append, sleep=self.account.sleep, now_s=self.account.now_s,
            connect=lambda _target: self.client or self.account.ddb,
        )  # fmt: skip

    def begins(self) -> "Somebody":
        self.tables.prepare(a_spec())
        return self

    def ends(self) -> None:
        self.tables.leave()

    def met(self) -> list[str]:
        return [other["run"] for other in self.tables.company()[0]]


def live(account: Account) -> list[str]:
    return sorted(lease.run for lease in claims_in(account.tags("made")))


def at(moment_s: float) -> datetime:
    return datetime.fromtimestamp(moment_s, UTC)


def test_a_table_that_another_run_loads_is_refused_before_and_at_the_start(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ann")
    Somebody(account, "run-1").begins()
    who = r"run run-1 of ann is loading it, until 20\d\d-[-:T0-9]*Z at the latest.*--share"
    with pytest.raises(TableRefused, match=who):
        look(account, "made")
    with pytest.raises(TableRefused, match=who):
        Somebody(account, "run-2").begins()
    assert live(account) == ["run-1"], "who is refused leaves nothing behind"
    look(account, "made", share=True)


def test_a_run_that_is_over_is_in_nobodys_way(account: Account) -> None:
    Somebody(account, "run-1", keep=True).begins().ends()
    assert live(account) == []
    second = Somebody(account, "run-2").begins()
    assert live(account) == ["run-2"]
    assert second.tables.company()[0] == []
    second.ends()
    assert live(account) == []


def test_who_shares_a_table_is_known_to_both_whoever_ends_first() -> None:
    account = ours()
    first = Somebody(account, "run-1").begins()
    second = Somebody(account, "run-2", share=True).begins()
    assert "table made is shared: run run-1 of " in second.said[0]
    account.sleep(10)
    assert (first.met(), second.met()) == (["run-2"], ["run-1"])
    second.ends()
    account.sleep(10)
    assert first.met() == ["run-2"], "it is over, and was there"
    first.ends()
    assert account.names() == []


def test_a_table_is_not_deleted_under_a_run_that_shares_it() -> None:
    account = ours()
    first = Somebody(account, "run-1").begins()
    second = Somebody(account, "run-2", share=True).begins()
    account.sleep(10)
    first.ends()
    assert account.names() == ["made"]
    assert "is not deleted: run run-2 of " in first.said[-1]
    account.sleep(10)
    assert second.met() == ["run-1"]
    second.ends()
    assert (account.names(), live(account)) == (["made"], []), "the last one takes all tags away"
    third = Somebody(account, "run-3").begins()
    account.sleep(1)
    assert third.met() == []


@pytest.mark.slow
@pytest.mark.parametrize(("lasts_s", "gone_s"), [(HOUR_S, HOUR_S + CLAIM_S), (0.0, CLAIM_S)])
def test_a_run_that_was_killed_blocks_its_table_no_longer_than_it_said(lasts_s: float, gone_s: float) -> None:
    account = ours()
    began_s = account.now_s()
    Somebody(account, "run-1", lasts_s=lasts_s).begins()
    account.sleep(began_s + gone_s - 1 - account.now_s())
    with pytest.raises(TableRefused):
        Somebody(account, "run-2").begins()
    account.sleep(2)
    Somebody(account, "run-2").begins()
    assert live(account) == ["run-2"]


def test_a_run_without_an_end_says_that_it_is_still_there() -> None:
    account = ours()
    first = Somebody(account, "run-1", lasts_s=0.0).begins()
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        account.sleep(seconds)
        if sum(slept) > 3 * CLAIM_S:
            raise KeyboardInterrupt

    first.tables.sleep = sleep
    with pytest.raises(KeyboardInterrupt):
        first.tables.keep_up()
    with pytest.raises(TableRefused):
        Somebody(account, "run-2").begins()
    assert max(slept) < CLAIM_S / 2


def test_of_two_that_come_at_once_the_same_one_stays_for_both() -> None:
    """Both write, and only then does either of them read."""
    account = ours()
    Somebody(account, "made-it", keep=True).begins().ends()
    later: list[TableRefused] = []

    def tag_resource(**request: Any) -> Any:
        account.ddb.tag_resource(**request)
        if later:
            return
        try:
            Somebody(account, "run-1", client=replacing(account.ddb, get_paginator=not_yet())).begins()
        except TableRefused as refused:
            later.append(refused)

    def not_yet() -> Callable[..., Any]:
        """Its first two looks at the tags come too early to see the other's."""
        looks = iter(range(2))

        class Empty:
            def paginate(self, **request: Any) -> Any:
                pages = list(account.ddb.get_paginator("list_tags_of_resource").paginate(**request))
                if next(looks, None) is not None:
                    for page in pages:
                        page["Tags"] = [tag for tag in page["Tags"] if tag["Key"] != "keyheat-live-run-2"]
                return pages

        return lambda _name: Empty()

    first = Somebody(account, "run-2", client=replacing(account.ddb, tag_resource=tag_resource))
    first.tables.now_s = lambda: account.now_s() - 5  # it came first
    first.begins()
    assert len(later) == 1
    assert "run run-2 of " in str(later[0])


def test_only_times_that_overlap_are_company() -> None:
    def lease(since_s: int, until_s: int) -> Claim:
        return Claim(run="any", since=at(since_s), until=at(until_s))

    mine = lease(100, 200)
    leases = lease(0, 100), lease(200, 300), lease(0, 101), lease(199, 300)
    assert [other.overlaps(mine) for other in leases] == [
        False, False, True, True,
    ]  # fmt: skip
    assert Claim(run="unreadable").overlaps(mine)


@pytest.mark.parametrize(
    "value",
    ["", "soon", "/ ann", "0001-01-01T00:00:00+23:59/2099-01-01T00:00:00Z ann", "a/b/c d", "2099-01-01"],
)
def test_a_tag_that_cannot_be_read_counts_as_somebody(value: str) -> None:
    (lease,) = claims_in({"keyheat-live-x\x1b[2J": value, "team": "shop"})
    assert lease.until > at(2_000_000_000)
    assert "cannot be read" in lease.in_words()
    assert "\x1b" not in lease.in_words()


def test_somebody_elses_table_gets_no_tag_and_the_run_says_what_it_does_not_know(account: Account) -> None:
    Somebody(account, "run-1", keep=True).begins().ends()
    arn = account.describe("made")["TableArn"]
    account.ddb.untag_resource(ResourceArn=arn, TagKeys=list(account.tags("made")))
    later = Somebody(account, "run-2", foreign=("made",)).begins()
    assert account.tags("made") == {}
    (unknown,) = later.tables.company()[1]
    assert (
        "whether another run loaded table made at the same time is not known: Keyheat did not create it"
        in unknown
    )
    later.ends()
    assert later.said == []


@pytest.mark.parametrize(
    ("instead", "why"),
    [
        ({"tag_resource": refuses("TagResource")}, "the permission dynamodb:TagResource is missing"),
        (
            {"tag_resource": refuses("TagResource", "UnknownOperationException")},
            "this endpoint does not serve TagResource",
        ),
        ({"tag_resource": lambda **_request: {}}, "its tags do not say what this run wrote there"),
    ],
)
def test_where_a_run_cannot_tag_it_loads_and_says_so(instead: dict[str, Any], why: str) -> None:
    account = ours()
    Somebody(account, "run-1", keep=True).begins().ends()
    later = Somebody(account, "run-2", client=replacing(account.ddb, **instead)).begins()
    (unknown,) = later.tables.company()[1]
    assert unknown.endswith(f"is not known: {why}")
    later.ends()
    assert later.said == []


def test_a_tag_that_cannot_be_taken_away_is_said() -> None:
    account = ours()
    client = replacing(account.ddb, untag_resource=refuses("UntagResource"))
    first = Somebody(account, "run-1", keep=True, client=client).begins()
    (behind, held) = [*first.tables.left_behind(), ""][:2]
    assert "which this run made, is there, and costs" in behind
    assert held == ""
    first.ends()
    assert "(its tag keyheat-live-run-1); other runs are refused until then" in first.said[-1]


def test_a_table_on_this_machine_is_held_too_and_a_runs_own_endpoint_is_not() -> None:
    account = ours()
    first = Somebody(account, "run-1", target=HERE, lasts_s=0.0).begins()
    with pytest.raises(TableRefused, match="--share"):
        Somebody(account, "run-2", target=HERE).begins()
    account.sleep(LOCAL_CLAIM_S + 1)
    Somebody(account, "run-2", target=HERE).begins().ends()
    first.ends()
    assert (account.names(), live(account)) == (["made"], [])
    Somebody(account, "run-3", target=HERE, alone=True).begins()
    assert live(account) == []


def test_who_was_first_is_the_same_for_everybody() -> None:
    early, late = at(1_800_000_000), at(1_800_000_001)
    leases = [Claim(run="a", since=late, until=late), Claim(run="b", since=early, until=late), Claim(run="c")]
    for one, other in permutations(leases, 2):
        assert one.before(other) is not other.before(one)
    assert Claim(run="a", since=early, until=late).before(Claim(run="b", since=early, until=late))


def test_a_tag_is_read_as_it_was_written() -> None:
    since = at(1_800_000_000)
    lease = Claim(run="run-1", owner="ann b", since=since, until=since + timedelta(hours=1))
    tag = lease.tag()
    assert claims_in({tag["Key"]: tag["Value"]}) == [lease]
