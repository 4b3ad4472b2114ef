"""The answer in a terminal, or in a pipe: plain lines, none of them wider than the screen."""

from io import StringIO

import pytest
from rich.console import Console

from keyheat.analysis.report.run import load_run
from keyheat.runs.formats import Diagnosis, Label
from keyheat.scenario.scenario import scenario_from_dict
from keyheat.terminal.diagnosis import outcome, summary

LABEL = {"start": "2026-11-20T12:00:00Z", "end": "2026-11-20T12:01:00Z", "resource": "table",
         "direction": "write", "constraint": "partition", "throttles": 1_234_567, "grade": "cause_metric",
         "confidence": 0.95, "because": []}  # fmt: skip


def printed(diagnosis, run=None, width=80, **how):
    out = StringIO()
    Console(file=out, width=width, highlight=False, soft_wrap=True, **how).print(summary(diagnosis, run))
    return out.getvalue()


@pytest.mark.parametrize(
    "name", ["hotkey", "datekey", "sharded", "too-small", "generator-bound", "undetermined"]
)
@pytest.mark.parametrize("width", [80, 120])
def test_no_line_is_wider_than_the_screen_or_ends_in_spaces(samples, name, width):
    run = load_run(samples[name])
    for line in printed(run.diagnosis, run, width).splitlines():
        command = line.lstrip().startswith("keyheat ")  # is whole, however long its path is, to be copied
        assert len(line) <= width or command
        assert line == line.rstrip()


def test_the_verdict_is_the_first_sentence_and_has_the_numbers_of_its_run(samples):
    run = load_run(samples["hotkey"])
    text = " ".join(printed(run.diagnosis, run).split())
    assert text.startswith("Writes were throttled by a partition limit: one key, sha256:a045eb33f879, asked")
    assert "of its 4,000 WCU. partition as the scenario expects Since when" in text
    assert "Confidence 98 % · DynamoDB said so, from" in text


@pytest.mark.parametrize(
    ("name", "said", "cures"),
    [
        ("hotkey", "as the scenario expects", ["cure: shard the hot key (3 shards)"]),
        ("sharded", "as the scenario expects", []),
        ("too-small", "the scenario expects: partition", []),
    ],
)
def test_the_run_says_whether_its_label_was_expected_and_what_helps(samples, name, said, cures):
    run = load_run(samples[name])
    assert f"\n{said}\n" in printed(run.diagnosis, run)
    scenario = scenario_from_dict(dict(run.manifest.scenario), "run.json")
    first, second, *others = outcome(scenario, run.diagnosis, "report.html").plain.split("\n")
    assert first.startswith(name)
    assert first.endswith("report.html")
    assert second.strip() == said
    assert [other.strip() for other in others] == cures


def test_a_run_that_is_not_valid_says_why_confirms_nothing_and_advises_nothing(samples):
    run = load_run(samples["generator-bound"])
    scenario = scenario_from_dict(dict(run.manifest.scenario), "run.json")
    first, why, *others = outcome(scenario, run.diagnosis, "report.html").plain.split("\n")
    assert "invalid (none)" in first
    assert why.strip() == f"the load generator was the limit: {run.diagnosis.generator.checks[0]}"
    assert [other.strip() for other in others] == ["the scenario expects: none"]


def test_evidence_that_does_not_decide_is_said_beside_the_label(samples):
    run = load_run(samples["undetermined"])
    scenario = scenario_from_dict(dict(run.manifest.scenario), "run.json")
    verdict = run.diagnosis.verdict.model_copy(update={"valid": False})
    diagnosis = run.diagnosis.model_copy(update={"verdict": verdict})
    _first, why, *_others = outcome(scenario, diagnosis, "report.html").plain.split("\n")
    assert f"{why.strip()}." == verdict.because[0]


def test_nothing_is_said_of_what_was_not_expected(samples):
    run = load_run(samples["datekey"])
    assert "expected" not in printed(run.diagnosis, run).partition("Why")[0]


def test_mitigations_stand_apart_from_cures(samples):
    run = load_run(samples["hotkey"])
    text = printed(run.diagnosis, run)
    places = [
        text.index(part)
        for part in ("What to do now", "  - Retry with jitter", "What to do for good", "  - Shard")
    ]
    assert places == sorted(places)


def a_diagnosis(samples, **changes) -> Diagnosis:
    return load_run(samples["hotkey"]).diagnosis.model_copy(update=changes)


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


def test_of_many_labels_the_first_are_listed(samples):
    labels = (Label.model_validate(LABEL),) * 500
    assert "and 480 more labels" in printed(a_diagnosis(samples, labels=labels))


def test_what_a_file_says_is_no_markup(samples):
    verdict = load_run(samples["hotkey"]).diagnosis.verdict.model_copy(update={"because": ("[red]x[/red].",)})
    assert "[red]x[/red]." in printed(a_diagnosis(samples, verdict=verdict))
