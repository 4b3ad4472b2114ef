"""What a reader asks first, and what page and terminal answer."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from keyheat.analysis.facts import facts_of
from keyheat.analysis.report import ReportRun, evidence_alone, read_run
from keyheat.runs.formats import Cure, CureStep, MonthlyBill, Recommendation
from keyheat.show.answer import Fact
from keyheat.show.generator import generator_words
from keyheat.show.run import first_facts, run_answer
from keyheat.words import WRITE
from tests.conftest import Golden

Story = Callable[[str], ReportRun]


@pytest.fixture
def story(samples: dict[str, Path]) -> Story:
    return lambda name: read_run(samples[name])


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


def advised_run(run: ReportRun, *advice: Recommendation) -> ReportRun:
    return with_diagnosis(run, recommendations=advice)


def with_counted(run: ReportRun, **more: float) -> ReportRun:
    """A run whose client retried."""
    retried = {"requests": 1_000, "attempts": 40, "given_up": 0, "backoff_s": 12.0}
    counted = {f"retries.{name}": float(value) for name, value in (retried | more).items()}
    return with_manifest(run, counted=counted)


def throttled_by(run: ReportRun, *, unstated: int, **told: int) -> ReportRun:
    """Throttles of which labels tell the limit, and those of a batch, of which DynamoDB says nothing."""
    (label,) = run.diagnosis.labels[:1]
    labels = tuple(
        label.model_copy(update={"constraint": constraint, "throttles": throttles})
        for constraint, throttles in told.items()
    )
    totals = run.totals.model_copy(update={"attempts": 100_000, "throttled": sum(told.values()) + unstated})
    return with_diagnosis(with_manifest(run, totals=totals), labels=labels)


def test_what_a_reader_asks_first_is_answered(story: Story, golden: Golden) -> None:
    hot, sharded, unknown = story("hotkey"), story("sharded"), story("undetermined")
    later = hot.diagnosis.labels[-1].end + timedelta(seconds=40)
    back_off, shards = advised("back_off", kind="mitigation"), advised("shard_writes", shards=3)
    runs = {
        "a hot key with a cure that was tried": with_diagnosis(hot, cure=CURE),
        "it ended before the run did": with_manifest(hot, ended_at=later),
        "saved burst": advised_run(sharded, advised("auto_scaling", units=900, direction="write")),
        "no key is named": advised_run(hot, advised("shard_writes"), back_off),
        "a key is named": advised_run(hot, shards, back_off),
        "throttles without a label": evidence_alone(
            unknown.evidence, unknown.diagnosis.model_copy(update={"labels": ()})
        ),
        "retries": with_counted(hot),
        "adaptive retries": with_counted(hot, held_s=800.0, waiting=120),
        "two limits": throttled_by(hot, unstated=9, partition=900, table=100),
        "two limits and batches": throttled_by(hot, unstated=49_000, partition=900, table=100),
        "a limit and batches": throttled_by(hot, unstated=49_000, partition=1_000),
        "one limit": throttled_by(hot, unstated=9, partition=1_000),
    }
    said = []
    for name, run in runs.items():
        said.append(f"== {name}")
        for fact in first_facts(run, facts_of(run)):
            words = " · ".join((fact.value, *fact.beside, *filter(None, [fact.command])))
            said.append(f"{fact.name}: {words}".replace(str(hot.folder.parent), "FOLDER"))
    golden(Path(__file__).parent / "golden" / "first-facts.txt", "".join(f"{line}\n" for line in said))


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


def test_what_is_held_back_is_not_sent(story: Story) -> None:
    run = story("hotkey")
    sent = {"asked_per_s": 2_000.0, "achieved_per_s": 1_200.0, "held_back_per_s": 796.0}
    words = generator_words(with_manifest(run, generator=run.health.model_copy(update=sent)))
    assert "sent 1,200 (60 %); 796 held back by the client's own rate until the load ended. " in words


def test_resources_that_need_the_same_share_a_step(story: Story) -> None:
    def raised(resource: str, units: float, action: str = "raise_capacity") -> Recommendation:
        return advised(action, resource=resource, direction=WRITE, units=units)

    def steps(*advice: Recommendation) -> tuple[Fact, ...]:
        run = with_diagnosis(story("hotkey"), recommendations=advice)
        return run_answer(run).sections[0].facts

    both, other = steps(raised("table", 900), raised("by-day", 400), raised("table", 1, action="ramp"))
    assert both.name == "Raise the capacity"
    assert [line.partition(":")[0] for line in both.beside] == [
        "Raise the capacity to 900 WCU/s", "Raise the capacity of index by-day to 400 WCU/s", "Expected",
    ]  # fmt: skip
    assert other.name == "Ramp the load up to 1 WCU/s"
    assert steps(raised("by-day", 400))[0].name == "Raise the capacity of index by-day to 400 WCU/s"
