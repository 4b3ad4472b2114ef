"""How an answer is sent: at once, late, with a header that names faults, or cut off."""

from dataclasses import dataclass
from typing import Final, Literal

from keyheat.model.nodes import Caller

HEADER: Final = b"x-keyheat-fault"
"""The response header that names the fault rules that struck."""
Loss = Literal["none", "all", "half"]
"""How much of an answer is lost with its connection: half is all of its head, and half of its body."""


@dataclass(slots=True)
class Delivery:
    """An answer that waits for so long, names the rules of faults that struck, or ends its connection."""

    raw: bytes = b""  # the whole response
    waits_s: float = 0.0
    faults: tuple[str, ...] = ()
    loses: Loss = "none"

    def sent(self) -> bytes:
        """What is sent of the response."""
        if self.loses == "all":
            return b""
        raw = self.raw
        if self.faults:
            raw = raw.replace(b"\r\n", b"\r\n%b: %b\r\n" % (HEADER, ", ".join(self.faults).encode()), 1)
        body = raw.index(b"\r\n\r\n") + 4
        return raw if self.loses == "none" else raw[: body + (len(raw) - body) // 2]


@dataclass(slots=True)
class Exchange(Caller):
    """The request at hand: the connection that it came on, and how its answer goes; None: at once."""

    delivery: Delivery | None = None

    def answered(self, raw: bytes) -> bytes | Delivery:
        """The response as it goes; the next request begins with nothing noted."""
        delivery, self.delivery = self.delivery, None
        if delivery is None:
            return raw
        delivery.raw = raw
        return delivery
