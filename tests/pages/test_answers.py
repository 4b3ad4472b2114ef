"""What a reader asks first, and what page and terminal answer."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.facts import facts_of
from keyheat.analysis.report import ReportRun, evidence_alone, load_run
from keyheat.numbers import span
from keyheat.runs.formats import Cure, CureStep, MonthlyBill, Recommendation
from keyheat.show.answer import Fact
from keyheat.show.charts.generator import generator_words
from keyheat.show.questions import first_facts
from keyheat.show.run import run_answer
from keyheat.words import WRITE

Story = Callable[[str], ReportRun]


@pytest.fixture
def story(samples: dict[str, Path]) -> Story:
    return lambda name: load_run(samples[name])


def asked(run: ReportRun) -> dict[str, Fact]:
    return {one.id: one for one in first_facts(run, facts_of(run))}


def with_diagnosis(run: ReportRun, **fields: object) -> ReportRun:
    return replace(run, diagnosis=run.diagnosis.model_copy(update=fields))


def with_manifest(run: ReportRun, **fields: object) -> ReportRun:
    return replace(run, manifest=run.manifest.model_copy(update=fields))


def advised(action: str, kind: str = "cure", **more: Any) -> Recommendation:
    return Recommendation(action=action, kind=kind, why="It asks for more.", expected="It fits.", **more)


BILL = MonthlyBill(before_dollars_per_month=22.78, after_dollars_per_month=546, prices="list prices")
CURE = Cure(
    steps=(CureStep(action="shard_writes", resource="table", direction=WRITE, shards=4),),
    throttle_share_before=0.4, throttle_share_after=0.0, bill=BILL,
)  # fmt: skip


def test_the_questions_of_a_hot_key(story: Story) -> None:
    found = asked(with_diagnosis(story("hotkey"), cure=CURE))
    assert list(found) == ["since", "bad", "now", "do", "cost", "sure"]
    assert found["since"].value.endswith(" to the end")
    assert found["bad"].value.endswith(" % of attempts")
    assert (found["now"].name, found["now"].value) == ("Now", "Retry with jitter, or queue")
    assert (found["do"].name, found["do"].value) == ("For good", "Shard the hot key (4 shards)")
    assert found["do"].beside == ("Simulated: no attempt throttled then.",)
    assert found["cost"].value == "$22.78 → $546 a month"
    assert found["sure"].value == "98 %"


def test_what_ended_says_how_long_before_the_run_did(story: Story) -> None:
    run = story("hotkey")
    later = run.diagnosis.labels[-1].end + timedelta(seconds=40)
    found = asked(with_manifest(run, ended_at=later))["since"]
    assert found.beside[-1] == "ended 40 s before the run did"
    assert " to the end" not in found.value


def test_throttled_time_is_the_seconds_that_had_a_throttle(story: Story) -> None:
    """The evidence says of it in how many throttled seconds how much was consumed: no second number."""
    run = story("datekey")
    throttled = run.seconds[run.seconds["throttled"] > 0]["second"].nunique()
    assert facts_of(run).throttled_s == throttled
    assert asked(run)["since"].beside[0] == f"throttled for {span(throttled)} of 2 min"


def test_a_command_on_a_page_leads_to_the_run_from_wherever_it_is_typed(
    story: Story, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = with_diagnosis(story("hotkey"), cure=CURE)
    monkeypatch.chdir(tmp_path)
    assert asked(run)["do"].command == f"keyheat fix {run.folder}"
    monkeypatch.chdir(run.folder.parent.parent)
    assert asked(run)["do"].command == f"keyheat fix {run.folder.parent.name}/hotkey"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(run.folder.parent.parent))
    assert asked(run)["do"].command == f"keyheat fix ~/{run.folder.parent.name}/hotkey"


def test_what_saved_burst_carried_is_not_to_be_fixed_by_a_command_that_refuses_it(story: Story) -> None:
    scaling = advised("auto_scaling", units=900, direction="write")
    found = asked(with_diagnosis(story("sharded"), recommendations=(scaling,)))["do"]
    assert (found.value, found.command) == ("Turn on auto scaling (900 WCU/s)", None)


def test_advice_that_no_rerun_can_show_has_no_command(story: Story) -> None:
    """Where no key is named, the number of shards is unknown."""
    run, back_off = story("hotkey"), advised("back_off", kind="mitigation")
    for shards, command in ((None, None), (3, f"keyheat fix {run.folder}")):
        advice = (advised("shard_writes", shards=shards), back_off)
        assert asked(with_diagnosis(run, recommendations=advice))["do"].command == command


def test_what_cannot_be_known_is_not_said_to_be_none(story: Story) -> None:
    run = story("undetermined")
    nothing = asked(evidence_alone(run.evidence, run.diagnosis.model_copy(update={"labels": ()})))
    assert nothing["since"].value == "–", "a client saw throttles, and no label says when"
    assert "cost" not in nothing


RETRIED = {"requests": 1_000, "attempts": 40, "given_up": 0, "backoff_s": 12.0}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, ["with retries: 1.04 attempts a request, none given up"]),
        (
            {"held_s": 800.0, "waiting": 120},
            [
                "with retries: 1.04 attempts a request, none given up, 120 still waiting at the end",
                "each request was held back 800 ms on average by its client's rate",
            ],
        ),
    ],
)
def test_what_an_adaptive_client_held_back_is_said_with_its_attempts(
    story: Story, more: dict[str, float], said: list[str]
) -> None:
    counted = {f"retries.{name}": value for name, value in (RETRIED | more).items()}
    retried = with_manifest(story("hotkey"), counted=counted)
    found = [one for one in asked(retried)["bad"].beside if "retries" in one or "held" in one]
    assert found == said


@pytest.mark.parametrize(
    ("told", "unstated", "said"),
    [
        ({"partition": 900, "table": 100}, 0, ["90 % of them: partition limit, the rest: table capacity"]),
        ({"partition": 900, "table": 100}, 9, ["90 % of them: partition limit, the rest: table capacity"]),
        ({"partition": 900, "table": 100}, 49_000, ["1,000 of them labelled: 90 % partition limit"]),
        ({"partition": 1_000}, 49_000, ["1,000 of them labelled: all partition limit"]),
        ({"partition": 1_000}, 9, []),
        ({"partition": 1_000}, 0, []),
    ],
)
def test_the_share_of_a_limit_is_of_the_throttles_whose_limit_is_told(
    story: Story, told: dict[str, int], unstated: int, said: list[str]
) -> None:
    """Of what a batch leaves unprocessed DynamoDB does not say why, so that it has no label."""
    run = story("hotkey")
    (label,) = run.diagnosis.labels[:1]
    labels = tuple(
        label.model_copy(update={"constraint": constraint, "throttles": throttles})
        for constraint, throttles in told.items()
    )
    totals = run.totals.model_copy(update={"attempts": 100_000, "throttled": sum(told.values()) + unstated})
    found = asked(with_diagnosis(with_manifest(run, totals=totals), labels=labels))["bad"].beside
    assert [one for one in found if "limit" in one] == said


@pytest.mark.parametrize(
    ("held_back_per_s", "said"),
    [
        (0.0, "Demand 2,000 requests/s, sent 1,200 (60 %). "),
        (796.0, "sent 1,200 (60 %); 796 held back by the client's own rate until the load ended. "),
    ],
)
def test_what_is_held_back_is_not_sent(story: Story, held_back_per_s: float, said: str) -> None:
    run = story("hotkey")
    health = run.health.model_copy(
        update={"asked_per_s": 2_000.0, "achieved_per_s": 1_200.0, "held_back_per_s": held_back_per_s}
    )
    assert said in generator_words(with_manifest(run, generator=health))


def test_resources_that_need_the_same_share_a_step(story: Story) -> None:
    def raised(resource: str, units: float, action: str = "raise_capacity") -> Recommendation:
        return advised(action, resource=resource, direction=WRITE, units=units)

    def steps(*advice: Recommendation) -> tuple[Fact, ...]:
        run = with_diagnosis(story("hotkey"), recommendations=advice)
        return run_answer(run).sections[0].facts

    both, other = steps(raised("table", 900), raised("by-day", 400), raised("table", 1, action="ramp"))
    assert both.name == "Raise the capacity"
    assert [line.partition(":")[0] for line in both.beside] == [
        "Writes of the table, 900 WCU/s", "Writes of index by-day, 400 WCU/s", "Expected",
    ]  # fmt: skip
    assert other.name == "Ramp the load up: 1 WCU/s"
    assert steps(raised("by-day", 400))[0].name == "Raise the capacity of index by-day: 400 WCU/s"
