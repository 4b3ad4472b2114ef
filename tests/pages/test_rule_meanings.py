"""A report says what the rules of its labels mean."""

from pathlib import Path

from keyheat.analysis.rules import RULES
from keyheat.pages.charts import labels as label_chart
from tests.made_runs import load_evidence

ROOT = Path(__file__).parents[2]


def test_a_report_says_what_its_rules_mean() -> None:
    run = load_evidence(ROOT / "tests/analysis/examples/minutes-burst-spent.json")
    (label, *_) = run.diagnosis.labels
    unknown = label.model_copy(update={"rule": "of-a-later-version", "throttles": 1})
    table = label_chart.rule_table([label, unknown])
    assert table is not None
    first, second = table.rows
    assert first[0] == label.rule
    assert RULES[str(label.rule)].meaning in first
    assert second[:1] == ("of-a-later-version",)
    assert label_chart.rule_table([]) is None
