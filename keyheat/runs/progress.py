"""The progress of a load test that another process runs."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchProgress:
    """What a running load test says once a second, or when it enters another phase."""

    phase: str = "loading"
    elapsed_s: float = 0.0
    accepted_per_s: float = 0.0
    throttled_per_s: float = 0.0
    errors_per_s: float = 0.0
    run_id: str | None = None  # said once, before anything is made
    left_s: float | None = None  # of a wait, where it is known how long it takes
    lines: Sequence[str] = ()  # lines that a person should read now
