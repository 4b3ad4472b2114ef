"""The answer in a terminal, or in a pipe: plain lines, none of them wider than the screen."""

from dataclasses import replace
from pathlib import Path

import pytest

from keyheat.analysis.report import ReportRun, read_run
from keyheat.runs.formats import Diagnosis, Label
from keyheat.show.answer import Answer, Table
from keyheat.show.run import first_screen, run_answer
from tests.conftest import Golden
from tests.pages.conftest import on_screen
from tools.samples import SAMPLES

LABEL = {"start": "2026-11-20T12:00:00Z", "end": "2026-11-20T12:01:00Z", "resource": "table",
         "direction": "write", "constraint": "partition", "throttles": 1_234_567, "grade": "cause_metric",
         "confidence": 0.95, "because": []}  # fmt: skip


def printed(diagnosis, run=None, width=80):
    return on_screen(run_answer(run or ReportRun(diagnosis=diagnosis)), width)


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_said_of_a_run(samples, name, golden: Golden):
    run = read_run(samples[name])
    text = printed(run.diagnosis, run)
    for shown, width in ((text, 80), (printed(run.diagnosis, run, 120), 120)):
        for line in shown.splitlines():
            command = line.lstrip().startswith("keyheat ")  # is whole, however long its path is, to be copied
            assert len(line) <= width or command
            assert line == line.rstrip()
    said = text.replace(str(samples[name].parent), "FOLDER")
    golden(Path(__file__).parent / "golden" / f"terminal-{name}.txt", said)


def test_the_first_screen_says_why_evidence_does_not_decide(samples):
    run = read_run(samples["undetermined"])
    verdict = run.diagnosis.verdict.model_copy(update={"valid": False})
    undecided = replace(run, diagnosis=run.diagnosis.model_copy(update={"verdict": verdict}))
    shown = first_screen(undecided)
    assert (shown.notes, shown.sections) == ((verdict.because[0],), ())
    assert shown.facts == run_answer(undecided).facts


def a_diagnosis(samples, **changes) -> Diagnosis:
    return read_run(samples["hotkey"]).diagnosis.model_copy(update=changes)


def test_the_longest_words_are_whole_in_eighty_columns(samples):
    labels = [
        Label.model_validate({**LABEL, "constraint": constraint, "resource": resource, "throttles": count})
        for constraint in ("partition", "max_on_demand", "account", "undetermined")
        for resource, count in (("table", 1_234_567), ("x" * 255, 1))  # the headline names what counts
    ]
    text = printed(a_diagnosis(samples, labels=tuple(labels)))
    assert "…" not in text
    for word in ("on-demand maximum", "undetermined", "1,234,567", "metric", "95 %"):
        assert word in text
    assert max(map(len, text.splitlines())) <= 80


def test_heads_of_a_table_break_between_words():
    heads = ("index by-clinic, writes", "while throttled", "in the 20 min before", "in the hours before")
    table = Table(
        title="Then", rows=(dict(zip(heads, ("consumed, WCU/s", "172", "1,080", "96"), strict=True)),)
    )
    shown = on_screen(Answer(title="", sentence="", tables=(table,)))
    assert [line.rstrip() for line in shown.splitlines()][-3:] == [
        "  index by-clinic,                            in the 20 min",
        "  writes               while throttled               before  in the hours before",
        "  consumed, WCU/s                  172                1,080                   96",
    ]


def test_of_many_labels_the_first_are_listed(samples):
    labels = (Label.model_validate(LABEL),) * 500
    assert "and 180 more rows" in printed(a_diagnosis(samples, labels=labels))
