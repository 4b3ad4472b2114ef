"""The load of a random scenario: streams of requests, each with its own rate, keys and patience."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

import numpy as np
import numpy.typing as npt

from keyheat.simulator.flow import Answer, Flow
from keyheat.simulator.masses import Masses

WAITS_S: Final = (1, 2, 4)  # what a client with back-off waits before it tries again


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """Requests of one kind over the whole run."""

    flow: Flow  # its number of requests and its keys are those of each second
    per_s: npt.NDArray[np.float64]  # requests in each second of the run
    keys: tuple[Masses, ...]  # one after the other
    keys_s: int  # seconds until the next keys have their turn
    tries_again: float = 0.0  # the part of the refused requests that comes again


class Sent:
    """The streams as the table meets them; refused requests come again where their stream says so."""

    __slots__ = ("_again", "_rng", "_sending", "_streams")

    def __init__(self, streams: Sequence[Stream], seed: int) -> None:
        self._streams = tuple(streams)
        self._rng = Random(seed)
        self._again: Counter[tuple[int, int]] = Counter()  # by stream and second
        self._sending: list[int] = []

    def second(self, at_s: float) -> Sequence[Flow]:
        """What is sent in the second that begins `at_s` seconds into the run."""
        place = int(at_s)
        flows = []
        self._sending = []
        for number, stream in enumerate(self._streams):
            fresh = float(stream.per_s[place]) if place < len(stream.per_s) else 0.0
            requests = fresh + self._again.pop((number, place), 0)
            if requests > 0:
                turn = place // stream.keys_s % len(stream.keys)
                flows.append(replace(stream.flow, requests=requests, keys=stream.keys[turn]))
                self._sending.append(number)
        return flows

    def answered(self, at_s: float, answers: Sequence[Answer]) -> None:
        """Let a part of what was refused come again, after a wait."""
        for number, answer in zip(self._sending, answers, strict=True):
            share = self._streams[number].tries_again
            refused = answer.attempts - answer.accepted
            if share and refused:
                wait_s = self._rng.choice(WAITS_S)
                self._again[number, int(at_s) + wait_s] += round(refused * share)
