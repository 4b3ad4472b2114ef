"""What a person, or the program that started us, sees while a run goes on."""

import sys
from dataclasses import dataclass
from typing import Any, TextIO

import orjson

from keyheat.load.guard.signals import release_output
from keyheat.load.record.rows import ACCEPTED, ERRORS, THROTTLED
from keyheat.masking import masked, plain, plain_json


@dataclass(slots=True)
class RunProgress:
    """Says what happens: as JSON lines on stdout for a program, or in words on stderr for a person."""

    as_json: bool

    def phase(self, name: str, words: str, **more: Any) -> None:
        if self.as_json:
            self._line({"phase": name, **more})
        else:
            tell(words)

    def aligning(self, left_s: float) -> None:
        words = f"keyheat: the load begins with the next minute, in {left_s:.0f} s (--no-align: at once)"
        self.phase("aligning", words, left_s=round(left_s, 1))

    def second(self, elapsed_s: float, counts: list[float]) -> None:
        """One second of load is over; a person sees Locust's own table instead."""
        if self.as_json:
            self._line(
                {
                    "elapsed_s": round(elapsed_s, 1),
                    "accepted_per_s": int(counts[ACCEPTED]),
                    "throttled_per_s": int(counts[THROTTLED]),
                    "errors_per_s": int(counts[ERRORS]),
                }
            )

    def say(self, words: str) -> None:
        """Something that everybody should read: one line on stderr."""
        tell(f"keyheat: {masked(words)}")

    def _line(self, content: dict[str, Any]) -> None:
        _put(plain_json(orjson.dumps(content), "ascii") + "\n", sys.stdout)


def tell(words: str, end: str = "\n") -> None:
    """Words for a person, on stderr; they may hold names and errors that others wrote."""
    _put(plain(words) + end, sys.stderr)


def _put(line: str, stream: TextIO) -> None:
    """Write a line; a run continues and cleans up if its terminal or pipe is closed."""
    try:
        stream.write(line)
        stream.flush()
    except OSError:
        release_output()
