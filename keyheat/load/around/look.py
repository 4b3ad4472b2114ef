"""What is looked at before and after a run, for `run.json`: the service's clock, the table's partitions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from keyheat.load.around.clock import ClockWrong, Skew, measure
from keyheat.load.around.shards import StreamShards
from keyheat.load.tables.errors import TableError
from keyheat.load.transport.boto import make_client
from keyheat.load.transport.target import Target
from keyheat.runs.partitions import estimated
from keyheat.words import Capacity

PATIENCE_S: Final = 5.0  # an answer that nobody needs is not waited for any longer
ATTEMPTS: Final = 3


def check_clock(target: Target, table: str, clock: Callable[[], float]) -> None:
    """Raises `TableError` where this machine's clock is so far off that no run can be made."""
    if target.local:
        return
    client = make_client(target)
    try:
        measure(client, table, clock=clock, sleep=_never, samples=1)
    except ClockWrong as wrong:
        raise TableError(str(wrong)) from wrong
    finally:
        client.close()


@dataclass(frozen=True, slots=True)
class Around:
    """One run's table as it was found. `skew` is None where nobody knows, or on this machine."""

    skew: Skew | None
    stream: StreamShards
    estimate: dict[str, Any]

    @classmethod
    def look(
        cls,
        target: Target,
        described: Mapping[str, Any],
        facts: Mapping[str, Any],
        scale: float,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> "Around":
        """Look at both. `described` is DescribeTable's answer, `facts` what run.json has of it."""
        patient = partial(make_client, target, timeout_s=PATIENCE_S, attempts=ATTEMPTS)
        skew = None
        if not target.local:
            client = patient()
            try:
                skew = measure(client, described["TableName"], clock=clock, sleep=sleep)
            except ClockWrong as wrong:
                raise TableError(str(wrong)) from wrong
            finally:
                client.close()
        stream = StreamShards.look(partial(patient, service="dynamodbstreams"), described)
        return cls(skew, stream, _estimate(facts, scale))

    @property
    def ahead_s(self) -> float:
        """By how much the service's clock is ahead of ours."""
        return self.skew.ahead_s if self.skew else 0.0

    def noted(self) -> dict[str, Any]:
        """The members of `run.json` when the run begins."""
        return self._noted(self.stream.noted())

    def noted_at_end(self, started_s: float, ended_s: float) -> dict[str, Any]:
        """The same when it has ended; both times are of this machine."""
        return self._noted(self.stream.noted_at_end(started_s + self.ahead_s, ended_s + self.ahead_s))

    def _noted(self, shards: dict[str, Any]) -> dict[str, Any]:
        partitions = {**self.estimate, **shards}
        if self.stream.missing:
            partitions["missing"] = list(dict.fromkeys(self.stream.missing))
        skew = {"clock_skew_s": round(self.skew.ahead_s, 3)} if self.skew else {}
        return {**skew, **({"partitions": partitions} if partitions else {})}


def _estimate(facts: Mapping[str, Any], scale: float) -> dict[str, Any]:
    pairs = (facts.get("warm"), facts.get("provisioned"))
    warm, provisioned = (Capacity(**(pair or {"read": None, "write": None})) for pair in pairs)
    found = estimated(warm, provisioned, scale)
    return {} if found is None else {"estimated": found.count, "because": found.because}


def _never(_seconds: float) -> None:
    """One sample needs no pause."""
