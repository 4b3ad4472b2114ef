"""A table that others load: collect, label, compare with earlier hours; and its demand for a scenario."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from keyheat.analysis.advice.replay import (
    Incident,
    as_it_was,
    asked_per_s,
    assumed_share,
    incident_of,
    read_incident,
)
from keyheat.analysis.changes import Changes, changes
from keyheat.analysis.diagnosis import diagnosed
from keyheat.analysis.elsewhere import has_errors
from keyheat.analysis.facts import Facts, facts_of, throttled_spans
from keyheat.analysis.report import ReportRun, evidence_alone
from keyheat.analysis.rules import load_thresholds
from keyheat.evidence.cloudwatch import MetricSource, fetch
from keyheat.evidence.collection import EarlierRequest, collect_table, fetch_earlier
from keyheat.evidence.contributors import CONTRIBUTORS
from keyheat.evidence.survey import user_errors
from keyheat.evidence.table import Target
from keyheat.intake.measured import MeasuredTraffic, incident_traffic, worst_hour
from keyheat.intake.scaling import SERVICE, auto_scaling_of
from keyheat.intake.tables import Source, source_of_facts
from keyheat.plan.prices import Prices
from keyheat.runs.client import NO_RECORDS, Records
from keyheat.runs.formats import BEYOND, Diagnosis, Evidence, Verdict, Window
from keyheat.runs.plausibility import sound
from keyheat.runs.table_facts import NOT_SCALED, AutoScaling, TableFacts, region_of_arn
from keyheat.words import BROKEN, DONE, INVALID, WRITE, Capacity, Direction, Resource, index_of


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosedTable:
    """One table as it was diagnosed: its run, how to reach it, what a month is paid by."""

    run: ReportRun
    region: str
    options: str  # of an AWS CLI command that leads to the table
    prices: Prices
    alone: bool = False  # by files: no account was asked
    user_errors: float | None = None  # of the whole Region, where nothing throttled
    folder: Path | None = None  # where its files are
    changes: Changes | None = None  # from the time before; None: nothing throttled, or nothing is known

    @property
    def evidence(self) -> Evidence:
        assert self.run.evidence is not None, "it was collected"
        return self.run.evidence

    @property
    def scaled(self) -> AutoScaling:
        return self.evidence.auto_scaling or NOT_SCALED

    @property
    def table(self) -> TableFacts:
        return self.evidence.table


def exit_code_of(run: ReportRun) -> int:
    """0: nothing throttled; 1: something did, or failed inside DynamoDB; 3: the evidence does not decide."""
    verdict, facts = run.diagnosis.verdict, facts_of(run)
    if not verdict.valid:
        return INVALID
    failed = run.evidence is not None and has_errors(run.evidence)
    return BROKEN if verdict.constraint != "none" or facts.elsewhere or failed else DONE


def diagnosed_alone(evidence: Evidence, region: str | None, prices: Prices) -> DiagnosedTable:
    """The diagnosis of evidence for which no account was asked."""
    tried = _with_tried_cure(evidence, prices, REPLAY_S)
    run = evidence_alone(evidence, tried or diagnosed(evidence, prices=prices, replay_s=0))
    region = region or evidence.table.region or region_of_arn(evidence.table.arn or "")
    options = f"--region {region}" if region else ""
    resource = _resource_of(run)
    within = changes(evidence, run.labels_of(resource), resource, ()) if resource else None
    return DiagnosedTable(
        run=run, region=region or "", options=options, prices=prices, alone=True,
        changes=within if within and within.reference else None,
    )  # fmt: skip


REPLAY_S: Final = 600
"""Seconds of the demand on which a cure is tried, from 5 minutes before the throttles: 1 to 3 s of work."""


def diagnosed_live(
    table: str,
    window: Window,
    target: Target,
    prices: Prices,
    *,
    announce: Callable[[int], None],
    show_keys: bool,
    records: Records | None = None,
    replay_s: int = REPLAY_S,
) -> DiagnosedTable:
    """Collect the evidence of one table, `records` of its clients included, and diagnose it.

    `announce` is told how many metrics are requested before they are.
    The cure is tried on `replay_s` of its demand; with 0 it is by formula.
    """
    source = MetricSource(
        client_factory=target.factory, local=target.local, clock=target.now.timestamp, show_keys=show_keys,
        announce=announce,
    )  # fmt: skip
    collected = collect_table(
        source, TableFacts(name=table), window, wait=False, records=records or NO_RECORDS
    )
    evidence = sound(collected)
    diagnosis = diagnosed(evidence, prices=prices, replay_s=0)
    if any(label.constraint == "table" for label in diagnosis.labels):  # whose capacity scaling may undo
        evidence = evidence.model_copy(update={"auto_scaling": _scaled(evidence, target)})
        diagnosis = diagnosed(evidence, prices=prices, replay_s=0)
    tried = _with_tried_cure(evidence, prices, replay_s) if replay_s and diagnosis.labels else None
    run = evidence_alone(evidence, tried or diagnosis)
    refused = None
    if run.diagnosis.verdict.constraint == "none":
        announce(1)
        refused = user_errors(target, window)
    return DiagnosedTable(
        run=run, region=target.region, options=target.options, prices=prices,
        changes=_changes(run, evidence, target, announce), user_errors=refused,
    )  # fmt: skip


def _with_tried_cure(evidence: Evidence, prices: Prices, replay_s: int) -> Diagnosis | None:
    """Diagnose evidence, with the cure tried on a replay; None if that shows none of the throttles."""
    diagnosis = diagnosed(evidence, prices=prices, replay_s=replay_s)
    return diagnosis if any(advice.foreseen or advice.bill for advice in diagnosis.recommendations) else None


def _scaled(evidence: Evidence, target: Target) -> AutoScaling:
    """The auto scaling of a table that is too small; a local table that does not answer has none."""
    indexes = [index.name for index in evidence.table.indexes]
    scaling = auto_scaling_of(partial(target.factory, SERVICE), evidence.table.name, indexes)
    return NOT_SCALED if target.local and scaling.why else scaling


def _changes(
    run: ReportRun, evidence: Evidence, target: Target, announce: Callable[[int], None]
) -> Changes | None:
    """What changed from the time before, for what throttled most; None where nothing throttled."""
    resource = _resource_of(run)
    if resource is None:
        return None
    request = EarlierRequest(
        table=evidence.table, direction=resource.direction, window=evidence.window, now=target.now
    )
    announce(request.metrics)
    return changes(evidence, run.labels_of(resource), resource, list(fetch_earlier(target.factory, request)))


def _resource_of(run: ReportRun) -> Resource | None:
    """What throttled most; None where nothing throttled."""
    verdict = run.diagnosis.verdict
    return Resource(index_of(verdict.resource), verdict.direction) if verdict.direction else None


def beyond_after(run: ReportRun, facts: Facts) -> Iterator[tuple[str | None, float, float]]:
    """The table (None) and each index with less capacity than the writes take of it, once what throttles them
    lets them through: its name, the units/s that they take, and those that it has."""
    index, direction = facts.resource.index, facts.resource.direction
    table = run.arranged.track(None, WRITE) if run.arranged and direction is WRITE else None
    cells = table.consumed_cells(throttled_spans(run.labels_of(facts.resource))) if table else []
    written = sum((table.consumed or {})[cell] for cell in cells) if table else 0.0
    if run.arranged is None or table is None or not written:
        return
    demand_per_s = facts.asked_per_s or facts.at_least_per_s
    if index is not None:
        refused = {cell: table.units_of_refused * run.arranged.refused_by_indexes(cell) for cell in cells}
        demand_per_s = max((table.consumed or {})[cell] + refused[cell] for cell in cells) / table.step_s
    for track in (table, *run.arranged.indexes(WRITE)):
        taken = sum((track.consumed or {}).get(cell, 0.0) for cell in cells)
        has_per_s = track.provisioned.highest_at(cells[-1])
        if track.index == index or has_per_s is None or track.on_demand or demand_per_s is None:
            continue
        takes_per_s = demand_per_s * taken / written
        if takes_per_s > (1 + BEYOND) * has_per_s:
            yield track.index, takes_per_s, has_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedTable:
    """A scenario's table: of an incident as it was, with its demand in its busiest throttled minute."""

    facts: TableFacts
    traffic: MeasuredTraffic
    verdict: Verdict
    scaling: AutoScaling | None = None  # None: not looked up

    @property
    def source(self) -> Source:
        """The table as a description of it."""
        facts, notes = self.facts, tuple[str, ...]()
        if provisioned := facts.provisioned:
            unknown = [side for side in Direction if provisioned.of(side) is None]
            least = {side.value: provisioned.of(side) or 1.0 for side in Direction}
            facts = facts.model_copy(update={"provisioned": Capacity(**least)})
            notes = tuple(f"the {side} capacity of then; 1 unit/s is assumed" for side in unknown)
        not_seen = AutoScaling(why="not looked up") if facts.billing_mode == "PROVISIONED" else NOT_SCALED
        table = source_of_facts(facts).with_auto_scaling(self.scaling or not_seen)
        return Source("a diagnosis", (replace(table, notes=(*table.notes, *notes)),))


def replayed_table(folder: Path) -> ReplayedTable:
    """The incident in a folder of `keyheat diagnose`. Raises `ValueError` where its demand is not known."""
    replayed = _replayed(read_incident(folder))
    if replayed is None:
        raise ValueError(f"{folder} has no metrics of its table, so its demand is not known")
    return replayed


def _replayed(incident: Incident, hour: str | None = None) -> ReplayedTable | None:
    """The table and the demand of an incident, or of an `hour` of a table; None without metrics."""
    traffic = incident_traffic(incident.evidence)
    if traffic is None:
        return None
    label, assumed = incident.heaviest, None
    arranged = replace(  # let throttled reads take what the scenario's do, where the evidence does not tell
        incident.arranged,
        tracks=tuple(
            replace(track, units_per_request=traffic.units_per_read)
            if track.direction is Direction.READ and track.units_per_request is None
            else track
            for track in incident.arranged.tracks
        ),
    )
    if label and (share := assumed_share(arranged, label)):
        assumed = index_of(label.resource), share
    peak_s = traffic.peak_at.timestamp()
    return ReplayedTable(
        facts=as_it_was(incident.evidence.table, incident.arranged, peak_s),
        traffic=replace(
            traffic,
            hour=hour,
            hot_keys=incident.hot_keys(load_thresholds().recommend.hot_share),
            hot_share=assumed,
            asked_per_s=asked_per_s(arranged, peak_s),
        ),
        verdict=incident.diagnosis.verdict,
        scaling=incident.evidence.auto_scaling,
    )


def measured_table(table: str, days: int, target: Target) -> tuple[ReplayedTable | None, str]:
    """A live table with the demand of its worst hour; None without any; and why something is assumed.

    Raises `NotTaken` if CloudWatch does not answer.
    """
    worst = worst_hour(partial(fetch, target.factory, table), days=days, now=target.now)
    replayed = None
    if worst is not None:
        source = MetricSource(client_factory=target.factory, local=target.local, clock=target.now.timestamp)
        evidence = sound(collect_table(source, TableFacts(name=table), worst.window, wait=False))
        replayed = _replayed(incident_of(evidence, diagnosed(evidence, replay_s=0)), worst.name)
    if replayed is None:
        return None, f"CloudWatch counts no request of {days} days: rates are assumed"
    unknown = [line for line in evidence.missing if line.startswith(CONTRIBUTORS)]
    hot = replayed.traffic.hot_keys
    return replayed, "".join(f"hot keys are assumed: {line}" for line in unknown if not hot)
