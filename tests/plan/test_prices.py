"""Dollars from units and hours, by a price list with its region and date."""

from pathlib import Path

import pytest

from keyheat.plan.prices import DEFAULT, load_prices
from keyheat.runfiles import FileProblem


def test_the_shipped_list_says_where_and_when_it_holds_and_where_it_is_from() -> None:
    prices = load_prices()
    assert prices.title == "list prices of us-east-1, 2026-08-13"
    assert all(source.startswith("https://") for source in prices.sources)
    assert prices.sources


def test_a_list_of_capacity_alone_is_still_one(tmp_path: Path) -> None:
    text = DEFAULT.read_text()
    path = tmp_path / "mine.toml"
    path.write_text(text[: text.index("# Pre-warming")])
    prices = load_prices(path)
    assert (prices.warm, prices.streams, prices.cloudwatch, prices.contributor_insights) == (None,) * 4


WRONG = {
    "no date": ("as_of = 2026-08-13", "", "missing @ $.as_of"),
    "another version": ("prices/1", "prices/2", "$.format"),
    "not TOML": ("[provisioned]", "[provisioned", "is not TOML"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_a_list_with_a_mistake_is_refused(tmp_path: Path, mistake: str) -> None:
    old, new, words = WRONG[mistake]
    text = DEFAULT.read_text()
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(FileProblem) as problem:
        load_prices(path)
    assert words in str(problem.value)
