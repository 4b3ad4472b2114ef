"""How long a throttled request is tried again, and with which pauses."""

from collections.abc import Callable
from random import Random

from botocore.exceptions import ClientError

from keyheat.sharding.policy import Policy
from keyheat.sharding.throttle import throttle_of

MOST_DOUBLINGS = 30  # the longest pause is reached long before


class Patience:
    """That of one write: its pauses get longer, and after `within_s` seconds there are no more."""

    def __init__(
        self,
        policy: Policy,
        *,
        within_s: float,
        rng: Random,
        clock: Callable[[], float],
        pause: Callable[[float], None],
    ) -> None:
        self._policy = policy
        self._until_s = clock() + within_s
        self._rng = rng
        self._clock = clock
        self._pause = pause
        self._pauses = 0

    def after(self, error: ClientError) -> None:
        """Pause before the request is sent again; raises the error where it is no throttle, or time is up.

        The pause is drawn evenly, so that many writers do not come back at once.
        """
        if throttle_of(error.response) is None or self._clock() >= self._until_s:
            raise error
        longest_s = min(self._policy.retry_high_s, self._policy.retry_low_s * 2**self._pauses)
        self._pauses = min(self._pauses + 1, MOST_DOUBLINGS)
        self._pause(self._rng.uniform(0, longest_s))
