"""What becomes of an answer on its way: most go at once; some wait, carry a word of ours, or get lost."""

from dataclasses import dataclass
from typing import Literal

from keyheat.model.nodes import Caller

Loss = Literal["none", "all", "half"]
"""How much of an answer is lost with its connection: half is all of its head, and half of its body."""


@dataclass(slots=True)
class Delivery:
    """An answer that waits for so long, has further header lines, or ends its connection."""

    waits_s: float = 0.0
    head: bytes = b""
    loses: Loss = "none"

    def sent(self, raw: bytes) -> bytes:
        """What is sent of a whole response."""
        if self.loses == "all":
            return b""
        raw = raw.replace(b"\r\n", b"\r\n" + self.head, 1)
        body = raw.index(b"\r\n\r\n") + 4
        return raw if self.loses == "none" else raw[: body + (len(raw) - body) // 2]


@dataclass(slots=True)
class Exchange(Caller):
    """The request at hand: the connection that it came on, and how its answer goes; None: at once."""

    delivery: Delivery | None = None
