"""Whatever the evidence is: no crash, no guess from nothing, no throttle lost, the same answer twice."""

import re
from datetime import UTC, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyheat.analysis.diagnosis import diagnosed
from keyheat.model.resources import Cause, Refusal
from keyheat.runs import metrics
from keyheat.runs.formats import Diagnosis, Evidence
from keyheat.words import Direction
from tests.make import START

INDEXES = st.sampled_from([None, "by_country", "by_date", ""])
DIRECTIONS = st.sampled_from(["read", "write"])
QUANTITIES = st.one_of(
    st.sampled_from([0.0, 1.0, 100.0, 6_000.0, 60_000.0, 1e300, 5e-324]),
    st.floats(min_value=0, allow_nan=False, allow_infinity=False),
)
REASONS = st.one_of(
    st.none(),
    st.sampled_from([Refusal(i, d, c).reason for i in (None, "i") for d in Direction for c in Cause]),
    st.text(max_size=20),
)
NEAR = st.integers(-3_600, 7_200).map(lambda s: START + timedelta(seconds=s))
FAR = st.datetimes(timezones=st.just(UTC))
TIMES = st.one_of(NEAR, NEAR, NEAR, FAR)
PAIRS = st.one_of(st.none(), st.fixed_dictionaries({}, optional={"read": QUANTITIES, "write": QUANTITIES}))
GENERAL = ("ReadThrottleEvents", "WriteThrottleEvents")
NAMES = st.one_of(st.sampled_from(sorted({key.metric for key in metrics.series_keys()})), st.text(max_size=9))


@st.composite
def evidences(draw: st.DrawFn) -> Evidence:
    """Any evidence that the format allows, most of it near the window."""
    capacities = {"provisioned": PAIRS, "max_on_demand": PAIRS, "warm": PAIRS}
    index = st.fixed_dictionaries(
        {"name": INDEXES.filter(lambda name: name is not None)}, optional=capacities
    )
    whose = {"second": TIMES, "index": INDEXES, "direction": DIRECTIONS}
    table = st.fixed_dictionaries(
        {"name": st.just("t")},
        optional={
            "billing_mode": st.sampled_from(["PROVISIONED", "PAY_PER_REQUEST", None]),
            "indexes": st.lists(index, max_size=2),
            **capacities,
        },
    )
    series = st.fixed_dictionaries(
        {
            "metric": NAMES,
            "statistic": st.sampled_from(["Sum", "Sum", "Average"]),
            "period_s": st.one_of(st.sampled_from([60, 60, 60, 300, 3_600]), st.integers(1, 10**12)),
            "index": INDEXES,
            "points": st.lists(st.tuples(TIMES, QUANTITIES), max_size=8),
        }
    )
    counts = st.integers(0, 10**20)
    throttle = {**whose, "reason": REASONS, "count": counts}
    second = {**whose, "consumed": QUANTITIES, "attempts": counts, "throttled": counts}
    start = draw(TIMES)
    window = {"start": start, "end": draw(TIMES.filter(lambda end: end > start))}
    return Evidence.model_validate(
        {
            "table": draw(table),
            "window": window,
            "series": draw(st.lists(series, max_size=8)),
            "throttles": draw(st.one_of(st.none(), st.lists(st.fixed_dictionaries(throttle), max_size=8))),
            "seconds": draw(st.one_of(st.none(), st.lists(st.fixed_dictionaries(second), max_size=8))),
            "scale": draw(st.sampled_from([1.0, 1.0, 0.1, 1e-6, 1000.0])),
        }
    )


SENTENCE = re.compile(r"[A-Z0-9“](?!.*\d%)(?!.*\.\.).*\.", re.DOTALL)


def sentences_of(found: Diagnosis) -> list[str]:
    """All that a person reads of a diagnosis."""
    said = [*found.verdict.because, *found.generator.checks]
    said += [line for label in found.labels for line in label.because]
    return said + [text for advice in found.recommendations for text in (advice.why, advice.expected)]


@pytest.mark.slow
@given(evidences())
@settings(max_examples=40, deadline=None)
def test_any_evidence_gets_an_answer_that_its_own_format_allows(evidence: Evidence) -> None:
    found = diagnosed(evidence)
    assert Diagnosis.model_validate(found.model_dump(mode="json")) == found
    assert found == diagnosed(evidence)
    for said in sentences_of(found):
        assert SENTENCE.fullmatch(said.replace("0..N-1", "")), said
    for label in found.labels:
        assert label.because
        assert label.throttles > 0
        assert label.start < label.end
        assert (label.grade == "none") == (label.constraint == "undetermined") == (label.confidence == 0)


@pytest.mark.slow
@given(evidences())
@settings(max_examples=30, deadline=None)
def test_no_constraint_is_guessed_without_consumption_or_capacity(evidence: Evidence) -> None:
    """Throttle counts alone, of no stated cause, say nothing about partition or table."""
    bare = evidence.model_copy(
        update={
            "series": tuple(s for s in evidence.series if s.metric in GENERAL),
            "throttles": tuple(t.model_copy(update={"reason": None}) for t in evidence.throttles or ()),
            "seconds": None,
        }
    )
    assert {label.constraint for label in diagnosed(bare).labels} <= {"undetermined"}
