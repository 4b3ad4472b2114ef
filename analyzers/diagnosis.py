"""The analyzer's answer: evidence in; labels, verdict, hot keys, recommendations and coverage out."""

from collections.abc import Sequence
from pathlib import Path

from analyzers.cases import Case
from analyzers.checks import check
from analyzers.client import ClientFiles, read_client_files, read_records
from analyzers.demand import demand
from analyzers.evidence import run_window
from analyzers.facts import partition_ceiling
from analyzers.formats import (
    Coverage,
    Diagnosis,
    Evidence,
    GeneratorFacts,
    Label,
    Recommendation,
    read_evidence,
)
from analyzers.growth import with_growth
from analyzers.heat import Heat, heat
from analyzers.labels import label
from analyzers.reads import with_reads
from analyzers.recommendations import recommend
from analyzers.thresholds import Thresholds, load_thresholds
from analyzers.timeline import Timeline, timeline
from analyzers.verdict import Group, groups, verdict
from analyzers.words import sentence
from tablemodel import runfiles
from tablemodel.runfiles import FileProblem
from tablemodel.scenario import Scenario, ScenarioError, scenario_from_dict


def analyze_run(run_dir: Path, *, numbers: Thresholds | None = None) -> Diagnosis:
    """The diagnosis of a run directory, from the files that are there; `coverage.missing` lists the others.

    Without `evidence.json` the client's records alone are the evidence. Raises `FileProblem` where neither it
    nor the manifest can be read, or where the labelling numbers are wrong.
    """
    client = read_client_files(run_dir)
    missing: tuple[str, ...] = ()
    try:
        evidence = read_evidence(run_dir / runfiles.FILES[runfiles.EVIDENCE])
    except FileProblem as problem:
        evidence = _evidence_of_client(run_dir, client, problem)
        missing = (str(problem),)
    scenario, wrong = _scenario(client)
    client = ClientFiles(
        manifest=client.manifest,
        keys=client.keys,
        p99_ms=client.p99_ms,
        missing=(*missing, *client.missing, *wrong),
    )
    return diagnose(evidence, client=client, thresholds=numbers or load_thresholds(), scenario=scenario)


def analyze_evidence(path: Path, *, numbers: Thresholds | None = None) -> Diagnosis:
    """The diagnosis of an evidence file alone. Raises `FileProblem`."""
    return diagnose(read_evidence(path), client=None, thresholds=numbers or load_thresholds(), scenario=None)


def diagnose(
    evidence: Evidence, *, client: ClientFiles | None, thresholds: Thresholds, scenario: Scenario | None
) -> Diagnosis:
    """Label, judge and advise. `client` is None where the load was not ours."""
    heats = _heats(evidence, client)
    labels = with_growth(label(evidence, thresholds), evidence, heats, thresholds)
    generator = _generator(client)
    judged = verdict(labels, evidence, client=client, generator=generator, numbers=thresholds)
    judged = with_reads(judged, client)
    return Diagnosis(
        verdict=judged,
        labels=labels,
        hot_keys=tuple(key for one in _first(judged.direction, heats) for key in one.hottest),
        recommendations=_advice(labels, evidence, heats, thresholds) if judged.constraint != "none" else (),
        generator=generator,
        coverage=_coverage(evidence, client),
        thresholds=check(scenario.thresholds, judged, evidence, client) if scenario else (),
    )


def _evidence_of_client(run_dir: Path, client: ClientFiles, problem: FileProblem) -> Evidence:
    """Evidence without CloudWatch, for a run whose `collect` never happened."""
    if client.manifest is None:
        raise FileProblem("\n".join(("nothing to analyze", str(problem), *client.missing))) from problem
    records = read_records(run_dir)
    moments = [row.second for row in records.throttles or ()]
    moments += [row.second for row in records.seconds or ()]
    ended = client.manifest.ended_at or max(moments, default=client.manifest.started_at)
    return Evidence(
        table=client.manifest.table,
        window=run_window(client.manifest, ended.timestamp()),
        series=(),
        throttles=records.throttles,
        seconds=records.seconds,
        scale=client.manifest.scale,
        missing=records.missing,
    )


def _scenario(client: ClientFiles) -> tuple[Scenario | None, tuple[str, ...]]:
    raw = client.manifest.scenario if client.manifest else None
    if raw is None:
        return None, ()
    try:
        return scenario_from_dict(dict(raw), "run.json"), ()
    except ScenarioError as error:
        return None, (f"the scenario and its thresholds: {error}",)


def _heats(evidence: Evidence, client: ClientFiles | None) -> tuple[Heat, ...]:
    if client is None or client.keys is None:
        return ()
    duration_s = (evidence.window.end - evidence.window.start).total_seconds()
    if client.manifest and client.manifest.ended_at:
        duration_s = (client.manifest.ended_at - client.manifest.started_at).total_seconds()
    return tuple(heat(client.keys, direction, duration_s) for direction in ("write", "read"))


def _first(direction: str | None, heats: Sequence[Heat]) -> list[Heat]:
    """The heat of the verdict's direction before that of the other."""
    return sorted(heats, key=lambda one: one.direction != direction)


def _generator(client: ClientFiles | None) -> GeneratorFacts:
    if client is None:
        return GeneratorFacts(bound=False, checks=("No load of ours: the evidence alone was analyzed.",))
    found = client.manifest.generator if client.manifest else None
    if found is None:
        return GeneratorFacts(bound=False, checks=("The generator's health was not recorded.",))
    return GeneratorFacts(bound=found.bound, checks=tuple(map(sentence, found.checks)))


def _advice(
    labels: Sequence[Label], evidence: Evidence, heats: Sequence[Heat], numbers: Thresholds
) -> tuple[Recommendation, ...]:
    """Advice for every constraint that was found, mitigations first, each said once."""
    arranged = timeline(evidence)
    cases = [_case(group, arranged, heats, numbers) for group in groups(labels)]
    found = dict.fromkeys(advice for case in cases for advice in recommend(case))
    return tuple(sorted(found, key=lambda advice: advice.kind == "cure"))


def _case(group: Group, arranged: Timeline, heats: Sequence[Heat], numbers: Thresholds) -> Case:
    """What was measured about a constraint, in the units of a table at scale 1."""
    track = arranged.track(None if group.resource == "table" else group.resource, group.direction)
    heaviest, scale = group.heaviest, arranged.scale
    asked = demand(track, heaviest) if track else None
    given = track.provisioned.at(heaviest.start.timestamp()) if track else None
    heat_of = next((one for one in heats if one.direction == group.direction), None)
    return Case(
        constraint=group.constraint,
        resource=group.resource,
        direction=group.direction,
        rule=heaviest.rule,
        demand=asked.unscaled(scale) if asked else None,
        provisioned=None if given is None else given / scale,
        warm=track.warm / scale if track and track.warm else None,
        heat=heat_of.unscaled(scale) if heat_of else None,
        ceiling=partition_ceiling(group.direction),
        numbers=numbers.recommend,
    )


def _coverage(evidence: Evidence, client: ClientFiles | None) -> Coverage:
    minutes = max(0, round((evidence.window.end - evidence.window.start).total_seconds() / 60))
    health = client.manifest.generator if client and client.manifest else None
    lost = map(sentence, health.missing if health else ())
    missing = (*lost, *(client.missing if client else ()), *evidence.missing)
    return Coverage(minutes=minutes, missing=tuple(dict.fromkeys(missing)))
