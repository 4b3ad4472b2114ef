"""A regress in a terminal: the verdict first, few lines, 80 columns."""

import pytest
from rich.console import Console

from keyheat.regression.outcome import Gate, SessionOutcome
from keyheat.regression.phrases import headline, relative, value
from keyheat.terminal.regression import regression_text
from tests.regression.outcomes import BROKEN, FORCED, GOOD, OUTCOMES, REGRESSED, a_finding, an_outcome


def lines_of(outcome: SessionOutcome, page: str | None = "out/regression.html") -> list[str]:
    console = Console(width=80, highlight=False, soft_wrap=True, no_color=True)
    with console.capture() as captured:
        console.print(regression_text(outcome, page))
    return captured.get().splitlines()


@pytest.mark.parametrize("name", [name for name in OUTCOMES if name != "hostile"])
def test_the_verdict_is_the_first_line_and_all_fits(name: str) -> None:
    lines = lines_of(OUTCOMES[name])
    assert lines[0] == headline(OUTCOMES[name])
    assert lines[1].startswith("Held against")
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 25
    assert lines[-1] == "All of it: out/regression.html"
    assert f"Session {OUTCOMES[name].session}" in " ".join(lines)


def test_headlines() -> None:
    assert headline(GOOD) == "nightly is as good as it was: its one gate held."
    assert headline(an_outcome("good", findings=(a_finding("same"), a_finding("undecided")))) == (
        "nightly shows no regression: 1 of 2 gates held, 1 could not have seen one."
    )
    assert headline(REGRESSED) == "nightly regressed: 2 of 4 gates failed."
    assert headline(BROKEN) == "nightly regressed: thresholds are broken."
    assert headline(OUTCOMES["first"]) == "nightly has a new baseline: 6 valid runs."
    assert headline(OUTCOMES["invalid"]) == (
        "nightly says too little: 3 of 6 runs say nothing about their tables."
    )
    assert headline(OUTCOMES["other setup"]) == "nightly cannot be compared with its baseline."
    assert headline(OUTCOMES["interrupted"]) == ("nightly was interrupted: 1 run kept, nothing decided.")


def test_gates_that_held_are_only_counted() -> None:
    text = "\n".join(lines_of(REGRESSED))
    assert "worse           hotkey: accepted_units_per_s.write" in text
    assert "902 units/s now, 1,002 before: 10 % less" in text
    assert "1 gate is as good as before" in text
    assert "sharded: accepted_units_per_s.write" not in text


def test_of_many_the_worst_are_told() -> None:
    many = [a_finding(gate=Gate(measure=f"gate_{number}")) for number in range(50)]
    lines = lines_of(an_outcome("regressed", findings=(*many, a_finding("better"))))
    assert "  and 41 more" in lines
    assert len(lines) < 60


def test_what_was_forced_is_said() -> None:
    assert "FORCED: the setups differ." in " ".join(lines_of(FORCED))


@pytest.mark.parametrize(
    ("change", "said"),
    [(None, "–"), (0.0, "0 %"), (1e-9, "0 %"), (0.12, "+12 %"), (-0.005, "-0.5 %"), (11.0, "x 12"),
     (1_001.0, "over x 1,000"), (float("inf"), "over x 1,000")],
)  # fmt: skip
def test_relative_changes(change: float | None, said: str) -> None:
    assert relative(change) == said


@pytest.mark.parametrize(
    ("of", "measure", "said"),
    [(None, "p99_ms", "–"), (1_803.4, "accepted_units_per_s.write", "1,800 units/s"),
     (0.025, "throttle_share", "2.5 %"), ("", "labels", "none"), ("table write table", "labels",
     "table write table"), (0.0, "first_throttle_s", "0 s"), (1.0, "shards_needed", "1 shard"),
     (2.0, "shards_needed", "2 shards")],
)  # fmt: skip
def test_values_have_units(of: float | str | None, measure: str, said: str) -> None:
    assert value(of, measure) == said
