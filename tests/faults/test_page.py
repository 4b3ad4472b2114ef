"""The table of docs/faults.md: every kind is there, and is sent again or not as it says."""

import re
from pathlib import Path

import pytest

from keyheat.load.transport.answer import Answer
from keyheat.load.transport.boto import SdkRetries
from keyheat.load.transport.failures import (
    BAD_HTTP,
    CREDENTIALS,
    CUT_OFF,
    DAMAGED,
    KINDS,
    NO_UNITS,
    NOT_AN_ANSWER,
)
from keyheat.load.transport.retries import RetriedCall
from keyheat.words import THROTTLE_CODES
from tests.faults.account import KILLED
from tests.faults.kinds import FAULTS

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
JUDGED = {NOT_AN_ANSWER, NO_UNITS}
OF_TRANSPORTS = {kind for _type, kind in KINDS} | {BAD_HTTP, CREDENTIALS, CUT_OFF, DAMAGED}
OF_SERVICES = {  # an answer for each kind of the page that is one
    **{f"HTTP{status}": Answer(status, b"", 0.0) for status in (500, 502, 503, 504)},
    "InternalServerError": Answer(500, b'{"__type":"a#InternalServerError"}', 0.0),
    "ServiceUnavailable": Answer(503, b'{"__type":"a#ServiceUnavailable"}', 0.0),
    **{
        code: Answer(400, b'{"__type":"a#%b"}' % code.encode(), 0.0)
        for code in (
            "ExpiredTokenException",
            "UnrecognizedClientException",
            "InvalidSignatureException",
            "ValidationException",
            "ResourceNotFoundException",
        )
    },
}


def rows() -> dict[str, str]:
    """What the page says of each kind in the last column."""
    lines = re.findall(r"^\| (.*`.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    cells = [line.split(" | ") for line in lines]
    return {
        kind: row[3]
        for row in cells
        if len(row) == 4
        for kind in re.findall(r"`(\w+)`", row[0] if row[0].startswith("`") else row[1])
    }


SAID = rows()


def test_every_kind_is_on_the_page() -> None:
    seen = {fault.seen_as for fault in FAULTS.values() if fault.seen_as}
    assert OF_TRANSPORTS | JUDGED | set(OF_SERVICES) | {KILLED} | seen == set(SAID)
    assert all(f"`{code}`" in PAGE.read_text(encoding="utf-8") for code in THROTTLE_CODES)


@pytest.mark.parametrize("kind", sorted(SAID.keys() - {KILLED}))
def test_it_is_sent_again_or_not_as_the_page_says(kind: str, retries: SdkRetries) -> None:
    answer = OF_SERVICES.get(kind) or Answer(0, b"", 0.0, failure=kind)
    again = retries.delay_s(RetriedCall("PutItem"), answer) is not None
    assert again is (SAID[kind] == "yes")


@pytest.fixture(scope="module")
def retries() -> SdkRetries:
    return SdkRetries("us-east-1")
