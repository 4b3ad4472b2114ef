"""Progress of a load test in another process."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchProgress:
    """A progress message, once a second and at each new phase."""

    phase: str = "loading"
    elapsed_s: float = 0.0
    accepted_per_s: float = 0.0
    throttled_per_s: float = 0.0
    errors_per_s: float = 0.0
    run_id: str | None = None  # once, before anything is created
    left_s: float | None = None  # of a wait, if known
    lines: Sequence[str] = ()  # lines to show now
