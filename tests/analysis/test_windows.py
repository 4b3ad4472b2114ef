"""What an answer says of a window that CloudWatch has not published whole, or holds nothing of."""

from datetime import timedelta

from keyheat.analysis.table_diagnosis import diagnosed_alone
from keyheat.evidence.survey import Survey, SurveyedTable
from keyheat.evidence.table import facts_during
from keyheat.plan.prices import load_prices
from keyheat.runs.formats import Evidence, ThrottleCount, Window
from keyheat.runs.table_facts import TableFacts
from keyheat.show.answer import Answer
from keyheat.show.diagnosis import diagnosis_answer, in_brief
from keyheat.show.survey import SurveyedRegion, survey_answer
from keyheat.words import WRITE
from tests.make import START, an_evidence, consumed, throttle_events

BILLING = load_prices()
WINDOW = Window(start=START, end=START + timedelta(minutes=11))
NOT_YET = "CloudWatch publishes a minute after it ends: ask again in 2 minutes"


def of_table(evidence: Evidence) -> Answer:
    return diagnosis_answer(diagnosed_alone(evidence, "eu-west-1", BILLING))


def of_region(*tables: SurveyedTable, up_to_now: bool = False) -> Answer:
    region = SurveyedRegion(
        region="eu-west-1", survey=Survey(window=WINDOW, tables=tables, period_s=300), diagnosed=()
    )
    return survey_answer([region], WINDOW, up_to_now=up_to_now)


def minutes(*throttled: int) -> Evidence:
    """Eleven minutes, of which some, by number, throttled."""
    events = throttle_events(*(90 if minute in throttled else None for minute in range(11)))
    return an_evidence(consumed(*[10] * 11), events, minutes=11, table={"billing_mode": None})


def test_calm_to_the_newest_minute_says_nothing_of_the_time_since() -> None:
    now = minutes().model_copy(update={"up_to_now": True})
    assert of_table(now).sentence.startswith("Nothing was throttled")
    (throttles, *_others) = of_table(now).facts
    assert throttles.value == "None from 12:00 to 12:11 UTC"
    assert NOT_YET in throttles.beside[0]
    assert of_table(minutes()).facts[0].beside == ()
    assert of_region(SurveyedTable("orders"), up_to_now=True).sentence.startswith(
        f"None of 1 table throttled. {NOT_YET}"
    )
    assert of_region(SurveyedTable("orders")).sentence == "None of 1 table throttled."


def test_keys_of_a_table_that_refused_nothing_are_not_sold() -> None:
    logged = (ThrottleCount(second=START + timedelta(minutes=3), direction=WRITE, count=50),)
    of_client = minutes().model_copy(update={"throttles": logged})
    assert "does not say that the table refused them" in of_table(of_client).sentence
    assert "key" not in [fact.id for fact in of_table(of_client).facts]
    assert "key" in [fact.id for fact in of_table(minutes(3)).facts]


def test_a_table_created_after_the_window_is_the_first_thing_that_is_said() -> None:
    created = WINDOW.end + timedelta(minutes=5)
    described = {"TableName": "orders", "CreationDateTime": created, "TableStatus": "ACTIVE"}
    facts, missing = facts_during(described, WINDOW, TableFacts(name="orders"))
    nothing = Evidence(table=facts, window=WINDOW, missing=tuple(missing))
    answer = of_table(nothing)
    assert answer.sentence == (
        "Nothing is known of this window: the table was created at 2026-11-20T12:16:00Z, after the window; "
        "choose a later one."
    )
    assert "from 0 minutes of evidence" in str(answer.facts)
    measured = nothing.model_copy(update={"series": minutes().series})
    assert of_table(measured).sentence.startswith("Nothing was")

    later = SurveyedTable("orders", created=created)
    survey = of_region(later)
    nothing_known = "Nothing is known of this window: every table was created after it; choose a later one."
    assert survey.sentence == nothing_known
    assert survey.data["exit_code"] == 3
    assert survey.notes == ("Created after this window in eu-west-1: orders (2026-11-20T12:16:00Z).",)
    assert of_region(later, SurveyedTable("carts")).sentence == "None of 1 table throttled."


def test_two_incidents_are_not_told_as_one_beside_other_tables() -> None:
    found = diagnosed_alone(minutes(0, 1, 8, 9, 10), "eu-west-1", BILLING)
    in_survey = in_brief(found, "orders/report.html")
    assert any("or earlier to the end, in 2 pieces" in fact.value for fact in in_survey.facts)
    assert "12:00:00 or earlier to the end, in 2 pieces" in {
        fact.value for fact in diagnosis_answer(found).facts
    }


def test_a_table_of_the_first_minute_cannot_have_throttled_earlier() -> None:
    seen = minutes(0, 1, 8, 9, 10)
    table = seen.table.model_copy(update={"created": seen.window.start + timedelta(seconds=20)})
    found = diagnosed_alone(seen.model_copy(update={"table": table}), "eu-west-1", BILLING)
    assert not any("or earlier" in fact.value for fact in diagnosis_answer(found).facts)
