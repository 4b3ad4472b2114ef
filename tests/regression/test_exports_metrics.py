"""Metrics: Prometheus' own parser reads them."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from keyheat.metrics import prometheus_text
from keyheat.regression.exports.metrics import metrics, write_prometheus
from keyheat.regression.outcome import SessionOutcome
from tests.regression.outcomes import HOSTILE, HOSTILE_WORDS, INVALID, OUTCOMES, REGRESSED

Sample = tuple[str, tuple[tuple[str, str], ...]]


def samples(outcome: SessionOutcome) -> dict[Sample, float]:
    families = list(text_string_to_metric_families(prometheus_text(metrics(outcome)).decode()))
    assert all(family.type == "gauge" and family.documentation for family in families)
    found = [sample for family in families for sample in family.samples]
    assert all(sample.timestamp is None for sample in found), "collectors of files take none"
    return {(one.name, tuple(sorted(one.labels.items()))): one.value for one in found}


@pytest.mark.parametrize("name", OUTCOMES)
def test_prometheus_reads_every_point(name: str) -> None:
    expected = {
        (metric.name, tuple(sorted(labels.items()))): value
        for metric in metrics(OUTCOMES[name])
        for labels, value in metric.points
    }
    assert samples(OUTCOMES[name]) == pytest.approx(expected)


def test_what_a_regression_looks_like() -> None:
    found = samples(REGRESSED)
    suite, case = ("suite", "nightly"), ("case", "hotkey")
    gate = (case, ("measure", "accepted_units_per_s.write"), suite)
    assert found["keyheat_regress_exit_code", (suite,)] == 1
    assert found["keyheat_regress_duration_seconds", (suite,)] == 192
    assert found["keyheat_gate_failed", gate] == 1
    assert found["keyheat_gate_change_ratio", gate] == pytest.approx(-0.0998)
    assert found["keyheat_gate_decision", (case, ("decision", "worse"), gate[1], suite)] == 1
    assert found["keyheat_measure_accepted_units_per_s_write", (case, suite)] == 902
    assert found["keyheat_measure_throttle_share", (case, suite)] == 0.2


def test_what_is_not_known_is_not_there() -> None:
    """A missing measure has no change, and runs that say nothing have no measure."""
    assert not any(name == "keyheat_gate_change_ratio" and ("measure", "labels") in labels
                   for name, labels in samples(REGRESSED))  # fmt: skip
    of_hotkey = [name for name, labels in samples(INVALID) if ("case", "hotkey") in labels]
    assert "keyheat_regress_invalid_runs" in of_hotkey
    assert not any(name.startswith("keyheat_measure") for name in of_hotkey)


def test_labels_from_outside_are_escaped(tmp_path: Path) -> None:
    write_prometheus(tmp_path / "keyheat.prom", HOSTILE_WORDS)
    assert ("keyheat_regress_exit_code", (("suite", HOSTILE),)) in samples(HOSTILE_WORDS)
    assert (tmp_path / "keyheat.prom").read_bytes() == prometheus_text(metrics(HOSTILE_WORDS))
