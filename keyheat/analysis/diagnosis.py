"""Diagnose evidence: labels, verdict, hot keys, recommendations and coverage."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from keyheat import runfiles
from keyheat.analysis.advice.advice import Advice, advise
from keyheat.analysis.advice.rerun import MOST_S
from keyheat.analysis.analyzers import answers, further_findings, generator_of, labels_of
from keyheat.analysis.checks import check, with_reads
from keyheat.analysis.heat import heats_of, index_heats_of
from keyheat.analysis.rules import Thresholds, load_thresholds
from keyheat.analysis.timeline import timeline
from keyheat.analysis.verdict import verdict, with_company, with_replicas
from keyheat.numbers import saying, span
from keyheat.plan.prices import Prices, load_prices
from keyheat.runfiles import FileProblem
from keyheat.runs.client import ClientFiles, read_client_files, read_records
from keyheat.runs.formats import Coverage, Diagnosis, Evidence, read_diagnosis
from keyheat.runs.manifest import run_window
from keyheat.runs.plausibility import read_evidence
from keyheat.runs.run import Run, place_of
from keyheat.runs.table_facts import NOT_SCALED
from keyheat.scenario.scenario import Scenario, ScenarioError, scenario_from_dict
from keyheat.scenario.variants import with_files_of
from keyheat.shipped import RUN_FILES, require
from keyheat.words import sentence, whose


def analyze_run(
    run_dir: Path,
    *,
    numbers: Thresholds | None = None,
    further: Sequence[Path] = (),
    prices: Prices | None = None,
) -> Diagnosis:
    """Diagnose a run directory; `coverage.missing` lists the files that it lacks.

    `further` are the user's analyzers: their findings are in `findings`, their errors in `problems`.
    `prices` prices a month; None means the shipped price list. Without `evidence.json` the
    client's records are the only evidence. Raises `FileProblem` if neither it nor the manifest is readable,
    or if the thresholds are invalid.
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
        prices=prices,
    )


def load_run(path: "Path | str") -> Run:
    """Load a run directory or an evidence file as pandas frames. Raises `FileProblem`.

    A run without a diagnosis is diagnosed now; nothing is written. Raises `ModuleNotFoundError`, with what to
    install, if the extra is missing.
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
    prices: Prices | None = None,
    replay_s: int = MOST_S,
) -> Diagnosis:
    """Diagnose evidence of any load; with `replay_s` 0, advice is by formula."""
    thresholds = numbers or load_thresholds()
    return diagnose(
        evidence, client=None, thresholds=thresholds, scenario=None, further=further,
        prices=prices, replay_s=replay_s,
    )  # fmt: skip


def diagnose(
    evidence: Evidence,
    *,
    client: ClientFiles | None,
    thresholds: Thresholds,
    scenario: Scenario | None,
    directory: Path | None = None,
    further: Sequence[Path] = (),
    prices: Prices | None = None,
    replay_s: int = MOST_S,
) -> Diagnosis:
    """Run the analyzers, judge and advise; `client` is None if the load was not ours."""
    run = Run(evidence, directory, client=client)
    heats, index_heats = heats_of(evidence, client), index_heats_of(evidence, client)
    labels = labels_of(run, thresholds)
    generator = generator_of(run, thresholds)
    further_answers = answers(further, run, thresholds)
    judged = verdict(labels, evidence, client=client, generator=generator, numbers=thresholds)
    judged = with_company(with_reads(with_replicas(judged, evidence), client), client)
    advice = Advice()
    notable = labels if judged.constraint != "none" else ()
    if (notable or judged.constraint == "none") and not generator.bound:  # else the demand is unknown
        advice = advise(
            notable,
            evidence,
            (*heats, *index_heats),
            thresholds,
            client=client,
            scenario=scenario,
            prices=prices or load_prices(),
            replay_s=replay_s,
            scaling=(client and client.manifest and client.manifest.auto_scaling)
            or evidence.auto_scaling
            or NOT_SCALED,
        )
    return Diagnosis(
        verdict=judged,
        labels=labels,
        hot_keys=tuple(
            key
            for heat in sorted(heats, key=lambda heat: heat.direction != judged.direction)
            for key in heat.hottest
        ),
        hot_index_keys=tuple(
            key.model_copy(update={"index": heat.index}) for heat in index_heats for key in heat.hottest[:1]
        ),
        recommendations=advice.recommendations,
        cure=advice.cure,
        demands=advice.demands,
        generator=generator,
        coverage=_coverage(evidence, client),
        source=evidence.source,
        region=evidence.table.region,
        thresholds=tuple(check(scenario.thresholds, judged, evidence, client, bound=generator.bound))
        if scenario
        else (),
        findings=(*further_findings(run, thresholds), *further_answers.findings),
        problems=further_answers.problems,
    )


def _evidence_of_client(run_dir: Path, client: ClientFiles, problem: FileProblem | None = None) -> Evidence:
    """Build evidence without CloudWatch, for a run that was never collected."""
    if client.manifest is None:
        reason = () if problem is None else (str(problem),)
        raise FileProblem("\n".join(("nothing to analyze", *reason, *client.missing))) from problem
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
        source=client.manifest.source,
        endpoint=client.manifest.endpoint,
        missing=records.missing,
    )


def _scenario(client: ClientFiles) -> tuple[Scenario | None, tuple[str, ...]]:
    """Read the scenario of a run, whose files are looked for beside the file that it was read from."""
    if client.manifest is None or client.manifest.scenario is None:
        return None, ()
    try:
        scenario = scenario_from_dict(dict(client.manifest.scenario), "run.json")
    except ScenarioError as error:
        return None, (f"the scenario and its thresholds: {error}",)
    return with_files_of(scenario, Path(client.manifest.scenario_path or "").parent), ()


def _coverage(evidence: Evidence, client: ClientFiles | None) -> Coverage:
    window = evidence.window
    minutes = 0 if evidence.is_empty else round((window.end - window.start).total_seconds() / 60)
    health = client.manifest.generator if client and client.manifest else None
    lost = map(sentence, health.missing if health else ())
    missing = (*lost, *(client.missing if client else ()), *evidence.missing, *_gaps(evidence))
    apart = ((track, track.counted_apart) for track in timeline(evidence).tracks)
    other_clocks = [  # both counts are in the labels then
        f"a common clock: CloudWatch counts no throttled {track.direction} on {whose(track.resource)} when "
        f"the client counts {counts[0]:,}, and {counts[1]:,} at other times; check the client's clock and "
        "time zone"
        for track, counts in apart
        if counts is not None
    ]
    missing = (*missing, *other_clocks)
    return Coverage(minutes=minutes, missing=tuple(dict.fromkeys(missing)))


def _gaps(evidence: Evidence) -> Iterator[str]:
    """Time without a point of any metric, of what throttled at other times."""
    start_s, end_s = evidence.window.start.timestamp(), evidence.window.end.timestamp()
    say = saying(start_s, end_s)
    for track in timeline(evidence).tracks:
        gaps = track.unpublished(start_s, end_s) if track.published_throttles else []
        if gaps:
            length = span(sum(end_s - start_s for start_s, end_s in gaps))
            apart = f", in {len(gaps):,} gaps" if len(gaps) > 1 else ""
            of = "to" if track.direction == "write" else "of"
            yield (
                f"{track.direction}s {of} {whose(track.resource)} for {length}: no metric has a point from "
                f"{say(gaps[0][0])} to {say(gaps[-1][1])} UTC{apart}, so whether they throttled then is "
                "unknown"
            )
