"""docs/endpoints.md says of each endpoint what the probe sees of it: those that others wrote, and ours."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

import pytest

from keyheat.endpoint.process import EndpointProcess
from keyheat.load.probe.capacity import BurstBounds
from keyheat.load.probe.probe import known, probe
from keyheat.load.probe.table import asked
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import target_at
from keyheat.runs.capabilities import QUESTIONS, WHOSE_UNITS
from tests.load.probe.endpoints import dynalite, dynoxide, moto
from tests.outside import eventually

PAGE = (Path(__file__).parents[3] / "docs" / "endpoints.md").read_text(encoding="utf-8")
FEW = BurstBounds(seconds=60, least_units=100)  # large items: as many units in fewer requests

at_night = partial(pytest.param, marks=pytest.mark.nightly)


@contextmanager
def ours() -> Iterator[str]:
    """Our endpoint, which is probed here as if it were not known."""
    with EndpointProcess.start() as process:
        yield process.url


def column(name: str) -> dict[str, str]:
    """One endpoint's column of the page's table, by capability."""
    lines = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line] for line in lines]
    head, *rest = rows
    place = next(number for number, words in enumerate(head) if words.startswith(name))
    by_words = {row[0]: row[place] for row in rest if len(row) == len(head)}
    return {name: by_words[words].split()[0].strip(",:") for name, words in QUESTIONS.items()}


@pytest.mark.opens
@pytest.mark.parametrize(
    ("name", "start"),
    [
        at_night("moto", moto),
        at_night("dynalite", dynalite),
        at_night("dynoxide", dynoxide),
        ("`keyheat local`", ours),
    ],
)
def test_the_page_is_right(name: str, start: Callable[[], AbstractContextManager[str]]) -> None:
    said: list[str] = []
    with start() as url:
        target = target_at(url)
        with asked(target) as endpoint:
            found = probe(endpoint, "of-the-page", said.append, FEW)
        client = make_client(target)
        eventually(lambda: not client.list_tables()["TableNames"])  # dynalite takes its time
        client.close()
        assert (known(target) is not None) == (name == "`keyheat local`")
    assert {name: found.of(name).answer for name in QUESTIONS} == column(name)
    assert said == []
    assert found.latency_ms is not None


def test_every_capability_of_the_page_is_one() -> None:
    assert column("moto").keys() == QUESTIONS.keys() >= WHOSE_UNITS.keys()
