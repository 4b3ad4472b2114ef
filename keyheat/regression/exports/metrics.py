"""The outcome as metrics, in Prometheus' text format."""

from collections.abc import Iterator
from pathlib import Path

from keyheat.analysis.measures import MEASURES
from keyheat.metrics import PREFIX, Metric, prometheus_text
from keyheat.regression.outcome import SessionOutcome, medians
from keyheat.runfiles import write_atomically


def metrics(outcome: SessionOutcome) -> tuple[Metric, ...]:
    """All that have at least one point; what is not known is left out, and never zero."""
    found = (*_session(outcome), *_runs(outcome), *_gates(outcome), *_measures(outcome))
    return tuple(metric for metric in found if metric.points)


def _session(outcome: SessionOutcome) -> Iterator[Metric]:
    suite = {"suite": outcome.suite}
    for name, says, value in (
        ("exit_code", "what keyheat regress ended with: 0 as good as it was", float(outcome.exit_code)),
        ("forced", "1: compared although the setups differ", float(outcome.forced)),
        ("duration_seconds", "from the first run to the verdict", outcome.took_s),
        ("ended_timestamp_seconds", "when it ended, since 1970", outcome.ended_at.timestamp()),
    ):
        yield Metric(name=f"{PREFIX}_regress_{name}", says=says, points=((suite, value),))


def _runs(outcome: SessionOutcome) -> Iterator[Metric]:
    cases = [({"suite": outcome.suite, "case": case.name}, case.after) for case in outcome.cases]
    yield Metric(
        name=f"{PREFIX}_regress_runs", says="runs that were made",
        points=tuple((labels, float(len(runs))) for labels, runs in cases),
    )  # fmt: skip
    yield Metric(
        name=f"{PREFIX}_regress_invalid_runs", says="runs that say nothing about their table",
        points=tuple((labels, float(sum(not run.valid for run in runs))) for labels, runs in cases),
    )  # fmt: skip


def _gates(outcome: SessionOutcome) -> Iterator[Metric]:
    labelled = [
        ({"suite": outcome.suite, "case": one.case, "measure": one.gate.measure}, one)
        for one in outcome.findings
    ]
    yield Metric(
        name=f"{PREFIX}_gate_failed", says="1: worse than the baseline, or not measured",
        points=tuple((labels, float(one.failed)) for labels, one in labelled),
    )  # fmt: skip
    yield Metric(
        name=f"{PREFIX}_gate_decision", says="always 1; the label says what was decided",
        points=tuple(({**labels, "decision": one.decision}, 1.0) for labels, one in labelled),
    )  # fmt: skip
    for name, says in (
        ("change", "relative to the baseline: -0.1 is ten percent less"),
        ("low", "lower end of the interval of the change"),
        ("high", "upper end of the interval of the change"),
    ):
        known = [(labels, getattr(one, name)) for labels, one in labelled]
        yield Metric(
            name=f"{PREFIX}_gate_change{'' if name == 'change' else f'_{name}'}_ratio", says=says,
            points=tuple((labels, float(value)) for labels, value in known if value is not None),
        )  # fmt: skip


def _measures(outcome: SessionOutcome) -> Iterator[Metric]:
    found = {case.name: medians([run for run in case.after if run.valid]) for case in outcome.cases}
    for measure in MEASURES.values():
        yield Metric(
            name=f"{PREFIX}_measure_{measure.name.replace('.', '_')}",
            says=f"{measure.says}; median of the valid runs",
            points=tuple(
                ({"suite": outcome.suite, "case": case}, values[measure.name])
                for case, values in found.items()
                if measure.name in values
            ),
        )  # fmt: skip


def write_prometheus(path: Path, outcome: SessionOutcome) -> None:
    """Write the file, whole or not at all: a collector that reads meanwhile gets the old one.

    Raises `CannotWrite`.
    """
    body = prometheus_text(metrics(outcome))
    write_atomically(path, lambda file: file.write(body))
