"""The verb fix: the recommended cure of a diagnosed run, tried beside the run as it was."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keyheat.addresses import endpoint_of
from keyheat.cli.guards import Guards, agreed, at_known_endpoint, guarded
from keyheat.cli.load import no_collect
from keyheat.cli.options import (
    a_folder,
    a_path,
    hours_a_day,
    in_json,
    price_list,
    series_place,
    some_prices,
)
from keyheat.cli.run import NOT_STARTED, How, exit_code_of, make_run, simulated
from keyheat.load.run.jobs import Job, made
from keyheat.masking import shown
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.plan.prices import Billing
from keyheat.runfiles import DIAGNOSIS, EVIDENCE, FILES, RUN, SIMULATED, FileProblem, write_json
from keyheat.runs.formats import Diagnosis, read_diagnosis
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.scenario.variants import with_files_of, with_own_tables, write_scenario
from keyheat.terminal.console import answer, out, strong
from keyheat.words import BROKEN, DONE, INVALID

if TYPE_CHECKING:
    from keyheat.analysis.advice.case import Limit
    from keyheat.analysis.advice.remedies import Remedy
    from keyheat.runs.manifest import Manifest
    from keyheat.simulator.flow import Traffic

BEFORE, AFTER, FIXED = "before", "after", "fixed.json"
EXIT_CODES = {"fixed": DONE, "not_fixed": BROKEN, "moved": BROKEN, "not_shown": INVALID, "invalid": INVALID}


@dataclass(frozen=True, slots=True)
class Turn:
    """One run of one side."""

    side: str
    job: Job


@click.command()
@click.argument("folder", metavar="RUN", type=a_folder)
@click.option("--target", help="simulated, local, aws, or the URL of an endpoint  [default: that of the run]")
@click.option(
    "--repetitions",
    type=click.IntRange(1, 100),
    default=1,
    show_default=True,
    help="runs of each side, by turns, each pair with a seed of its own",
)
@click.option("--recommendation", "action", metavar="ACTION", help="which one is tried  [default: the cure]")
@click.option(
    "--out", "place", type=a_path, help="where runs and page go  [default: reports/out/NAME-fix-TIME]"
)
@no_collect
@in_json("whether it is fixed, and both sides,")
@guarded
@hours_a_day
@some_prices
def fix(
    folder: Path,
    target: str | None,
    repetitions: int,
    action: str | None,
    place: Path | None,
    quick: bool,
    guards: Guards,
    hours_per_day: float,
    prices: Path,
) -> int:
    """Try what the diagnosis of RUN recommends: both sides are run again, with the same demand and seed.

    Exit code 1: it is not fixed, or another limit throttles now. 2: no rerun can show what is recommended.
    3: a run is invalid, or the original throttles no more.
    """

    if guards.table is not None:
        raise click.UsageError("both sides have tables of their own: no --table")
    billing = Billing(price_list(prices), hours_per_day)
    start = at_known_endpoint(lambda url: start_of(folder, url), target)
    scenario, target = start.scenario, start.target
    remedy = _remedy(start, action)
    place = series_place(place, f"{scenario.name}-fix")
    turns = _turns(scenario, remedy.scenario, repetitions, place)
    jobs = [turn.job for turn in turns]
    options = [] if target == SIMULATED else agreed(jobs, target, guards, prices=prices)
    write_scenario(place / FIXED, remedy.scenario)
    _announce(scenario, remedy, place)
    how = How(target=target, options=(*options, "--prices", str(prices)), quick=quick, billing=billing)
    for number, turn in enumerate(turns, start=1):
        write_scenario(turn.job.path, turn.job.scenario)
        sent = start.sent if turn.side == BEFORE else start.sent_with(remedy, turn.job.scenario)
        if sent is None:
            code = make_run(turn.job, how, place=(number, len(turns)))
        else:
            code = exit_code_of(simulated(turn.job, how, sent=sent(), behaviour=start.behaviour))
        if code in NOT_STARTED or not made(turn.job):
            return code or INVALID
    made_of = FixTrial(scenario, remedy, start.limit_of(remedy), target, place, start.observed)
    return _told(made_of, turns, billing)


def _remedy(start: "Start", action: str | None) -> "Remedy":
    """The recommendation as a scenario; where no rerun can show it, what can be done by hand."""
    from keyheat.analysis.advice.fix import chosen
    from keyheat.analysis.advice.remedies import Remedy
    from keyheat.analysis.thresholds import load_thresholds

    choose = partial(
        chosen,
        start.diagnosis,
        start.scenario,
        target=load_thresholds().recommend.target_utilisation,
        action=action,
    )
    found = choose(simulated=start.target == SIMULATED)
    if isinstance(found, Remedy):
        return replace(found, notes=(*found.notes, *start.assumed))
    by_hand = "\n".join(f"  {one.words}" for one in found)
    said = f"no rerun can show what is recommended; by hand:\n{by_hand}"
    if start.assumed:
        said += "\n`keyheat init --from-diagnosis DIR` writes a scenario of it, with a hot key if need be"
    if isinstance(choose(simulated=True), Remedy):
        said += f"\nOn the simulator it can be shown: add --target {SIMULATED}"
    raise ValueError(said)


def _turns(before: Scenario, after: Scenario, repetitions: int, place: Path) -> list[Turn]:
    """Every run, in its order: before after, after before, before after ... with a seed for each pair."""
    made: list[Turn] = []
    for number in range(repetitions):
        pair = [(BEFORE, before), (AFTER, after)]
        for side, scenario in pair if number % 2 == 0 else reversed(pair):
            name = f"{side}-{number + 1}"
            one = with_own_tables(scenario, f"-{name}")
            one = one.model_copy(update={"seed": scenario.seed + number})
            made.append(Turn(side, Job(one, place / f"{name}.json", place / name)))
    return made


def _announce(scenario: Scenario, remedy: "Remedy", place: Path) -> None:
    """What is tried, and in which fields it differs."""
    from keyheat.scenario.variants import changes

    out.print(f"Trying {remedy.says}: {shown(place / FIXED)}")
    for change in changes(scenario, remedy.scenario):
        out.print(f"  {change.words}")
    out.print()


@dataclass(frozen=True, slots=True)
class FixTrial:
    """What was tried, and where."""

    scenario: Scenario
    remedy: "Remedy"
    limit: "Limit"
    target: str
    place: Path
    observed: str


def _told(tried_: FixTrial, turns: Sequence[Turn], billing: Billing) -> int:
    """Hold both sides against each other, write the page, say what came out; gives the exit code."""
    from keyheat.analysis.advice.proof import once_dollars, proof_of, tried
    from keyheat.pages.fix import NAME, write_fix
    from keyheat.pages.series import RunColumn
    from keyheat.scenario.variants import changes
    from keyheat.terminal.fix import FORMAT, fix_json, fix_text
    from keyheat.wording.fix import Fix

    sides = {
        side: [tried(turn.job.folder, turn.job.scenario, billing) for turn in turns if turn.side == side]
        for side in (BEFORE, AFTER)
    }
    prices = billing.prices
    found = Fix(
        scenario=tried_.scenario,
        remedy=tried_.remedy,
        changes=changes(tried_.scenario, tried_.remedy.scenario),
        proof=proof_of(tried_.limit, sides[BEFORE], sides[AFTER]),
        target=tried_.target,
        once_dollars=once_dollars(tried_.remedy.scenario, prices),
        observed=tried_.observed,
    )
    columns = [
        RunColumn.of_run(turn.job.folder, prices)
        for turn in sorted(turns, key=lambda turn: turn.side != BEFORE)
    ]
    page = write_fix(tried_.place / NAME, found, columns, prices, datetime.now(UTC))
    content = fix_json(found, page)
    write_json(tried_.place / "fix.json", FORMAT, content)
    answer(lambda: content, lambda: fix_text(found))
    out.print(strong("\nBefore and after: ", page))
    return EXIT_CODES[found.proof.kind]


LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A run that was throttled. `sent` makes its demand again, where no scenario says what was sent."""

    scenario: Scenario
    diagnosis: Diagnosis
    target: str
    sent: "Callable[[], Traffic] | None" = None
    behaviour: Behaviour = DEFAULT  # of a simulated table
    assumed: tuple[str, ...] = ()  # of a demand that evidence shows
    observed: str = ""  # how such a table throttled

    def sent_with(self, remedy: "Remedy", scenario: Scenario) -> "Callable[[], Traffic] | None":
        """The demand with the remedy taken, where the scenario alone does not say it."""
        from keyheat.simulator.alterations import Altered
        from keyheat.simulator.traffic import traffic_of

        if not remedy.alters:
            return self.sent

        def divided() -> "Traffic":
            traffic = self.sent() if self.sent else traffic_of(scenario, scenario.seed)
            for change in remedy.alters:
                traffic = Altered(traffic, change)
            return traffic

        return divided

    def limit_of(self, remedy: "Remedy") -> "Limit":
        """The limit that a remedy is for."""
        from keyheat.analysis.verdict import groups

        about = remedy.resource, remedy.direction
        found = groups(self.diagnosis.labels)
        of = next((one for one in found if (one.resource, one.direction) == about), None)
        return (of.constraint if of else self.diagnosis.verdict.constraint, *about)


def start_of(folder: Path, target: str | None) -> Start:
    """What is to be fixed, on the target that is said, or that of the run.

    Raises `FileProblem` where the run says nothing, `UnknownEndpoint` where its file alone says whom to load,
    and `ValueError` where there is nothing to fix or where it cannot be run again there.
    """
    diagnosis = read_diagnosis(folder / FILES[DIAGNOSIS])
    if not diagnosis.verdict.valid:
        raise FileProblem(f"{folder} says nothing about its table, so nothing is known to fix: run it again")
    if diagnosis.verdict.constraint == "none":
        carried = "nothing to fix"
        if diagnosis.recommendations:  # of what lives on saved burst
            carried = "nothing to fix yet; saved burst carried it, and its page says what lasts"
        raise ValueError(f"{folder} was not throttled: there is {carried}")
    manifest = _manifest(folder)
    if manifest is None or manifest.scenario is None:
        return _of_evidence(folder, diagnosis, target)
    path = Path(manifest.scenario_path or "")
    scenario = scenario_from_dict(dict(manifest.scenario), f"{folder}/{FILES[RUN]}")
    return Start(
        scenario=with_files_of(scenario, path.parent),
        diagnosis=diagnosis,
        target=target or _target_in(folder, manifest.target or LOCAL),
    )


def _target_in(folder: Path, named: str) -> str:
    """The target that a run's file names."""
    if named in (LOCAL, SIMULATED, "aws"):
        return named
    return endpoint_of(named, None, file=f"{folder}/{FILES[RUN]}", option="--target") or LOCAL


def _manifest(folder: Path) -> "Manifest | None":
    """The manifest; None for a table that others load, of which there is only evidence."""
    from keyheat.runs.manifest import read_manifest

    return read_manifest(folder) if (folder / FILES[RUN]).exists() else None


def _of_evidence(folder: Path, diagnosis: Diagnosis, target: str | None) -> Start:
    """The demand that the evidence shows, on the simulator: nobody else can send it again."""
    from keyheat.analysis.advice.as_it_was import heats_known
    from keyheat.analysis.advice.rerun import rerun_of
    from keyheat.analysis.timeline import timeline
    from keyheat.analysis.verdict import groups
    from keyheat.plan.prices import load_prices
    from keyheat.runs.client import read_client_files
    from keyheat.runs.plausibility import read_evidence
    from keyheat.wording.answers import throttled_words

    if target not in (None, SIMULATED):
        raise ValueError(
            f"{folder} has no scenario, only evidence of what somebody sent: that can be sent again with "
            f"--target simulated, and not to {target}"
        )
    evidence = read_evidence(folder / FILES[EVIDENCE])
    client = read_client_files(folder) if (folder / FILES[RUN]).exists() else None
    arranged, label = timeline(evidence), groups(diagnosis.labels)[0].heaviest
    rerun = rerun_of(
        evidence, arranged, label, client=client, scenario=None, billing=Billing(load_prices()),
        heats=heats_known(evidence, client, diagnosis, label.direction),
    )  # fmt: skip
    if rerun is None:
        raise ValueError(
            f"{folder} has no scenario, and its evidence does not say what the table has: without it "
            "the demand cannot be simulated; collect it with --describe-json"
        )
    return Start(
        scenario=rerun.scenario, diagnosis=diagnosis, target=SIMULATED, sent=partial(rerun.traffic, None),
        behaviour=rerun.behaviour, assumed=rerun.assumed, observed=throttled_words(diagnosis.labels),
    )  # fmt: skip
