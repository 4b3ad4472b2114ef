"""The runs of a session as they are made, and those that an earlier session kept."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from keyheat.analysis.summary import RunSummary
from keyheat.regression.history import Kept
from keyheat.regression.outcome import RunMade, Side
from keyheat.regression.suites.planned import Planned


@dataclass(slots=True)
class Made:
    """It grows with each run.

    `code` is the exit code of the run that ended the session before its time; `problems` is what could not be
    kept where it was asked for.
    """

    runs: list[RunMade] = field(default_factory=list)
    summaries: list[tuple[Planned, RunSummary]] = field(default_factory=list)
    code: int | None = None
    problems: list[str] = field(default_factory=list)

    def of(self, side: Side) -> dict[str, list[RunSummary]]:
        """The summaries of one side, by case; a run without a diagnosis has none."""
        found: dict[str, list[RunSummary]] = {}
        for planned, summary in self.summaries:
            if planned.side == side:
                found.setdefault(planned.case.name, []).append(summary)
        return found

    def shown(self, case: str, side: Side) -> tuple[RunMade, ...]:
        """The runs of a case on one side, as the outcome has them, in the order of their repetitions."""
        found = [run for run in self.runs if (run.case, run.side) == (case, side)]
        return tuple(sorted(found, key=lambda run: run.repetition))


def run_made(
    planned: Planned,
    summary: RunSummary | None,
    *,
    url: str,
    took_s: float,
    problem: str | None,
    report: str | None = None,
) -> RunMade:
    """A run of this session; without a summary it came to no diagnosis. `problem`: why it says nothing."""
    return RunMade(
        case=planned.case.name,
        repetition=planned.repetition + 1,
        side=planned.side,
        url=url,
        report=report,
        took_s=took_s,
        problem=problem,
        **_numbers(summary),
    )


def runs_kept(kept: Sequence[Kept]) -> tuple[RunMade, ...]:
    """Runs of an earlier session."""
    return tuple(
        RunMade(
            case=one.case,
            repetition=one.repetition + 1,
            side="before",
            url=one.folder_url,
            **_numbers(one.summary),
        )
        for one in kept
    )


def _numbers(summary: RunSummary | None) -> dict[str, object]:
    """What a summary says of a run."""
    if summary is None:
        return {"valid": False}
    names = ("run_id", "valid", "constraint", "labels", "broken", "measures")
    return {name: getattr(summary, name) for name in names}
