"""A plan as a person reads it, and as a program does."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from reports.plan import picture, plan_json, plan_text
from tablemodel.forecast import Forecast, forecast
from tablemodel.prices import load_prices
from tablemodel.scenario import Scenario, load_scenario, parse_scenario

SCENARIOS = Path(__file__).parents[2] / "configs" / "scenarios"
SINE = 'duration_s = 50\nshape = { kind = "sine", low_per_s = 0, high_per_s = 3_000, period_s = 50 }'


def planned(name: str, load: str = "duration_s = 50") -> tuple[Scenario, Forecast]:
    text = (SCENARIOS / f"{name}.toml").read_text()
    assert "duration_s = 50" in text
    scenario = parse_scenario(text.replace("duration_s = 50", load), name)
    return scenario, forecast(scenario, load_prices(), margin=1.5)


def said(scenario: Scenario, plan: Forecast) -> str:
    console = Console(width=80, file=StringIO())
    console.print(plan_text(scenario, plan))
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_every_shipped_scenario_has_a_plan_within_80_columns() -> None:
    for path in sorted(SCENARIOS.glob("*.toml")):
        scenario = load_scenario(path)
        text = said(scenario, forecast(scenario, load_prices(), margin=1.5, folder=path.parent))
        assert max(map(len, text.splitlines())) <= 80, path
        assert "Dollars" in text


def test_the_hot_key_is_said_with_what_will_come_of_it() -> None:
    text = " ".join(said(*planned("hotkey")).split())
    assert "90 % of the load, 1,800 WCU/s at the peak" in text
    assert "sustains 1,000 WCU/s: it takes 180 % of that" in text
    assert "ceil(1,800 / 1,000) = 2; with a margin of 1.5: 3" in text
    assert "expect throttles with the constraint partition" in text
    assert "expect the constraint table" in " ".join(said(*planned("too-small")).split())
    assert "expect" not in said(*planned("sharded"))


def columns(lines: list[str]) -> list[int]:
    """How many rows are filled at each place of a picture, its axis left out."""
    canvas = [line for line in lines if "┬" not in line][:-1]
    left = max(line.find(" ") for line in canvas) + 1
    width = max(map(len, canvas))
    filled = [[not char.isspace() for char in line.ljust(width)[left:]] for line in canvas]
    return [sum(column) for column in zip(*filled, strict=True)]


def test_the_picture_rises_and_falls_with_the_load() -> None:
    _scenario, plan = planned("hotkey", SINE)
    heights = columns(picture(plan).splitlines())
    middle = len(heights) // 2
    assert heights[: middle - 2] == sorted(heights[: middle - 2])
    assert heights[middle + 2 :] == sorted(heights[middle + 2 :], reverse=True)
    assert heights[middle] >= 8 > heights[middle // 2] > heights[2]


def test_a_constant_load_fills_the_picture_evenly() -> None:
    heights = columns(picture(planned("hotkey")[1]).splitlines())
    assert len(set(heights[1:-1])) == 1


def test_two_pictures_do_not_draw_over_one_another() -> None:
    plan = planned("hotkey")[1]
    assert picture(plan) == picture(plan)


def test_mean_and_peak_stand_above_the_picture() -> None:
    assert "1,500 on average, 3,000 at the peak" in said(*planned("hotkey", SINE))


def test_the_plan_as_plain_values_survives_json() -> None:
    content = json.loads(json.dumps(plan_json(*planned("sharded"))))
    assert content["format"] == "keyheat.plan/1"
    assert content["write_units"] == {"mean_per_s": 2_000, "peak_per_s": 2_000, "total": 100_000}
    assert content["hot_key"]["shards_by_formula"] == 2
    assert content["hot_key"]["shard_units_per_s"] == 90
    assert content["load"] == [{"at_s": 0, "per_s": 2_000}, {"at_s": 50, "per_s": 2_000}]
    assert content["dollars"]["on_demand"] == pytest.approx(0.0625)
