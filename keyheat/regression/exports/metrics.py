"""The outcome as metrics: as Prometheus text, and as OpenTelemetry sent once to a collector."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from keyheat.analysis.measures import MEASURES
from keyheat.metrics import PREFIX, Metric, prometheus_text
from keyheat.otlp import PATIENCE_S, Collector, check_otlp
from keyheat.regression.outcome import SessionOutcome, medians
from keyheat.runfiles import write_atomically

SCOPE: Final = "keyheat.regress"


def metrics(outcome: SessionOutcome) -> tuple[Metric, ...]:
    """All that have at least one point; what is not known is left out, and never zero."""
    found = (*_session(outcome), *_runs(outcome), *_gates(outcome), *_measures(outcome))
    return tuple(metric for metric in found if metric.points)


def _session(outcome: SessionOutcome) -> Iterator[Metric]:
    suite = {"suite": outcome.suite}
    for name, unit, says, value in (
        ("exit_code", "", "what keyheat regress ended with: 0 as good as it was", float(outcome.exit_code)),
        ("forced", "", "1: compared although the setups differ", float(outcome.forced)),
        ("duration", "s", "from the first run to the verdict", outcome.took_s),
        ("ended_timestamp", "s", "when it ended, since 1970", outcome.ended_at.timestamp()),
    ):
        yield Metric(name=f"{PREFIX}.regress.{name}", unit=unit, says=says, points=((suite, value),))


def _runs(outcome: SessionOutcome) -> Iterator[Metric]:
    cases = [({"suite": outcome.suite, "case": case.name}, case.after) for case in outcome.cases]
    yield Metric(
        name=f"{PREFIX}.regress.runs", unit="", says="runs that were made",
        points=tuple((labels, float(len(runs))) for labels, runs in cases),
    )  # fmt: skip
    yield Metric(
        name=f"{PREFIX}.regress.invalid_runs", unit="", says="runs that say nothing about their table",
        points=tuple((labels, float(sum(not run.valid for run in runs))) for labels, runs in cases),
    )  # fmt: skip


def _gates(outcome: SessionOutcome) -> Iterator[Metric]:
    labelled = [
        ({"suite": outcome.suite, "case": one.case, "measure": one.gate.measure}, one)
        for one in outcome.findings
    ]
    yield Metric(
        name=f"{PREFIX}.gate.failed", unit="", says="1: worse than the baseline, or not measured",
        points=tuple((labels, float(one.failed)) for labels, one in labelled),
    )  # fmt: skip
    yield Metric(
        name=f"{PREFIX}.gate.decision", unit="", says="always 1; the label says what was decided",
        points=tuple(({**labels, "decision": one.decision}, 1.0) for labels, one in labelled),
    )  # fmt: skip
    for name, says in (
        ("change", "relative to the baseline: -0.1 is ten percent less"),
        ("low", "lower end of the interval of the change"),
        ("high", "upper end of the interval of the change"),
    ):
        known = [(labels, getattr(one, name)) for labels, one in labelled]
        yield Metric(
            name=f"{PREFIX}.gate.change{'' if name == 'change' else f'_{name}'}", unit="1", says=says,
            points=tuple((labels, float(value)) for labels, value in known if value is not None),
        )  # fmt: skip


def _measures(outcome: SessionOutcome) -> Iterator[Metric]:
    found = {case.name: medians([run for run in case.after if run.valid]) for case in outcome.cases}
    for measure in MEASURES.values():
        yield Metric(
            name=f"{PREFIX}.measure.{measure.name}", unit=f"{{{measure.unit}}}",  # its name says it, too
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


def send_otlp(url: str, outcome: SessionOutcome, *, patience_s: float = PATIENCE_S) -> None:
    """Send the metrics and wait until they are taken. Raises `NotSent`, and `ValueError` as `check_otlp`."""
    collector, ended_s = Collector(check_otlp(url), SCOPE, patience_s), outcome.ended_at.timestamp()
    of = {"keyheat.session": outcome.session}
    try:
        collector.send(metrics(outcome), of, began_s=ended_s - outcome.took_s, at_s=ended_s)
    finally:
        collector.close()
