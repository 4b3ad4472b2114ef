"""Whether the generator was the limit: a run that it was says nothing about the table.

Each second a process notes its CPU and how late its event loop woke; each request notes how late it started.
A verdict is a function of those numbers, and every check that it rests on is said in words.
"""

from dataclasses import dataclass, field
from typing import Any

from generator.record.latency import Latency

CPU_PERCENT = 90.0
ACHIEVED_SHARE = 0.95
LOOP_LAG_P99_MS = 250.0
LAG_EVERY_S = 0.1


@dataclass(slots=True)
class Health:
    """What the generator noted of itself."""

    cpu_percent_max: float = 0.0
    missed: int = 0  # intended starts that were skipped because the user was still waiting for an answer
    lag: Latency = field(default_factory=Latency)  # how late the event loop woke
    late: Latency = field(default_factory=Latency)  # actual start minus intended start
    problems: list[str] = field(default_factory=list)  # what makes the run say nothing about the table
    missing: list[str] = field(default_factory=list)  # what is not there, while the rest stays valid

    def merge(self, other: "Health") -> None:
        """Add all that another one holds."""
        self.cpu_percent_max = max(self.cpu_percent_max, other.cpu_percent_max)
        self.missed += other.missed
        self.lag.merge(other.lag)
        self.late.merge(other.late)
        self.problems += other.problems
        self.missing += other.missing

    def to_wire(self) -> dict[str, Any]:
        """Plain values, as they travel from a worker to the master."""
        return {
            "cpu_percent_max": self.cpu_percent_max,
            "missed": self.missed,
            "lag": self.lag.encoded(),
            "late": self.late.encoded(),
            "problems": self.problems,
            "missing": self.missing,
        }

    @classmethod
    def from_wire(cls, wire: dict[str, Any]) -> "Health":
        """What `to_wire` made."""
        return cls(**{**wire, "lag": Latency.decoded(wire["lag"]), "late": Latency.decoded(wire["late"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether the generator was the limit, with the numbers; `run.json` keeps it under `generator`."""

    bound: bool
    checks: tuple[str, ...]
    missing: tuple[str, ...]
    cpu_percent_max: float
    loop_lag_ms_max: float
    asked_per_s: float
    achieved_per_s: float
    late_ms_p99: float


def verdict_on(health: Health, *, attempts: int, duration_s: float) -> Verdict:
    """Judge the generator by what it noted over `duration_s` seconds of load."""
    asked_per_s = (attempts + health.missed) / duration_s if duration_s else 0.0
    achieved_per_s = attempts / duration_s if duration_s else 0.0
    behind = achieved_per_s < ACHIEVED_SHARE * asked_per_s
    busy = health.cpu_percent_max > CPU_PERCENT
    lag_p99_ms = health.lag.percentile_us(99) / 1000
    stalled = lag_p99_ms > LOOP_LAG_P99_MS
    checks = (
        f"sent {achieved_per_s:,.0f} of {asked_per_s:,.0f} requests/s asked for"
        + (": users waited for answers" if behind and not busy else ""),
        f"busiest process at {health.cpu_percent_max:.0f} % of a core",
        f"event loop at most {lag_p99_ms:.0f} ms late in 99 % of checks",
        *health.problems,
    )
    return Verdict(
        bound=(busy and behind) or stalled or bool(health.problems) or attempts == 0,
        checks=checks if attempts else (*checks, "nothing was sent"),
        missing=tuple(health.missing),
        cpu_percent_max=health.cpu_percent_max,
        loop_lag_ms_max=health.lag.max_us / 1000,
        asked_per_s=asked_per_s,
        achieved_per_s=achieved_per_s,
        late_ms_p99=health.late.percentile_us(99) / 1000,
    )
