"""The outcome as metrics, whatever system takes them: each with its name, unit, meaning and points."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from keyheat.analysis.measures.catalogue import MEASURES
from keyheat.regression.outcome import Outcome, medians

PREFIX: Final = "keyheat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A gauge: what stood when the regress ended. Its name is dotted, `keyheat.gate.failed`."""

    name: str
    unit: str
    says: str
    points: tuple[tuple[Mapping[str, str], float], ...]


def metrics(outcome: Outcome) -> tuple[Metric, ...]:
    """All that have at least one point; what is not known is left out, and never zero."""
    found = (*_session(outcome), *_runs(outcome), *_gates(outcome), *_measures(outcome))
    return tuple(metric for metric in found if metric.points)


def _session(outcome: Outcome) -> Iterator[Metric]:
    suite = {"suite": outcome.suite}
    for name, unit, says, value in (
        ("exit_code", "", "what keyheat regress ended with: 0 as good as it was", float(outcome.exit_code)),
        ("forced", "", "1: compared although the setups differ", float(outcome.forced)),
        ("duration", "s", "from the first run to the verdict", outcome.took_s),
        ("ended_timestamp", "s", "when it ended, since 1970", outcome.ended_at.timestamp()),
    ):
        yield Metric(name=f"{PREFIX}.regress.{name}", unit=unit, says=says, points=((suite, value),))


def _runs(outcome: Outcome) -> Iterator[Metric]:
    cases = [({"suite": outcome.suite, "case": case.name}, case.after) for case in outcome.cases]
    yield Metric(
        name=f"{PREFIX}.regress.runs", unit="", says="runs that were made",
        points=tuple((labels, float(len(runs))) for labels, runs in cases),
    )  # fmt: skip
    yield Metric(
        name=f"{PREFIX}.regress.invalid_runs", unit="", says="runs that say nothing about their table",
        points=tuple((labels, float(sum(not run.valid for run in runs))) for labels, runs in cases),
    )  # fmt: skip


def _gates(outcome: Outcome) -> Iterator[Metric]:
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


def _measures(outcome: Outcome) -> Iterator[Metric]:
    found = {case.name: medians([run for run in case.after if run.valid]) for case in outcome.cases}
    for measure in MEASURES.values():
        yield Metric(
            name=f"{PREFIX}.measure.{measure.name}", unit=measure.unit,
            says=f"{measure.says}; median of the valid runs",
            points=tuple(
                ({"suite": outcome.suite, "case": case}, values[measure.name])
                for case, values in found.items()
                if measure.name in values
            ),
        )  # fmt: skip
