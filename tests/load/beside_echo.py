"""A process beside a load that says what it was told; with `fail` or `wait` as its argument it does that."""

import signal
import sys
from collections.abc import Mapping
from threading import Event

from keyheat.load.sidecar import Assignment, SidecarOutcome, serve


class Echo:
    """Counts what the users counted, once more."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment

    def work(self, stop: Event) -> None:
        """Wait, or fail."""
        if "fail" in sys.argv:
            raise RuntimeError("there is no such stream")
        stop.wait()

    def finish(self, counted: Mapping[str, float]) -> SidecarOutcome:
        """Say the numbers again."""
        if "wait" in sys.argv:
            signal.pause()
        numbers = {f"echo.{name}": number for name, number in counted.items()}
        return SidecarOutcome(counted=numbers, said=[f"beside {self.assignment.run_id}"])


if __name__ == "__main__":
    sys.exit(serve(Echo))
