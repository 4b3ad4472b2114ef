"""A scenario's thresholds held against what was measured. What was not measured has not been met."""

from collections.abc import Callable, Iterator

from analyzers.client import ClientFiles
from analyzers.formats import Evidence, ThresholdResult, Verdict
from analyzers.numbers import exact_percent
from analyzers.reads import wrong_reads
from tablemodel.scenario import ThresholdsSpec


def check(
    spec: ThresholdsSpec, verdict: Verdict, evidence: Evidence, client: ClientFiles | None
) -> tuple[ThresholdResult, ...]:
    """One result for each threshold that the scenario states."""
    return tuple(_results(spec, verdict, evidence, client))


def _results(
    spec: ThresholdsSpec, verdict: Verdict, evidence: Evidence, client: ClientFiles | None
) -> Iterator[ThresholdResult]:
    if spec.throttle_share_max is not None:
        yield _at_most(
            "throttle_share_max", spec.throttle_share_max, throttle_share(evidence, client), exact_percent
        )
    if spec.error_share_max is not None:
        yield _at_most("error_share_max", spec.error_share_max, error_share(client), exact_percent)
    if spec.p99_ms_max is not None:
        yield _at_most("p99_ms_max", spec.p99_ms_max, client.p99_ms if client else None, "{:,.1f} ms".format)
    if spec.wrong_reads_max is not None:
        yield _at_most("wrong_reads_max", spec.wrong_reads_max, wrong_reads(client), "{:,.0f}".format)
    if spec.constraint is not None:
        yield ThresholdResult(
            name="constraint",
            allowed=spec.constraint,
            measured=verdict.constraint,
            broken=verdict.constraint != spec.constraint,
        )


def throttle_share(evidence: Evidence, client: ClientFiles | None) -> float | None:
    """Throttled attempts per attempt of the client; None where it kept no count."""
    totals = client.manifest.totals if client and client.manifest else None
    if totals is not None:
        return totals.throttled / totals.attempts if totals.attempts else None
    rows = [row for row in evidence.seconds or () if row.index is None]
    attempts = sum(row.attempts for row in rows)
    return sum(row.throttled for row in rows) / attempts if attempts else None


def error_share(client: ClientFiles | None) -> float | None:
    """Attempts that failed for another reason than a throttle, per attempt; None where nobody counted."""
    totals = client.manifest.totals if client and client.manifest else None
    return totals.errors / totals.attempts if totals and totals.attempts else None


def _at_most(
    name: str, allowed: float, measured: float | None, form: Callable[[float], str]
) -> ThresholdResult:
    said = "not measured" if measured is None else form(measured)
    broken = measured is None or measured > allowed
    return ThresholdResult(name=name, allowed=f"at most {form(allowed)}", measured=said, broken=broken)
