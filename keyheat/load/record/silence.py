"""Seconds in which nothing is answered although requests are in flight: an endpoint that hangs.

In a closed loop nobody sends then, so that nothing else tells it from a load that asks for little. An
endpoint that is slow is another thing: its answers come, each after its time.
"""

from dataclasses import dataclass
from typing import Final

LEAST_S: Final = 5.0
"""Shorter silences are those of few users and slow answers."""


@dataclass(slots=True)
class Silence:
    """The silence of one process, looked at about once a second."""

    in_flight: int = 0  # requests; a user that backs off has none
    answers: int = 0  # that came whole, whatever they said
    _answers: int = 0  # at the last look
    _in_flight: int = 0
    _at_s: float = 0.0
    _quiet_s: float = 0.0  # how long it has lasted by now

    def seen(self, now_s: float) -> float:
        """Look; gives the seconds of silence that are to be counted since the last look.

        Those before it was known to be one come with the first that is.
        """
        quiet = self.answers == self._answers and self.in_flight > 0 and self._in_flight > 0
        passed_s, before_s = max(0.0, now_s - self._at_s), self._quiet_s
        self._quiet_s = before_s + passed_s if quiet else 0.0
        self._answers, self._in_flight, self._at_s = self.answers, self.in_flight, now_s
        if self._quiet_s < LEAST_S:
            return 0.0
        return passed_s if before_s >= LEAST_S else self._quiet_s
