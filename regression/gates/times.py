"""What a run says of a measure, where a time that is absent says something, too.

No first throttle is later than all: the run went on for its whole duration without one. A throttled run
without a recovery took longer than it was watched; one that was never throttled had nothing to recover from.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analyzers.summary import RunSummary

FIRST_THROTTLE, RECOVERY = "first_throttle_s", "recovery_s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A number, or the least that it can have been; `never`: the event that is timed did not happen."""

    at_least: float
    never: bool = False


def known(measure: str, runs: Iterable[RunSummary]) -> list[Known | None]:
    """What each run says; None where it does not say."""
    return [_of(measure, run) for run in runs]


def without_unknown(
    before: Sequence[Known | None], after: Sequence[Known | None], paired: bool
) -> tuple[list[Known], list[Known]]:
    """The runs that say something; of a pair, neither where one does not."""
    if not paired:
        return [run for run in before if run], [run for run in after if run]
    pairs = [(one, two) for one, two in zip(before, after, strict=True) if one and two]
    return [one for one, _ in pairs], [two for _, two in pairs]


def _of(measure: str, run: RunSummary) -> Known | None:
    if (number := run.measures.get(measure)) is not None:
        return Known(at_least=number)
    if measure not in (FIRST_THROTTLE, RECOVERY) or run.throttled is None:
        return None
    if not run.throttled:
        return Known(at_least=run.duration_s if measure == FIRST_THROTTLE else 0.0, never=True)
    began = run.measures.get(FIRST_THROTTLE)
    if measure == FIRST_THROTTLE or began is None:
        return None
    return Known(at_least=max(0.0, run.duration_s - began))
