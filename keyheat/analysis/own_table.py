"""The demand of a table of one's own, for a scenario: of an incident, or as CloudWatch counted it."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keyheat.analysis.advice.replay import asked_per_s, assumed_share, read_incident
from keyheat.analysis.advice.table_then import as_it_was
from keyheat.analysis.heat import hot_keys_of, index_heats_of, insight_heats
from keyheat.analysis.thresholds import load_thresholds
from keyheat.analysis.timeline import EvidenceTimeline
from keyheat.evidence.clients import boto3_clients, is_local
from keyheat.evidence.collection import collect_table
from keyheat.evidence.contributors import CONTRIBUTORS
from keyheat.intake.description import table_of
from keyheat.intake.measured import HotShare, MeasuredTraffic, incident_traffic, measure_traffic
from keyheat.intake.tables import Source, SourceTable, source_of_facts
from keyheat.runs.formats import Verdict
from keyheat.runs.table_facts import NOT_SCALED, AutoScaling, TableFacts
from keyheat.words import Capacity, Direction, index_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedTable:
    """The table of an incident as it was, its demand in its busiest throttled minute, and its verdict."""

    facts: TableFacts
    traffic: MeasuredTraffic
    verdict: Verdict
    scaling: AutoScaling | None = None  # None: not looked up

    @property
    def source(self) -> Source:
        """The table as a description of it."""
        unknown = AutoScaling(why="not looked up") if self.facts.billing_mode == "PROVISIONED" else NOT_SCALED
        table = source_of_facts(self.facts).with_auto_scaling(self.scaling or unknown)
        return Source("a diagnosis", (table,))


def replayed_table(folder: Path) -> ReplayedTable:
    """The incident in a folder of `keyheat diagnose`. Raises `ValueError` where its demand is not known."""
    incident = read_incident(folder)
    traffic = incident_traffic(incident.evidence)
    if traffic is None:
        raise ValueError(f"{folder} has no metrics of its table, so its demand is not known")
    label, assumed = incident.heaviest, None
    arranged = _with_units_of_reads(incident.arranged, traffic.units_per_read)
    if label and (share := assumed_share(arranged, label)):
        assumed = HotShare(index_of(label.resource), share)
    hot = incident.hot_keys(load_thresholds().recommend.hot_share)
    facts = as_it_was(incident.evidence.table, incident.arranged, traffic.peak_at.timestamp())
    unknown = [side for side in Direction if facts.provisioned and facts.provisioned.of(side) is None]
    if facts.provisioned and unknown:
        least = {side.value: facts.provisioned.of(side) or 1.0 for side in Direction}
        facts = facts.model_copy(update={"provisioned": Capacity(**least)})
    return ReplayedTable(
        facts=facts,
        traffic=replace(
            traffic,
            notes=traffic.notes
            + tuple(f"the {side} capacity of then; 1 unit/s is assumed" for side in unknown),
            hot_keys=hot,
            hot_share=assumed,
            asked_per_s=asked_per_s(arranged, traffic.peak_at.timestamp()),
        ),
        verdict=incident.diagnosis.verdict,
        scaling=incident.evidence.auto_scaling,
    )


def _with_units_of_reads(arranged: EvidenceTimeline, units: float | None) -> EvidenceTimeline:
    """Let throttled reads take `units` each, as the scenario's do, where the evidence does not tell."""
    return replace(
        arranged,
        tracks=tuple(
            replace(track, units_per_request=units)
            if track.direction is Direction.READ and track.units_per_request is None
            else track
            for track in arranged.tracks
        ),
    )


def measured_demand(
    table: SourceTable, days: int, account: dict[str, Any]
) -> tuple[MeasuredTraffic | None, str]:
    """The demand that CloudWatch counted of a live table; None without any; and why something is assumed."""
    clients = boto3_clients(**account, local=is_local(account["endpoint_url"]), open_minute=True)
    indexes = [index["name"] for index in table_of(table.description)["indexes"] if not index["local"]]
    traffic = measure_traffic(clients("cloudwatch"), table.name, indexes, days=days, now=datetime.now(UTC))
    if traffic is None:
        return None, f"CloudWatch counts no request of {days} days: rates are assumed"
    evidence = collect_table(TableFacts(name=table.name), traffic.hour, **account, wait=False)
    heats = (*insight_heats(evidence), *index_heats_of(evidence, None))
    hot = hot_keys_of(heats, load_thresholds().recommend.hot_share)
    unknown = (line for line in evidence.missing if line.startswith(CONTRIBUTORS) and not hot)
    return replace(traffic, hot_keys=hot), "".join(f"hot keys are assumed: {line}" for line in unknown)
