"""What every pace is: when a user starts its next task, and from when on a request counts as waited for."""

from typing import Protocol

LONGEST_WAIT_S = 3_600.0  # a user looks again after so long whether a shape asks for something


class Timetable(Protocol):
    """When the arrivals of one process are due, in seconds from the start of the load."""

    @property
    def has_share(self) -> bool:
        """Whether a part of the load is this process's."""

    @property
    def due_s(self) -> float:
        """When the next arrival is due; infinity where no more is asked for."""

    def begin(self, at_s: float) -> None:
        """The load begins."""

    def drop(self, now_s: float) -> int:
        """Skip the arrivals that have been due for too long; how many they are."""

    def take(self) -> float:
        """Start the arrival that is due; gives the cost that it is taken to have."""

    def settle(self, difference: float) -> None:
        """An arrival costs so much more, or less, than it was taken to."""

    def learn(self, cost: float) -> None:
        """An arrival is over, and cost so much in all."""

    def asked(self, from_s: float, to_s: float) -> float:
        """How much this process was asked for between two moments, of which one follows on the other."""


class Pace(Protocol):
    """The pace of one user. Locust asks for `wait` between two tasks; each request begins and ends."""

    def wait(self) -> float:
        """The user is free: seconds that it waits from now on. May wait itself first."""

    def begin(self, now_s: float, cost: float) -> float:
        """A request is sent now that is taken to cost so much; gives its intended start."""

    def settle(self, difference: float) -> None:
        """The request cost so much more, or less, than it was taken to."""
