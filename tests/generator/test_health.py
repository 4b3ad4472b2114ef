"""The generator confesses: the verdict follows from its numbers, and says them."""

import pytest

from generator.record.health import Health, verdict_on


def health(
    *, cpu: float = 10.0, missed: int = 0, lag_ms: float = 1.0, problems: tuple[str, ...] = ()
) -> Health:
    noted = Health(cpu_percent_max=cpu, missed=missed, problems=list(problems))
    for _ in range(100):
        noted.lag.add(int(lag_ms * 1000))
        noted.late.add(2_000)
    return noted


@pytest.mark.parametrize(
    ("noted", "attempts", "bound", "said"),
    [
        (health(), 1_000, False, "sent 100 of 100 requests/s"),
        (health(cpu=99), 1_000, False, "busiest process at 99 %"),
        (health(cpu=99, missed=100), 1_000, True, "sent 100 of 110 requests/s"),
        (health(missed=100), 1_000, False, "users waited for answers"),
        (health(lag_ms=400), 1_000, True, "400 ms late"),
        (health(problems=("worker a was lost",)), 1_000, True, "worker a was lost"),
        (health(), 0, True, "nothing was sent"),
    ],
)
def test_verdicts(noted: Health, attempts: int, bound: bool, said: str) -> None:
    verdict = verdict_on(noted, attempts=attempts, duration_s=10)
    assert verdict.bound is bound
    assert any(said in check for check in verdict.checks), verdict.checks
    assert verdict.late_ms_p99 == pytest.approx(2.0, rel=0.01)
