"""The demand of a table of one's own, for a scenario: of an incident, or as CloudWatch counted it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from keyheat.analysis.advice.replay import as_it_was, assumed_share
from keyheat.analysis.heat import insight_heats
from keyheat.analysis.thresholds import load_thresholds
from keyheat.analysis.timeline import timeline
from keyheat.analysis.verdict import groups
from keyheat.evidence.clients import boto3_clients, is_local
from keyheat.evidence.collection import collect_table
from keyheat.evidence.contributors import CONTRIBUTORS
from keyheat.intake.description import table_of
from keyheat.intake.measured import MeasuredTraffic, incident_traffic, measure_traffic
from keyheat.intake.scaling_of_aws import scaled_as
from keyheat.intake.tables import Source, SourceTable, source_of_facts
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES
from keyheat.runs.formats import HotKey, TableFacts, Verdict, read_diagnosis
from keyheat.runs.plausibility import read_evidence
from keyheat.runs.scaling import NOT_SCALED, AutoScaling


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """The table of a diagnosis as it was, its demand in its busiest throttled minute, and its verdict."""

    facts: TableFacts
    traffic: MeasuredTraffic
    verdict: Verdict
    scaling: AutoScaling | None = None  # None: not looked up

    @property
    def source(self) -> Source:
        """The table as a description of it."""
        unknown = AutoScaling(why="not looked up") if self.facts.billing_mode == "PROVISIONED" else NOT_SCALED
        return Source("a diagnosis", (scaled_as(source_of_facts(self.facts), self.scaling or unknown),))


def read_incident(folder: Path) -> Incident:
    """The incident in a folder of `keyheat diagnose`. Raises `ValueError` where its demand is not known."""
    diagnosis = read_diagnosis(folder / FILES[DIAGNOSIS])
    evidence = read_evidence(folder / FILES[EVIDENCE])
    traffic = incident_traffic(evidence)
    if traffic is None:
        raise ValueError(f"{folder} has no metrics of its table, so its demand is not known")
    arranged, labels = timeline(evidence), groups(diagnosis.labels)
    assumed = assumed_share(arranged, labels[0].heaviest) if labels else None
    return Incident(
        facts=as_it_was(evidence.table, arranged, traffic.peak_at.timestamp()),
        traffic=replace(traffic, hot_keys=_hot(diagnosis.hot_keys), hot_share=assumed),
        verdict=diagnosis.verdict,
        scaling=evidence.auto_scaling,
    )


def measured_demand(
    table: SourceTable, days: int, account: dict[str, Any]
) -> tuple[MeasuredTraffic | None, str]:
    """The demand that CloudWatch counted of a live table; None without any; and why something is assumed."""
    clients = boto3_clients(**account, local=is_local(account["endpoint_url"]), open_minute=True)
    indexes = [index["name"] for index in table_of(table.description)["indexes"] if not index["local"]]
    found = measure_traffic(clients("cloudwatch"), table.name, indexes, days=days, now=datetime.now(UTC))
    if found is None:
        return None, f"CloudWatch counts no request of {days} days: rates are assumed"
    evidence = collect_table(TableFacts(name=table.name), found.hour, **account, wait=False)
    hot = _hot(key for heat in insight_heats(evidence) for key in heat.hottest)
    unknown = (line for line in evidence.missing if line.startswith(CONTRIBUTORS) and not hot)
    return replace(found, hot_keys=hot), "".join(f"hot keys are assumed: {line}" for line in unknown)


def _hot(keys: Iterable[HotKey]) -> tuple[HotKey, ...]:
    share = load_thresholds().recommend.hot_share
    return tuple(key for key in keys if key.share >= share)
