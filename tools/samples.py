"""Runs as loads leave them, made by the simulator: to see pages, and to spoil files, without a load."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
from hdrh.histogram import HdrHistogram

from keyheat.cli.simulate import diagnosed
from keyheat.evidence.simulated import evidence_of
from keyheat.runfiles import EVIDENCE, FILES, LATENCY, RUN
from keyheat.runs.formats import Evidence, write_evidence
from keyheat.scenario.variants import lasting, overridden
from keyheat.simulator.folder import write_run
from keyheat.simulator.jobs import find_scenario
from keyheat.simulator.simulate import simulate
from keyheat.words import Constraint

START: Final = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One story that a run can tell: a scenario of ours, and what is otherwise than in it."""

    scenario: str
    expects: Constraint | None = None
    """What the scenario said beforehand, where it was wrong."""
    asked_per_s: float | None = None
    """Requests per second of the scenario, where the generator could not send them."""
    reasons: bool = True
    """Whether the endpoint gave reasons, and anything but throttles was recorded."""


SAMPLES: Final[Mapping[str, Sample]] = {
    "hotkey": Sample(scenario="hotkey"),
    "datekey": Sample(scenario="datekey"),
    "sharded": Sample(scenario="sharded"),
    "too-small": Sample(scenario="too-small", expects="partition"),
    "generator-bound": Sample(scenario="sharded", asked_per_s=600),
    "undetermined": Sample(scenario="hotkey", reasons=False),
}


def make_run(name: str, folder: Path, *, seconds: int = 60, settings: tuple[str, ...] = ()) -> Path:
    """Write all files of a sample into `folder`, with its diagnosis."""
    sample = SAMPLES[name]
    shipped, path = find_scenario(sample.scenario)
    said = {"name": name, "expects": sample.expects or shipped.expects}
    scenario = lasting(overridden(shipped, settings, name), seconds).model_copy(update=said)
    simulation = simulate(scenario, started_s=START.timestamp())
    write_run(simulation, folder, scenario_path=str(path))
    write_evidence(folder / FILES[EVIDENCE], _seen(evidence_of(simulation), sample))
    manifest = folder / FILES[RUN]
    content = json.loads(manifest.read_bytes())
    manifest.write_text(json.dumps(content | _loaded(content, sample, seconds)))
    _write_latency(folder / FILES[LATENCY], content["totals"])
    diagnosed(folder)
    return folder


def _seen(evidence: Evidence, sample: Sample) -> Evidence:
    told = evidence.model_copy(update={"source": "aws"})
    if sample.reasons:
        return told
    nameless = tuple(row.model_copy(update={"reason": None}) for row in evidence.throttles or ())
    return told.model_copy(update={"series": (), "throttles": nameless, "seconds": None})


def _loaded(content: Mapping[str, Any], sample: Sample, seconds: int) -> dict[str, Any]:
    """What the manifest of a load has beside a simulation's."""
    sent = content["totals"]["attempts"] / seconds
    asked, bound = sample.asked_per_s or sent, sample.asked_per_s is not None
    checks = (
        f"Sent {sent:,.0f} of {asked:,.0f} requests/s of demand.",
        f"Busiest process at {99 if bound else 41} % of a core.",
        f"Event loop {310 if bound else 3} ms late (p99).",
    )
    return {
        "target": "local", "region": "us-east-1", "transport": "signed", "processes": 1,
        "generator": {
            "bound": bound, "fell_behind": bound, "checks": checks,
            "asked_per_s": asked, "achieved_per_s": sent, "late_ms_p99": 480.0 if bound else 1.4,
        },
    }  # fmt: skip


def _write_latency(path: Path, totals: Mapping[str, Any]) -> None:
    rng, lines = np.random.default_rng(1), [f"#[{LATENCY}]"]
    for outcome, median_us in (("accepted", 900), ("throttled", 420)):
        if not totals[outcome]:
            continue
        histogram = HdrHistogram(1, 60_000_000, 3)
        for value in np.clip(rng.lognormal(np.log(median_us), 0.35, 4_000), 50, 900_000).astype(int).tolist():
            histogram.record_value(value, max(1, totals[outcome] // 4_000))
        longest_s = histogram.get_max_value() / 1e6
        lines.append(f"Tag=PutItem.{outcome},0.0,1.0,{longest_s:.6f},{histogram.encode().decode()}")
    path.write_text("\n".join([*lines, ""]))
