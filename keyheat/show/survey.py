"""The tables of one or several Regions that throttled, as an answer with a part for each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.elsewhere import has_errors, throttled_elsewhere
from keyheat.analysis.table_diagnosis import DiagnosedTable, exit_code_of
from keyheat.evidence.survey import Survey
from keyheat.numbers import some
from keyheat.runs.formats import Window
from keyheat.show.answer import Answer
from keyheat.show.diagnosis import context_of, in_brief
from keyheat.show.run import NOT_YET
from keyheat.words import BROKEN, DONE, INVALID

MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedRegion:
    """What was found in one Region: every table, and those in trouble as they were diagnosed."""

    region: str
    survey: Survey
    diagnosed: tuple[tuple[DiagnosedTable, str], ...]  # each with the link to its report

    @property
    def troubled(self) -> tuple[tuple[DiagnosedTable, str], ...]:
        """Those of which the close look says so, too."""
        return tuple(pair for pair in self.diagnosed if exit_code_of(pair[0].run) != DONE)


def survey_exit_code(regions: Sequence[SurveyedRegion], missing: Sequence[str] = ()) -> int:
    """0: nothing throttled; 1: something did, or failed inside DynamoDB; 3: the evidence does not decide."""
    codes = {exit_code_of(diagnosed.run) for region in regions for diagnosed, _link in region.troubled}
    if BROKEN in codes:
        return BROKEN
    unknown = missing or any(region.survey.undecided for region in regions) or not _there(regions)
    return INVALID if codes or unknown else DONE


def survey_answer(
    regions: Sequence[SurveyedRegion], window: Window, *, up_to_now: bool, missing: Sequence[str] = ()
) -> Answer:
    """Which tables throttled, the worst first. `missing` says which Regions could not be asked."""
    troubled = sorted(
        (pair for region in regions for pair in region.troubled),
        key=lambda pair: -sum(label.throttles for label in pair[0].run.diagnosis.labels),
    )
    parts = tuple(in_brief(table, link) for table, link in troubled)
    total = _there(regions)
    code = survey_exit_code(regions, missing)
    names = ", ".join(region.region for region in regions)
    failed = [table.table.name for table, _link in troubled if _only_failed(table)]
    throttled = [table.table.name for table, _link in troubled if not _only_failed(table)]
    going_on = sum(  # in the newest minute
        table.evidence.up_to_now
        and any(label.end >= table.evidence.window.end for label in table.run.diagnosis.labels)
        for table, _link in troubled
    )
    sentence = _sentence(len(throttled), len(failed), going_on, total, code)
    return Answer(
        title="Throttled tables",
        sentence=f"{sentence} {NOT_YET}" if up_to_now and not parts else sentence,
        tone=parts[0].tone if parts else "none" if code == DONE else "invalid",
        context=context_of(names, window, up_to_now=up_to_now),
        notes=(*_calm(regions), *missing, *(line for region in regions for line in region.survey.missing)),
        parts=parts,
        data={"exit_code": code, "tables": total, "throttled": throttled, "failed": failed},
    )


def _there(regions: Sequence[SurveyedRegion]) -> int:
    """How many tables there were in the window."""
    return sum(len(region.survey.tables) - len(region.survey.created_later) for region in regions)


def _only_failed(diagnosed: DiagnosedTable) -> bool:
    """Whether requests failed inside DynamoDB, and no throttle is known."""
    throttled = diagnosed.run.diagnosis.labels or throttled_elsewhere(diagnosed.evidence)
    return not throttled and has_errors(diagnosed.evidence)


def _sentence(throttled: int, failed: int, going_on: int, total: int, code: int) -> str:
    if not total:
        return "Nothing is known of this window: every table was created after it; choose a later one."
    more = f"; requests of {failed:,} failed inside DynamoDB" if failed else ""
    if not throttled:
        unsure = " that could be asked" if code == INVALID else ""
        return f"None of {some(total, 'table')}{unsure} throttled{more}."
    every = ", and still does" if throttled == 1 else ", and still do"
    still = every if going_on >= throttled else f", {going_on:,} of them to the newest minute"
    return f"{throttled:,} of {some(total, 'table')} throttled{still if going_on else ''}{more}."


def _calm(regions: Sequence[SurveyedRegion]) -> Iterator[str]:
    """The tables that did not throttle, by name where they are few."""
    for region in regions:
        later = {table.name: table.created for table in region.survey.created_later}
        throttled = {diagnosed.table.name for diagnosed, _link in region.troubled}
        calm = [t.name for t in region.survey.tables if t.name not in throttled and t.name not in later]
        if calm:
            yield f"No throttle events in {region.region}: {_named(calm)}."
        if later:
            created = [f"{name} ({at:%FT%TZ})" for name, at in later.items()]
            yield f"Created after this window in {region.region}: {_named(created)}."


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"
