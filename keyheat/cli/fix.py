"""The verb fix: the recommended cure of a diagnosed run, tried beside the run as it was."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keyheat.cli.guards import Guards, agreed, at_known_endpoint
from keyheat.cli.mistakes import CheckedCommand, Mistakes
from keyheat.cli.options import PricedByDay, a_folder, a_path, give, in_json, series_place, write_answer
from keyheat.cli.run import NO_COLLECT, make_run
from keyheat.cli.simulate import NOT_STARTED, How, exit_code_of, simulated
from keyheat.flags import option, options_of, takes
from keyheat.masking import short_path
from keyheat.plan.prices import Billing
from keyheat.runfiles import SIMULATED
from keyheat.scenario.variants import changes, write_scenario
from keyheat.show.console import bars
from keyheat.simulator.jobs import Job, is_done
from keyheat.words import BROKEN, DONE, INVALID

if TYPE_CHECKING:
    from keyheat.analysis.advice.actions import Applied
    from keyheat.analysis.advice.fix import Start, Tried

NAME, FIXED = "fix", "fixed.json"
EXIT_CODES = {"fixed": DONE, "not_fixed": BROKEN, "moved": BROKEN, "not_shown": INVALID, "invalid": INVALID}


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOptions:
    """What is tried, where and how often."""

    target: str | None = option("simulated, local, aws or a URL  [default: the run's]")
    repetitions: int = option(
        "runs of each side, in turns, each pair with its own seed", default=1, type=click.IntRange(1, 100)
    )
    action: str | None = option(
        "try this one  [default: the cure]", flag="--recommendation", metavar="ACTION"
    )
    out_dir: Path | None = option(
        "directory of runs and page  [default: reports/out/NAME-fix-TIME]", flag="--out", type=a_path
    )
    quick: bool = option(NO_COLLECT, default=False, flag="--no-collect")
    guards: Guards = options_of(Guards)
    priced: PricedByDay = options_of(PricedByDay)


@click.command(cls=CheckedCommand)
@click.argument("folder", metavar="RUN", type=a_folder)
@takes("options", FixOptions)
@in_json("the answer")
def fix(folder: Path, options: FixOptions) -> int:
    """Try what the diagnosis of RUN recommends: run both sides again, with the same demand and seed.

    Exit code 1: it is not fixed, or another limit throttles now. 2: no rerun can show the recommendation.
    3: a run is invalid, or the original throttles no more.
    """
    from keyheat.analysis.advice.fix import BEFORE, remedy_of, start_of, turns

    mistakes = Mistakes()
    if options.guards.table is not None:
        mistakes.add("each side creates its own table: leave out --table")
    with mistakes.noted():
        start = at_known_endpoint(lambda url: start_of(folder, url), options.target)
        remedy = remedy_of(start, options.action)
    mistakes.refuse()
    scenario, target, billing = start.scenario, start.target, options.priced.billing
    out_dir = series_place(options.out_dir, f"{scenario.name}-fix")
    jobs = turns(scenario, remedy.scenario, options.repetitions, out_dir)
    how = How(
        target=target, quick=options.quick, billing=billing, quiet=True,
        options=() if target == SIMULATED
        else tuple(agreed(jobs, target, options.guards, prices=options.priced.prices)),
    )  # fmt: skip
    write_scenario(out_dir / FIXED, remedy.scenario)
    bars.print(f"Trying {remedy.says}: {short_path(out_dir / FIXED)}")
    for number, job in enumerate(jobs, start=1):
        write_scenario(job.path, job.scenario)
        of_before = job.folder.name.startswith(BEFORE)
        sent = start.traffic(job.scenario, None if of_before else remedy)
        if sent is None:
            code = make_run(job, how, of_series=(number, len(jobs)))
        else:
            code = exit_code_of(simulated(job, how, sent=sent, behaviour=start.rerun.behaviour))
        if code in NOT_STARTED or not is_done(job):
            return code or INVALID
    return _compare(start, remedy, jobs, out_dir, billing)


def _compare(start: "Start", remedy: "Applied", jobs: Sequence[Job], out_dir: Path, billing: Billing) -> int:
    """Compare both sides, write the page and print the answer; gives the exit code."""
    from keyheat.analysis.advice.fix import AFTER, BEFORE, once_dollars, proof_of, tried
    from keyheat.plan.bill import provisioned_month
    from keyheat.show.fix import Fix, fix_answer, fix_figure

    now = start.rerun.table_now

    def side(name: str) -> "list[Tried]":
        return [
            tried(
                job.folder, job.scenario, billing, replayed=not start.rerun.by_schedule,
            )
            for job in jobs
            if job.folder.name.startswith(name)
        ]  # fmt: skip

    fix = Fix(
        scenario=start.scenario, remedy=remedy, changes=changes(start.scenario, remedy.scenario),
        proof=proof_of(start.limit_of(remedy), side(BEFORE), side(AFTER)), target=start.target,
        once_dollars=once_dollars(remedy.scenario, billing.prices),
        incident=start.incident,
        now_dollars_per_month=provisioned_month(now, billing.prices) if now else None,
    )  # fmt: skip
    answer, code = fix_answer(fix), EXIT_CODES[fix.proof.kind]
    drawn = replace(answer, figures=tuple(fix_figure(fix.sides)))
    return give(answer, code, page=write_answer(out_dir, NAME, drawn, code))
