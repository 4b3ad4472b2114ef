"""A host that only a file names: somebody on a terminal is asked about it, and nobody else can agree."""

from pathlib import Path

import pytest

from keyheat.addresses import UnknownEndpoint, endpoint_of
from keyheat.cli.guards import SafetyRefusal, at_known_endpoint

URL = "http://collector.example:8000"


def asked_at(given: str | None) -> str | None:
    return endpoint_of(URL, given, file="run.json", option="--endpoint-url")


def test_what_somebody_gives_goes_before_the_file() -> None:
    assert at_known_endpoint(asked_at, "http://other.example") == "http://other.example"
    assert endpoint_of("http://127.0.0.1:1", None, file="run.json", option="--o") == "http://127.0.0.1:1"
    assert endpoint_of(None, None, file="run.json", option="--o") is None


def test_nobody_there_is_a_refusal() -> None:
    with pytest.raises(SafetyRefusal, match="say --endpoint-url"):
        at_known_endpoint(asked_at, None, person=lambda: None)


@pytest.mark.parametrize("answer", ["n", "", "no"])
def test_a_no_is_a_refusal(answer: str) -> None:
    with pytest.raises(SafetyRefusal, match="no request was sent"):
        at_known_endpoint(asked_at, None, person=lambda: lambda _question: answer)


def test_a_yes_is_enough() -> None:
    assert at_known_endpoint(asked_at, None, person=lambda: lambda _question: "y") == URL


def test_a_name_of_this_machine_that_a_file_gives_is_asked_about() -> None:
    """What it leads to is somebody's answer, and may be another one when it is asked."""
    with pytest.raises(UnknownEndpoint):
        endpoint_of("http://tables.localhost:8000", None, file="run.json", option="--endpoint-url")


def test_what_a_file_names_is_shown_plainly() -> None:
    with pytest.raises(UnknownEndpoint) as caught:
        endpoint_of(
            f"http://\x1b[2J{'x' * 10_000}", None, file=str(Path("run.json")), option="--endpoint-url"
        )
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 600
