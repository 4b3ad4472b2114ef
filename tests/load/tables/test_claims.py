"""Two runs on one table: the second is refused, or both know of it; nobody deletes what another uses."""

from datetime import UTC, datetime
from typing import Any

import pytest

from keyheat.load.options import TableRefused
from keyheat.load.tables.ownership import CLAIM_S, LIVE, LOCAL_CLAIM_S, claim_in_words, live_in
from keyheat.load.transport.target import target_at
from tests.load.tables.conftest import HOUR_S, Account, ours, refuses, run_of
from tests.load.tables.test_prepare import look

HERE = target_at("http://127.0.0.1:8000")


def live(account: Account) -> list[str]:
    return sorted(key.removeprefix(LIVE) for key in account.tags("made") if key.startswith(LIVE))


def at(moment_s: float) -> datetime:
    return datetime.fromtimestamp(moment_s, UTC)


def test_a_table_that_another_run_loads_is_refused_before_and_at_the_start(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "ann")
    run_of(account, "run-1").begins()
    who = r"run run-1 of ann is loading it, until 20\d\d-[-:T0-9]*Z at the latest.*--share"
    with pytest.raises(TableRefused, match=who):
        look(account, "made")
    with pytest.raises(TableRefused, match=who):
        run_of(account, "run-2").begins()
    assert live(account) == ["run-1"], "who is refused leaves nothing behind"
    look(account, "made", share=True)


def test_who_shares_a_table_is_known_to_both_and_it_is_not_deleted_under_either() -> None:
    account = ours()
    first = run_of(account, "run-1").begins()
    second = run_of(account, "run-2", share=True).begins()
    assert "table made is shared: run run-1 of " in second.lines[0]
    account.sleep(10)
    assert first.met() == ["run-2"]
    first.leave()
    assert account.names() == ["made"]
    assert "is not deleted: run run-2 of " in first.lines[-1]
    account.sleep(10)
    assert second.met() == ["run-1"], "it is over, and was there"
    late = run_of(account, "run-3", share=True).begins()
    account.sleep(1)
    assert late.met() == ["run-2"], "the first one had gone"
    late.leave()
    second.leave()
    assert (account.names(), live(account)) == (["made"], []), "the last one takes all tags away"
    last = run_of(account, "run-4").begins()
    account.sleep(1)
    assert last.met() == []


@pytest.mark.slow
@pytest.mark.parametrize(("lasts_s", "gone_s"), [(HOUR_S, HOUR_S + CLAIM_S), (0.0, CLAIM_S)])
def test_a_run_that_was_killed_blocks_its_table_no_longer_than_it_said(lasts_s: float, gone_s: float) -> None:
    account = ours()
    began_s = account.now_s()
    run_of(account, "run-1", lasts_s=lasts_s).begins()
    account.sleep(began_s + gone_s - 1 - account.now_s())
    with pytest.raises(TableRefused):
        run_of(account, "run-2").begins()
    account.sleep(2)
    second = run_of(account, "run-2").begins()
    assert second.met() == []
    second.leave()
    assert live(account) == []


def test_a_run_without_an_end_says_that_it_is_still_there() -> None:
    account = ours()
    first = run_of(account, "run-1", lasts_s=0.0).begins()
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        account.sleep(seconds)
        if sum(slept) > 3 * CLAIM_S:
            raise KeyboardInterrupt

    first.sleep = sleep
    with pytest.raises(KeyboardInterrupt):
        first.keep_up()
    with pytest.raises(TableRefused):
        run_of(account, "run-2").begins()
    assert max(slept) <= CLAIM_S / 2


def test_two_that_come_at_once_both_load_and_say_so_when_they_end() -> None:
    """Both have seen nobody there, and both write: tags have no conditions."""
    account = ours()
    run_of(account, "made-it", keep_table=True).begins().leave()
    second = run_of(account, "run-2")

    def tag_resource(**request: Any) -> None:
        second.begins()
        account.ddb.tag_resource(**request)

    first = run_of(account, "run-1", instead={"tag_resource": tag_resource}).begins()
    assert (first.met(), second.met()) == (["run-2"], ["run-1"])


@pytest.mark.parametrize("value", ["", "0001-01-01T00:00:00+23:59/2099-01-01T00:00:00Z ann", "a/b/c d"])
def test_a_tag_that_cannot_be_read_counts_as_somebody(value: str) -> None:
    (claim,) = live_in("made", {"keyheat-live-x\x1b[2J": value, "team": "shop"}, at(2_000_000_000))
    assert "cannot be read" in claim_in_words(claim)
    assert "\x1b" not in claim_in_words(claim)


def test_somebody_elses_table_gets_no_tag_and_the_run_says_what_it_does_not_know(account: Account) -> None:
    run_of(account, "run-1", keep_table=True).begins().leave()
    arn = account.describe("made")["TableArn"]
    account.ddb.untag_resource(ResourceArn=arn, TagKeys=list(account.tags("made")))
    later = run_of(account, "run-2", allow_table=("made",)).begins()
    assert account.tags("made") == {}
    (unknown,) = later.company()[1]
    why = "whether another run loaded table made at the same time is not known: Keyheat did not create it"
    assert why in unknown
    later.leave()
    assert later.lines == []


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
    run_of(account, "run-1", keep_table=True).begins().leave()
    later = run_of(account, "run-2", instead=instead).begins()
    (unknown,) = later.company()[1]
    assert unknown.endswith(f"is not known: {why}")
    later.leave()
    assert later.lines == []


def test_a_tag_that_cannot_be_taken_away_is_said() -> None:
    account = ours()
    instead = {"untag_resource": refuses("UntagResource")}
    first = run_of(account, "run-1", keep_table=True, instead=instead).begins()
    (behind,) = first.left_behind()
    assert "which this run made, is there, and costs" in behind
    first.leave()
    assert "(its tag keyheat-live-run-1); other runs are refused until then" in first.lines[-1]


def test_a_table_on_this_machine_is_held_too_and_a_runs_own_endpoint_is_not() -> None:
    account = ours()
    first = run_of(account, "run-1", target=HERE, lasts_s=0.0).begins()
    with pytest.raises(TableRefused, match="--share"):
        run_of(account, "run-2", target=HERE).begins()
    account.sleep(LOCAL_CLAIM_S + 1)
    run_of(account, "run-2", target=HERE).begins().leave()
    first.leave()
    assert (account.names(), live(account)) == (["made"], [])
    run_of(account, "run-3", target=HERE, alone=True).begins()
    assert live(account) == []
