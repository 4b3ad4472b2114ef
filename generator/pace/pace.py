"""What every pace is: when a user starts its next task, and from when on a request counts as waited for."""

from typing import Protocol

LONGEST_WAIT_S = 3_600.0  # a user looks again after so long whether a shape asks for something


class Pace(Protocol):
    """The pace of one user. Locust asks for `wait` between two tasks; each request begins and ends."""

    def wait(self) -> float:
        """The user is free: seconds that it waits from now on. May wait itself first."""

    def begin(self, now_s: float, cost: float) -> float:
        """A request is sent now that is taken to cost so much; gives its intended start."""

    def settle(self, difference: float) -> None:
        """The request cost so much more, or less, than it was taken to."""
