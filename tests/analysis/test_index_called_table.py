"""An index that is called `table`, as DynamoDB permits: another resource than the table itself."""

from keyheat.analysis.report import evidence_alone
from keyheat.show.run import run_answer
from keyheat.words import index_of, label_of, whose
from tests.analysis.conftest import diagnosed
from tests.make import a_series, an_evidence, consumed, throttle_events


def test_a_label_says_which_of_the_two_it_means() -> None:
    for index in (None, "table", "by-country", "index"):
        assert index_of(label_of(index)) == index
    assert (whose(label_of(None)), whose(label_of("table"))) == ("the table", "index table")


def test_it_is_diagnosed_and_shown_beside_the_table() -> None:
    throttles, of_index = [0, 9_000, 9_000, 9_000, 0], {"index": "table"}
    evidence = an_evidence(
        consumed(*[900] * 5), consumed(*[900] * 5, **of_index), throttle_events(),
        throttle_events(*throttles, **of_index),
        a_series("WriteKeyRangeThroughputThrottleEvents", *throttles, **of_index),
        table={"indexes": [{"name": "table"}]},
    )  # fmt: skip
    diagnosis = diagnosed(evidence)
    (label,) = diagnosis.labels
    assert (label.resource, label.constraint) == ("index:table", "partition")
    assert "limit of index table" in run_answer(evidence_alone(evidence, diagnosis)).sentence
