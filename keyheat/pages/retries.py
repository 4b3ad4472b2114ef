"""Retry policies as a page: the answer in a sentence, what each makes of requests, second by second."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from pathlib import Path
from typing import Final

from keyheat.numbers import NOTHING, measured, percent, rate, some, span
from keyheat.pages.charts.figures import PageTable
from keyheat.pages.charts.retries import fates_chart, response_chart, time_charts
from keyheat.pages.page import PageAnswer, Stat, write_answer
from keyheat.pages.run.sections import Section
from keyheat.scenario.scenario import Scenario
from keyheat.simulator.retrying import RetriedRun
from keyheat.terms import (
    ADAPTIVE_MODE,
    AMPLIFICATION,
    CONFLICT,
    DEMAND,
    GIVEN_UP,
    GOODPUT,
    MEANINGS,
    P50,
    P99,
    RESPONSE_TIME,
    RETRY_QUOTA,
    titled,
)
from keyheat.wording.retries import (
    COLUMNS,
    best_of,
    duration,
    feeds_on_itself,
    found_in,
    recovery_s,
    row_of,
    sentence_of,
    usual_of,
    worked_out,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetriesAnswer:
    """A demand under several policies, the first of which does not retry. `command` asks for it again."""

    scenario: Scenario
    runs: tuple[RetriedRun, ...]
    clients: int
    command: str

    @property
    def calm(self) -> bool:
        """Whether the demand alone is throttled nowhere."""
        return not self.runs[0].calm_from_s


def answer_of(found: RetriesAnswer) -> PageAnswer:
    """The first screen of the page."""
    usual = usual_of(found.runs)
    return PageAnswer(
        kind="retries",
        title=found.scenario.name,
        chip=_chip(found, usual),
        role="none" if usual.accepted == usual.requests else "failed",
        sentence=sentence_of(found.runs),
        question="What do retries make of the throttles?",
        where=f"simulated · {some(found.clients, 'client')} · {span(usual.load_s)} of load",
        stats=_stats(found, usual),
        command=found.command,
    )


def _chip(found: RetriesAnswer, usual: RetriedRun) -> str:
    if not found.calm:
        lost = percent(usual.given_up_share) if usual.given_up else "none"
        return f"{lost} {GIVEN_UP}".capitalize()
    return f"{some(usual.conflicts, CONFLICT)}, no throttles" if usual.conflicts else "No throttles"


def _stats(found: RetriesAnswer, usual: RetriedRun) -> tuple[Stat, ...]:
    """The usual policy beside no retries and the best one; and what is asked of the table at most."""
    none, best, of = found.runs[0], best_of(found.runs), usual.policy.name
    slowest = f"{duration(best.within_s(0.99))} with {best.policy.name}"
    own = (
        Stat(
            name=f"{titled(GOODPUT)}, with {of}",
            value=rate(usual.goodput_per_s, "requests"),
            beside=f"{rate(none.requests / none.load_s, 'requests')} {DEMAND}",
        ),
        Stat(
            name=f"{P99}, with {of}",
            value=duration(usual.within_s(0.99)),
            beside=slowest if best is not usual else f"{P50} {duration(usual.within_s(0.5))}",
        ),
    )
    return own if found.calm else (*own, *_most(found.runs))


def _most(runs: Sequence[RetriedRun]) -> tuple[Stat, Stat]:
    """Who asks most of the table, and under whom it is throttled longest."""
    asks, longest = max(runs, key=attrgetter("amplification")), max(runs, key=attrgetter("calm_from_s"))
    alone = f"{runs[0].calm_from_s} s without retries"
    return (
        Stat(
            name=f"{titled(AMPLIFICATION)}, at most",
            value=f"x {measured(asks.amplification)}",
            beside=f"with {asks.policy.name}",
        ),
        Stat(
            name="Calm from, at the latest",
            value=f"{longest.calm_from_s} s",
            beside=f"with {longest.policy.name}; {alone}" if longest is not runs[0] else "without retries",
        ),
    )


def sections_of(found: RetriesAnswer) -> tuple[Section, ...]:
    """What becomes of the requests, attempts over time, and what the policies are."""
    runs = found.runs
    return (
        Section(
            id="requests", title="Policy by policy", short="Policies",
            charts=(fates_chart(runs), response_chart(runs)), notes=(), tables=(_table(found),),
        ),
        Section(
            id="seconds", title="Second by second", short="Seconds", charts=time_charts(runs),
            notes=tuple(found_in(runs)),
        ),
        Section(
            id="tried", title="What was tried", short="Tried", charts=(),
            notes=tuple(worked_out(found.scenario, found.clients)), tables=(_policies(found),),
        ),
    )  # fmt: skip


def _table(found: RetriesAnswer) -> PageTable:
    """The terminal's, and what each policy makes of a throttling that would be over."""
    rows = tuple((*row_of(run), *_afterwards(run, found)) for run in found.runs)
    columns = (*COLUMNS, "recovers", "feeds on itself")
    return PageTable(caption="Side by side", columns=columns, rows=rows, numeric=frozenset(range(1, 8)))


def _afterwards(run: RetriedRun, found: RetriesAnswer) -> tuple[str, str]:
    none = found.runs[0]
    if run is none or found.calm:
        return NOTHING, NOTHING
    later_s = recovery_s(run, none)
    return span(later_s) if later_s else "at once", "yes" if feeds_on_itself(run, none) else "no"


def _policies(found: RetriesAnswer) -> PageTable:
    rows = tuple((run.policy.name, run.policy.says) for run in found.runs)
    return PageTable(caption="Policies", columns=("SDK", "what it does"), rows=rows)


READING: Final = (
    *(
        (titled(term), MEANINGS[term])
        for term in (
            GOODPUT,
            AMPLIFICATION,
            GIVEN_UP,
            CONFLICT,
            RETRY_QUOTA,
            ADAPTIVE_MODE,
            RESPONSE_TIME,
            P50,
            P99,
        )
    ),
    (
        "Accepted later",
        f"After retries, or after the {ADAPTIVE_MODE} held it back for as long as a retry takes at least.",
    ),
    ("Calm from", "The second of the run from which on nothing was throttled any more."),
    ("Recovers", "How much longer than under the demand alone something was throttled."),
    (
        "Feeds on itself",
        "Retries are throttled when the demand alone would be throttled no more.",
    ),
    (NOTHING, "Not known, or not a part of it; never zero."),
)


def write_retries(path: Path, found: RetriesAnswer, generated_at: datetime) -> Path:
    """Write the page; gives its path. Raises `CannotWrite`."""
    return write_answer(path, answer_of(found), sections_of(found), READING, generated_at)
