"""What is concluded from what comes back, and that the probe leaves nothing behind."""

from collections.abc import Callable
from typing import Any

import pytest

from keyheat.load.probe.capacity import BurstBounds, throttling
from keyheat.load.probe.probe import probe
from keyheat.load.probe.table import PREFIX, DoesNotAnswer
from keyheat.load.transport.answer import Answer
from keyheat.runs.capabilities import QUESTIONS, Capabilities
from tests.load.probe.made_up import REASON, MadeUp, ok, refused


def probed(endpoint: MadeUp, said: list[str] | None = None) -> Capabilities:
    return probe(endpoint.asked(), "one", (said if said is not None else []).append)


def answer_of(found: Capabilities, name: str) -> tuple[str, str]:
    return found.of(name).answer, found.of(name).seen


@pytest.mark.parametrize(
    ("endpoint", "throttles", "reasons"),
    [
        (MadeUp(), ("no", "it took 6,000 write units in 0.6 s on a table of 1 per second"), "unknown"),
        (
            MadeUp(burst_requests=20),
            (
                "yes",
                "ProvisionedThroughputExceededException after 320 write units in 0.0 s",
            ),
            "yes",
        ),
        (
            MadeUp(burst_requests=20, reasons=False),
            ("yes", "ProvisionedThroughputExceededException after"),
            "no",
        ),
        (
            MadeUp(latency_s=0.5),
            (
                "unknown",
                "only 1,000 write units in 5.0 s on a table of 1 per second were sent, which a burst",
            ),
            "unknown",
        ),
    ],
)
def test_whether_it_throttles(endpoint: MadeUp, throttles: tuple[str, str], reasons: str) -> None:
    """Four puts go before the burst, to see their units."""
    found = probed(endpoint)
    answer, seen = answer_of(found, "throttles")
    assert (answer, seen[: len(throttles[1])]) == throttles
    assert found.of("reasons").answer == reasons
    assert found.never_throttles == (answer == "no")


def test_a_reason_is_told_without_the_resources_name() -> None:
    found = probed(MadeUp(burst_requests=20))
    assert answer_of(found, "reasons") == ("yes", f"{REASON}, with the resource's ARN")


def test_a_burst_that_ends_in_an_error_tells_nothing() -> None:
    endpoint = MadeUp(answers={"PutItem": lambda _content: refused("ValidationException")})
    assert answer_of(probed(endpoint), "throttles") == ("unknown", "the burst ended with ValidationException")


def test_a_burst_is_bounded() -> None:
    endpoint = MadeUp(latency_s=0)
    throttling(endpoint.asked(), "t", 0, BurstBounds(requests=7))
    assert endpoint.puts == 7
    endpoint = MadeUp(latency_s=1)
    throttling(endpoint.asked(), "t", 1, BurstBounds(seconds=3))
    assert endpoint.puts == 3


def test_the_table_is_its_own_tagged_and_deleted() -> None:
    endpoint = MadeUp()
    probed(endpoint)
    tables = {content["TableName"] for _, content in endpoint.sent if "TableName" in content}
    assert tables == {f"{PREFIX}one"}
    created = dict(endpoint.sent)["CreateTable"]
    assert {tag["Key"] for tag in created["Tags"]} == {"keyheat", "keyheat-owner", "keyheat-expires"}
    assert endpoint.names()[-1] == "DeleteTable"


@pytest.mark.parametrize(
    "operation", ["CreateTable", "DescribeTable", "PutItem", "DescribeContributorInsights"]
)
@pytest.mark.parametrize("broken", [KeyboardInterrupt, OSError])
def test_the_table_is_deleted_whatever_happens(operation: str, broken: type[BaseException]) -> None:
    def interrupted(_content: Any) -> Answer:
        raise broken

    endpoint = MadeUp(answers={operation: interrupted})
    with pytest.raises(broken):
        probed(endpoint)
    assert endpoint.names()[-1] == "DeleteTable"


def test_a_table_that_is_still_being_made_is_deleted_once_it_lets_itself() -> None:
    answers = iter([refused("ResourceInUseException")] * 3 + [ok()])
    endpoint, said = MadeUp(answers={"DeleteTable": lambda _content: next(answers)}), list[str]()
    probed(endpoint, said)
    assert endpoint.names()[-4:] == ["DeleteTable"] * 4
    assert said == []


def test_a_table_that_stays_is_said() -> None:
    said: list[str] = []
    probed(MadeUp(answers={"DeleteTable": lambda _content: refused("AccessDeniedException")}), said)
    assert said == [
        f"table {PREFIX}one of the probe stays at http://made.up: AccessDeniedException. Delete it"
    ]


def test_without_a_table_only_what_needs_none_is_known() -> None:
    endpoint = MadeUp(
        answers={"CreateTable": lambda _content: refused("AccessDeniedException", message="no")}
    )
    found = probed(endpoint)
    assert answer_of(found, "streams") == ("yes", "ListStreams answers")
    why = "the probe's table could not be made: AccessDeniedException: no"
    assert answer_of(found, "throttles") == ("unknown", why)
    assert "DeleteTable" not in endpoint.names()
    assert found.findings.keys() == QUESTIONS.keys()


def test_tags_that_are_refused_are_left_out() -> None:
    def create(content: Any) -> Answer:
        return refused("ValidationException") if "Tags" in content else ok()

    assert answer_of(probed(MadeUp(answers={"CreateTable": create})), "tags") == (
        "no", "CreateTable refused tags",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda _content: Answer(404, b"<html>", 0), "does not answer as DynamoDB does: .* HTTP 404"),
        (lambda _content: Answer(0, b"", 0, failure="timeout"), "does not answer CreateTable: timeout"),
    ],
)
def test_what_is_no_dynamodb_is_said(answer: Callable[[Any], Answer], said: str) -> None:
    with pytest.raises(DoesNotAnswer, match=said):
        probed(MadeUp(answers={"CreateTable": answer}))


def test_a_table_that_never_becomes_active_is_given_up_and_deleted() -> None:
    creating = {"DescribeTable": lambda _content: ok(Table={"TableStatus": "CREATING"})}
    endpoint = MadeUp(answers=creating)
    assert "was not active within 60 s" in probed(endpoint).of("throttles").seen
    assert endpoint.names()[-1] == "DeleteTable"


def test_services_that_are_not_served() -> None:
    found = probed(MadeUp(served={"dynamodb"}))
    for name in ("cloudwatch", "streams"):
        assert answer_of(found, name) == ("no", "not served: UnknownOperationException")


@pytest.mark.parametrize(
    ("headers", "product", "ahead_s"),
    [
        ({}, "does not say what it is", None),
        ({"server": "Thing/1.0", "date": "no date"}, "calls itself Thing/1.0", None),
        ({"date": "Thu, 19 Nov 2026 12:00:00 GMT"}, "does not say what it is", pytest.approx(30, abs=1)),
    ],
)
def test_what_it_says_of_itself(headers: dict[str, str], product: str, ahead_s: float | None) -> None:
    found = probed(MadeUp(headers=headers, now_s=1_795_089_570.5))
    assert (found.product, found.clock_ahead_s) == (product, ahead_s)
