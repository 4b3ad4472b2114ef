"""One request as the client saw it: what users make of each, and what the record is made of."""

from dataclasses import dataclass

from keyheat.words import DirectionName


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request as the client saw it: what it was, and when it was to start, started and ended."""

    operation: str
    direction: DirectionName
    key: str
    sent_s: float  # epoch seconds
    late_us: int  # actual start minus intended start
    service_us: int
    table: str | None = None  # a table beside the one that is judged; None: that one
    timed: bool = True  # False: a further item of a request whose duration is counted already
