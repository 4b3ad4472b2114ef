"""How a response is sent: at once, late, with a header that names faults, or cut off."""

from dataclasses import dataclass
from typing import Final, Literal

HEADER: Final = b"x-keyheat-fault"
"""The response header that names the fault rules that struck."""
Loss = Literal["none", "all", "half"]
"""How much of a response is lost with its connection: half is its whole head and half of its body."""


@dataclass(slots=True)
class Delivery:
    """A response that waits, names the fault rules that struck, or ends its connection."""

    raw: bytes = b""  # the whole response
    waits_s: float = 0.0
    faults: tuple[str, ...] = ()
    loses: Loss = "none"

    def sent(self) -> bytes:
        if self.loses == "all":
            return b""
        raw = self.raw
        if self.faults:
            raw = raw.replace(b"\r\n", b"\r\n%b: %b\r\n" % (HEADER, ", ".join(self.faults).encode()), 1)
        body = raw.index(b"\r\n\r\n") + 4
        return raw if self.loses == "none" else raw[: body + (len(raw) - body) // 2]
