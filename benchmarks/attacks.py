"""What a hostile neighbour sends to the local endpoint: requests that begin, hold memory and never end.

`python -m benchmarks.attacks [WORD]`: attacks that take too long for a test, on this machine alone; with a
word, only those with that word in their name. The exit code is 1 where one did harm.
"""

import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from time import monotonic
from urllib.parse import urlsplit
from urllib.request import urlopen

import psutil

from keyheat.endpoint.process import EndpointProcess

CONNECTIONS = 60
MB = 10**6
MOST_HELD_BYTES = 100 * MB
HEAD = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Amz-Target: DynamoDB_20120810.PutItem\r\n"
PATIENCE_S = 10.0


def chunks_of_a_byte() -> str:
    """60 connections send 15 MB of chunks of one byte each, and no last one."""
    return _held(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n")


def trailers_without_end() -> str:
    """60 connections end a body and send 15 MB of one line after it."""
    return _held(HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: ")


def _held(begun: bytes, piece: bytes = b"x") -> str:
    """Raises AssertionError where that takes more memory than the bound, or keeps others out."""
    with EndpointProcess.start() as process, ExitStack() as stack:
        before_bytes = psutil.Process(process.pid).memory_info().rss
        for _ in range(CONNECTIONS):
            _send(stack.enter_context(_connected(process.url)), begun, piece * (15 * MB // len(piece)))
        held_bytes = psutil.Process(process.pid).memory_info().rss - before_bytes
        seen = f"{CONNECTIONS} connections held {held_bytes / MB:.0f} MB"
        assert held_bytes < MOST_HELD_BYTES, seen
        with urlopen(f"{process.url}/_keyheat/health", timeout=PATIENCE_S) as answer:
            assert answer.status == 200, "others were not answered"
    return seen


def _connected(url: str) -> socket.socket:
    split = urlsplit(url)
    return socket.create_connection((split.hostname or "", split.port or 0), timeout=PATIENCE_S)


def _send(to: socket.socket, begun: bytes, rest: bytes) -> None:
    try:
        to.sendall(begun + rest)
    except OSError:
        return  # refused, which is how this should end


def survived(attack: Callable[[], str]) -> bool:
    """Try one, and print what became of it."""
    start = monotonic()
    try:
        seen, became = attack(), "survived"
    except AssertionError as harm:
        seen, became = str(harm), "HARM"
    print(f"{became:<9}{attack.__name__:<50}{monotonic() - start:6.1f} s  {seen}", flush=True)
    return became == "survived"


ATTACKS: tuple[Callable[[], str], ...] = (chunks_of_a_byte, trailers_without_end)


def main(word: str = "") -> int:
    """Try all, print all; 0 where none did harm."""
    outcomes = [survived(attack) for attack in ATTACKS if word in attack.__name__]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
