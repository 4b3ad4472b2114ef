"""The analyzer's answer: evidence in; labels, verdict, hot keys, recommendations and coverage out."""

from collections.abc import Sequence
from pathlib import Path

from keyheat import runfiles
from keyheat.analysis.advice.advice import Advice, advise
from keyheat.analysis.analyzers import answers, further_findings, generator_of, labels_of
from keyheat.analysis.checks import check, with_reads
from keyheat.analysis.heat import RunHeat, heats_of, index_heats_of
from keyheat.analysis.thresholds import Thresholds, load_thresholds
from keyheat.analysis.verdict import verdict, with_company, with_replicas
from keyheat.plan.prices import Billing, load_prices
from keyheat.runfiles import FileProblem
from keyheat.runs.client import ClientFiles, read_client_files, read_records
from keyheat.runs.formats import Coverage, Diagnosis, Evidence, read_diagnosis
from keyheat.runs.manifest import run_window
from keyheat.runs.plausibility import read_evidence
from keyheat.runs.run import Run, place_of
from keyheat.runs.scaling import NOT_SCALED, AutoScaling
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.shipped import RUN_FILES, require
from keyheat.words import sentence


def analyze_run(
    run_dir: Path,
    *,
    numbers: Thresholds | None = None,
    further: Sequence[Path] = (),
    billing: Billing | None = None,
) -> Diagnosis:
    """The diagnosis of a run directory, from the files that are there; `coverage.missing` lists the others.

    `further` are analyzers of the user's own: what they find stands in `findings`, what is wrong with them in
    `problems`. `billing` says what a month costs; the
    price list that we ship, around the clock, if it is None. Without `evidence.json` the
    client's records alone are the evidence. Raises `FileProblem` where neither it nor the manifest can be
    read, or where the labelling numbers are wrong.
    """
    require("report", RUN_FILES)
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
        missing=tuple(line.replace(f"{run_dir}/", "") for line in (*missing, *client.missing, *wrong)),
    )
    return diagnose(
        evidence,
        client=client,
        thresholds=numbers or load_thresholds(),
        scenario=scenario,
        directory=run_dir,
        further=further,
        billing=billing,
    )


def load_run(path: "Path | str") -> Run:
    """A run directory, or an evidence file alone, as pandas frames. Raises `FileProblem`.

    One that was not diagnosed yet is diagnosed now; nothing is written. Raises `ModuleNotFoundError`, which
    says what to install, where only the base of Keyheat is.
    """
    require("report", RUN_FILES)
    folder, file = place_of(Path(path))
    if folder is None:
        assert file is not None, "one of the two is there"
        evidence = read_evidence(file)
        return Run(evidence, diagnosis=diagnosed(evidence))
    evidence = read_evidence(file) if file else _evidence_of_client(folder, read_client_files(folder))
    diagnosis = folder / runfiles.FILES[runfiles.DIAGNOSIS]
    return Run(evidence, folder, read_diagnosis(diagnosis) if diagnosis.exists() else analyze_run(folder))


def diagnosed(
    evidence: Evidence,
    *,
    numbers: Thresholds | None = None,
    further: Sequence[Path] = (),
    billing: Billing | None = None,
    simulate: bool = True,
    scaling: AutoScaling = NOT_SCALED,
) -> Diagnosis:
    """The diagnosis of evidence alone, whoever sent the load. Without `simulate`, advice is by formula."""
    thresholds = numbers or load_thresholds()
    return diagnose(
        evidence, client=None, thresholds=thresholds, scenario=None, further=further,
        billing=billing, simulate=simulate, scaling=scaling,
    )  # fmt: skip


def diagnose(
    evidence: Evidence,
    *,
    client: ClientFiles | None,
    thresholds: Thresholds,
    scenario: Scenario | None,
    directory: Path | None = None,
    further: Sequence[Path] = (),
    billing: Billing | None = None,
    simulate: bool = True,
    scaling: AutoScaling = NOT_SCALED,
) -> Diagnosis:
    """Ask the analyzers, judge and advise. `client` is None where the load was not ours."""
    run = Run(evidence, directory, client=client)
    heats, index_heats = heats_of(evidence, client), index_heats_of(evidence, client)
    labels = labels_of(run, thresholds)
    generator = generator_of(run, thresholds)
    told = answers(further, run, thresholds)
    judged = verdict(labels, evidence, client=client, generator=generator, numbers=thresholds)
    judged = with_company(with_reads(with_replicas(judged, evidence), client), client)
    advice = Advice()
    notable = labels if judged.constraint != "none" else ()
    if (
        notable or judged.constraint == "none"
    ) and not generator.bound:  # else how much it takes is not known
        advice = advise(
            notable,
            evidence,
            (*heats, *index_heats),
            thresholds,
            client=client,
            scenario=scenario,
            billing=billing or Billing(load_prices()),
            simulate=simulate,
            scaling=(client and client.manifest and client.manifest.auto_scaling) or scaling,
        )
    return Diagnosis(
        verdict=judged,
        labels=labels,
        hot_keys=tuple(key for one in _first(judged.direction, heats) for key in one.hottest),
        hot_index_keys=tuple(
            key.model_copy(update={"index": one.index}) for one in index_heats for key in one.hottest[:1]
        ),
        recommendations=advice.recommendations,
        cure=advice.cure,
        demands=advice.demands,
        generator=generator,
        coverage=_coverage(evidence, client),
        source=evidence.source,
        region=evidence.table.region,
        thresholds=check(scenario.thresholds, judged, evidence, client, bound=generator.bound)
        if scenario
        else (),
        findings=(*further_findings(run, thresholds), *told.findings),
        problems=told.problems,
    )


def _evidence_of_client(run_dir: Path, client: ClientFiles, problem: FileProblem | None = None) -> Evidence:
    """Evidence without CloudWatch, for a run whose `collect` never happened."""
    if client.manifest is None:
        said = () if problem is None else (str(problem),)
        raise FileProblem("\n".join(("nothing to analyze", *said, *client.missing))) from problem
    records = read_records(run_dir, client.manifest.rows_ahead_s)
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
        source=client.manifest.source,
        endpoint=client.manifest.endpoint,
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


def _first(direction: str | None, heats: Sequence[RunHeat]) -> list[RunHeat]:
    """The heat of the verdict's direction before that of the other."""
    return sorted(heats, key=lambda one: one.direction != direction)


def _coverage(evidence: Evidence, client: ClientFiles | None) -> Coverage:
    window = evidence.window
    minutes = 0 if evidence.is_empty else round((window.end - window.start).total_seconds() / 60)
    health = client.manifest.generator if client and client.manifest else None
    lost = map(sentence, health.missing if health else ())
    missing = (*lost, *(client.missing if client else ()), *evidence.missing)
    return Coverage(minutes=minutes, missing=tuple(dict.fromkeys(missing)))
