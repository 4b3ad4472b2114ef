"""Whether a fix fixed it: runs of a scenario as it was, held against runs with the recommendation taken.

    as it was   throttles by the limit     else nothing is shown
    fixed       hardly a throttle          fixed
                by the same limit          not fixed
                by another limit only      moved

A fixed one that consumes more than is provisioned lives on what was saved: once that is spent it is throttled
by that capacity, and so it is taken to be.

Both sides are sent the same demand with the same seeds, one after the other by turns, so that neither has the
quieter machine.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from keyheat.analysis.advice.demand import Limit
from keyheat.analysis.advice.rerun import dollars_per_month
from keyheat.analysis.groups import groups
from keyheat.analysis.loaded_step import Burst, beyond_provisioned
from keyheat.analysis.run_result import RunResult, measure, most_provisioned
from keyheat.analysis.summary import read_summary
from keyheat.plan.bill import pre_warming, provisioned_month
from keyheat.plan.prices import Billing, Prices
from keyheat.plan.quotas import capacities_of
from keyheat.runfiles import DIAGNOSIS, FILES
from keyheat.runs.formats import HARDLY, Diagnosis, read_diagnosis
from keyheat.runs.manifest import Manifest, read_manifest
from keyheat.runs.run import read_seconds
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.spec.tables import TableSpec

Kind = Literal["fixed", "not_fixed", "moved", "not_shown", "invalid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One run of either side, in numbers."""

    folder: Path
    diagnosis: Diagnosis
    manifest: Manifest
    measured: RunResult
    dollars_per_month: float | None
    measures: Mapping[str, float]  # of its summary
    on_burst: Burst | None = None  # who consumes more than is provisioned, in words

    @property
    def valid(self) -> bool:
        """Whether it says something about its table."""
        return self.diagnosis.verdict.valid

    @property
    def attempts(self) -> int:
        return self.measured.attempts

    @property
    def throttles(self) -> int:
        """Attempts that were throttled."""
        return self.measured.throttled

    @property
    def throttled_share(self) -> float:
        return self.measured.throttled_share or 0.0

    @property
    def throttles_notably(self) -> bool:
        """Whether there are more throttles than an application notices."""
        return self.diagnosis.verdict.constraint != "none" and self.throttled_share > HARDLY

    @property
    def limits(self) -> dict[Limit, int]:
        """Throttles by the limit that refused them, the most first."""
        return {group.limit: group.throttles for group in groups(self.diagnosis.labels)}

    def notably_by(self, limit: Limit) -> bool:
        """Whether a limit alone refused more than an application notices."""
        return bool(self.attempts) and self.limits.get(limit, 0) / self.attempts > HARDLY


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What came of it. `limit` is the one that was to be fixed, `now` the one that throttles afterwards."""

    kind: Kind
    limit: Limit
    before: tuple[Tried, ...]
    after: tuple[Tried, ...]
    now: Limit | None = None
    on_burst: str | None = None  # nothing throttles yet, and why it will
    invalid: tuple[Path, ...] = ()


def tried(
    folder: Path,
    scenario: Scenario,
    billing: Billing,
    *,
    replayed: bool = False,
    table_now: TableSpec | None = None,
) -> Tried:
    """A run directory with a diagnosis; `replayed`: of an incident's demand. Raises `FileProblem`.

    What a month costs is of `table_now` where that is known: its capacity may have been changed since.
    """
    manifest = read_manifest(folder)
    numbers, most = measure(manifest, read_seconds(folder)), most_provisioned(manifest, scenario)
    month = provisioned_month(table_now, billing.prices) if table_now else None
    return Tried(
        folder=folder,
        diagnosis=read_diagnosis(folder / FILES[DIAGNOSIS]),
        manifest=manifest,
        measured=numbers,
        dollars_per_month=month or month_of(scenario, numbers, manifest.scale, billing, replayed=replayed),
        measures=read_summary(folder).measures,
        on_burst=None if scenario.timeline else beyond_provisioned(numbers.sides, most),
    )


def month_of(
    scenario: Scenario, numbers: RunResult, scale: float, billing: Billing, *, replayed: bool = False
) -> float | None:
    """Dollars of a month with the demand of a run, of an incident that is replayed in the busier half."""
    per_s = {
        side: traffic.going_on_per_s if replayed else traffic.units_per_s
        for side, traffic in numbers.sides.items()
    }
    known = {side: rate for side, rate in per_s.items() if rate is not None}
    enough = known if len(known) == len(per_s) else None  # else it was too short
    return dollars_per_month(scenario, enough, billing, scale)


def once_dollars(scenario: Scenario, prices: Prices) -> float | None:
    """What pre-warming is paid once; None where it is not done, or has no price."""
    own = [table for table in capacities_of(scenario) if table.table == scenario.table.name]
    dollars = [line.each_dollars and line.quantity * line.each_dollars for line in pre_warming(own, prices)]
    known = [each for each in dollars if each is not None]
    return sum(known) if known and len(known) == len(dollars) else None


def proof_of(limit: Limit, before: Sequence[Tried], after: Sequence[Tried]) -> Proof:
    """Hold both sides against each other; every repetition has to say the same of a fix."""
    (kind, now), on_burst = _judged(limit, before, after), None
    if kind == "fixed" and (beyond := [run.on_burst for run in after if run.on_burst]):
        resource, direction, on_burst = beyond[0]
        now = ("table", resource, direction)
        kind = "not_fixed" if now == limit else "moved"
    return Proof(
        kind=kind,
        limit=limit,
        before=tuple(before),
        after=tuple(after),
        now=now,
        on_burst=on_burst,
        invalid=tuple(run.folder for run in (*before, *after) if not run.valid),
    )


def _judged(limit: Limit, before: Sequence[Tried], after: Sequence[Tried]) -> tuple[Kind, Limit | None]:
    if not before or not after or not all(run.valid for run in (*before, *after)):
        return "invalid", None
    if not all(run.notably_by(limit) for run in before):
        return "not_shown", None
    throttling = [run for run in after if run.throttles_notably]
    if not throttling:
        return "fixed", None
    if any(run.notably_by(limit) for run in throttling):
        return "not_fixed", limit
    return "moved", next(iter(throttling[0].limits))
