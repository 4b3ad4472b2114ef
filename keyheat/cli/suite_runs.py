"""Making the runs of a suite one by one, and keeping each as soon as it is made."""

import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Final

from keyheat.analysis.summary import RunSummary, read_summary
from keyheat.analysis.words import sentence
from keyheat.cli.codes import INTERRUPTED
from keyheat.cli.making import NOT_STARTED, How, make_run
from keyheat.load.guard.signals import HUNG_UP, heard, let_go
from keyheat.load.run.jobs import REPORT, Job, made
from keyheat.regression.made import Made, run_made
from keyheat.regression.outcome import RunMade
from keyheat.regression.suites.planned import Planned
from keyheat.runfiles import DIAGNOSIS, FILES
from keyheat.runs.formats import Diagnosis, read_diagnosis
from keyheat.terminal.console import bars

Keep = Callable[[Planned, RunSummary], tuple[str, str | None]]
"""Keeps a run that was made; gives the address of its directory, and why it is not where it was asked for."""


BOUND: Final = "The load generator was the limit"


def make_runs(plan: Sequence[Planned], hows: Mapping[str, How], keep: Keep) -> Made:
    """Make the runs in their order, until all are made, one cannot start, or somebody stops it.

    `hows` says how, by target. After an interrupt, what was made is there.
    """
    all_made = Made()
    with terminated_as_interrupted():
        try:
            for number, planned in enumerate(plan, start=1):
                code = _make(planned, hows[planned.case.target], keep, (number, len(plan)), all_made)
                if code in NOT_STARTED:
                    all_made.code = code
                    break
        except KeyboardInterrupt:
            all_made.code = INTERRUPTED
    return all_made


def _make(planned: Planned, how: How, keep: Keep, place: tuple[int, int], all_made: Made) -> int:
    """Make one run, keep it, and note what came of it; gives its exit code."""
    began_s = time.monotonic()
    job = Job(planned.scenario, planned.write(), planned.folder)
    code = make_run(job, how, place=place)
    if code in NOT_STARTED:
        return code
    summary = read_summary(job.folder) if made(job) else None
    took_s = time.monotonic() - began_s
    url = job.folder.absolute().as_uri()
    if summary is not None:
        url, problem = keep(planned, summary)
        all_made.summaries.append((planned, summary))
        all_made.problems += [problem] if problem else []
    report = job.folder / REPORT
    all_made.runs.append(
        run_made(
            planned,
            summary,
            url=url,
            took_s=took_s,
            problem=_problem(planned, summary),
            report=report.absolute().as_uri() if report.exists() else None,
        )
    )
    bars.print(_line(place, all_made.runs[-1]), markup=False)
    return code


def _line(place: tuple[int, int], run: RunMade) -> str:
    """`2 of 15  hotkey, repetition 1: partition`"""
    side = " (baseline)" if run.side == "before" else ""
    came = f"{run.constraint}" if run.valid else f"NOT VALID: {run.problem}"
    return f"{place[0]:>{len(str(place[1]))}} of {place[1]}  {run.name}{side}: {came}"


def _problem(planned: Planned, summary: RunSummary | None) -> str | None:
    """Why a run says nothing about its table; None where it does."""
    if summary is None:
        return f"It came to no diagnosis; {planned.folder} has what there is."
    return None if summary.valid else _why(read_diagnosis(planned.folder / FILES[DIAGNOSIS]))


def _why(diagnosis: Diagnosis) -> str:
    """In two sentences at most. That the generator was the limit is said first, and what shows it next."""
    because = diagnosis.verdict.because
    if diagnosis.generator.bound:
        because = (BOUND, *(line for line in because if not line.startswith(BOUND)))[:2]
    return " ".join(map(sentence, because[:2])) or "Its evidence is missing."


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM, which schedulers send when time is over, and a closed terminal end it as Ctrl-C does."""

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if number == HUNG_UP:
            let_go()
        raise KeyboardInterrupt

    ends = filter(heard, (signal.SIGTERM, HUNG_UP))
    before = {number: signal.signal(number, interrupt) for number in ends}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
