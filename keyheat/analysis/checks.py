"""Check a scenario's thresholds against the measurements; an unmeasured threshold is broken.

Except: a simulated run has no latencies or items, and an endpoint without a capacity model has no throttles,
so that thresholds on those stay undecided.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from keyheat.numbers import exact_percent, some
from keyheat.runs.client import ClientFiles
from keyheat.runs.endpoints import NO_CAPACITY_MODEL
from keyheat.runs.formats import Evidence, ThresholdResult, Verdict
from keyheat.scenario.scenario import ThresholdsSpec

SIMULATION: Final = "a simulation cannot measure it"
NO_MODEL: Final = "this endpoint has no capacity model"
LESS_SENT: Final = "the load generator was the limit"
WRONG: Final = {
    "reads.missing": ("item was not found", "items were not found"),
    "reads.duplicate": ("was found twice", "were found twice"),
    "reads.misordered": ("came out of order", "came out of order"),
}


def check(
    spec: ThresholdsSpec,
    verdict: Verdict,
    evidence: Evidence,
    client: ClientFiles | None,
    *,
    bound: bool = False,
) -> Iterator[ThresholdResult]:
    """Yield one result for each threshold of the scenario.

    `bound`: the generator was the limit. Then few throttles may mean too little demand, and latencies are the
    generator's.
    """
    unlimited = verdict.rule == NO_CAPACITY_MODEL
    if spec.throttle_share_max is not None:
        share = None if unlimited else throttle_share(evidence, client)
        open_by = NO_MODEL if unlimited else None
        if bound and share is not None and share <= spec.throttle_share_max:
            share, open_by = None, LESS_SENT
        yield _at_most("throttle_share_max", spec.throttle_share_max, share, exact_percent, open_by=open_by)
    if spec.error_share_max is not None:
        yield _at_most("error_share_max", spec.error_share_max, error_share(client), exact_percent)
    open_by = SIMULATION if client and client.manifest and client.manifest.simulated else None
    if spec.p99_ms_max is not None:
        p99_ms = client.p99_ms if client and not bound else None
        why = LESS_SENT if bound else open_by
        yield _at_most("p99_ms_max", spec.p99_ms_max, p99_ms, "{:,.1f} ms".format, open_by=why)
    if spec.wrong_reads_max is not None:
        wrong = wrong_reads(client)
        yield _at_most("wrong_reads_max", spec.wrong_reads_max, wrong, "{:,.0f}".format, open_by=open_by)
    if spec.constraint is not None:
        yield ThresholdResult(
            name="constraint",
            allowed=spec.constraint,
            measured=NO_MODEL if unlimited else verdict.constraint,
            broken=not unlimited and verdict.constraint != spec.constraint,
            decided=not unlimited,
        )


def throttle_share(evidence: Evidence, client: ClientFiles | None) -> float | None:
    """Throttled attempts per attempt of the client; None if not counted."""
    totals = client.manifest.totals if client and client.manifest else None
    if totals is not None:
        return totals.throttled / totals.attempts if totals.attempts else None
    rows = [row for row in evidence.seconds or () if row.index is None]
    attempts = sum(row.attempts for row in rows)
    return sum(row.throttled for row in rows) / attempts if attempts else None


def error_share(client: ClientFiles | None) -> float | None:
    """Share of attempts that failed without a throttle; None if not counted."""
    totals = client.manifest.totals if client and client.manifest else None
    return totals.errors / totals.attempts if totals and totals.attempts else None


def _at_most(
    name: str,
    allowed: float,
    measured: float | None,
    form: Callable[[float], str],
    *,
    open_by: str | None = None,
) -> ThresholdResult:
    """Check an upper limit; unmeasured is broken, unless `open_by` says why it cannot be measured."""
    value = "not measured" if measured is None else form(measured)
    decided = measured is not None or not open_by
    return ThresholdResult(
        name=name,
        allowed=f"at most {form(allowed)}",
        measured=value if decided else str(open_by),
        broken=decided and (measured is None or measured > allowed),
        decided=decided,
    )


def wrong_reads(client: ClientFiles | None) -> int | None:
    """Missing, duplicate and misordered items of all checked reads; None without checked reads."""
    counted = _counters(client)
    if not counted.get("reads.checked"):
        return None
    return sum(round(counted.get(name, 0)) for name in WRONG)


def with_reads(verdict: Verdict, client: ClientFiles | None) -> Verdict:
    """Put wrong reads, if any, at the front of the verdict."""
    if not wrong_reads(client):
        return verdict
    counted = _counters(client)
    errors = [
        f"{number:,} {singular if number == 1 else plural}"
        for name, (singular, plural) in WRONG.items()
        if (number := round(counted.get(name, 0)))
    ]
    checked = some(round(counted["reads.checked"]), "checked read")
    message = f"Reads were wrong: of the items that {checked} should have returned, {', '.join(errors)}."
    return verdict.model_copy(update={"because": (message, *verdict.because)})


def _counters(client: ClientFiles | None) -> Mapping[str, float]:
    return client.manifest.counted if client and client.manifest else {}
