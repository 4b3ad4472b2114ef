"""`python -m keyheat.endpoint`: the local table as a process of its own.

It prints one line when it answers (`ready http://127.0.0.1:8000`), serves until SIGTERM or SIGINT, and exits
0; with `--exit-with-stdin` also when its standard input ends, so that it does not outlive who started it.
"""

import argparse
import asyncio
import errno
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from keyheat.addresses import on_this_machine
from keyheat.endpoint.items.data import DATA
from keyheat.endpoint.server import Housekeeping, Server, build_router
from keyheat.endpoint.service import Durations, Service
from keyheat.endpoint.streams.registry import MAX_BYTES, Streams
from keyheat.endpoint.tables.control import CONTROL
from keyheat.endpoint.wire.http import Bounds
from keyheat.endpoint.wire.router import Router
from keyheat.hosts import Hosts

WRONG_USE = 2
DESCRIPTION = (
    "A DynamoDB and CloudWatch endpoint that throttles as DynamoDB does, for any client. It prints one line "
    "when it answers (ready http://127.0.0.1:8000) and serves until SIGTERM or Ctrl-C."
)


def main(arguments: Sequence[str] | None = None, prog: str = "python -m keyheat.endpoint") -> int:
    """Serve until told to stop; gives the exit code. `prog` is what the help calls us."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    options = _options(arguments, prog)
    if not on_this_machine(options.host):
        print(
            f"warning: listening on {options.host}: anyone who reaches it reads and writes these tables; "
            "no signature is checked",
            file=sys.stderr,
        )
    _raise_open_files(options.max_connections)
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_serve(options))
    except OSError as error:
        print(_why_not_listening(error, options), file=sys.stderr)
        return WRONG_USE


def _options(arguments: Sequence[str] | None, prog: str) -> argparse.Namespace:
    bounds = Bounds()
    parser = argparse.ArgumentParser(prog=prog, description=DESCRIPTION)
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (%(default)s: this machine only)")
    add(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a further name by which it may be called, as in a network of containers; may be repeated",
    )
    add("--port", type=_whole(0, 65_535), default=8000, help="0: any free one (%(default)s)")
    add("--scale", type=_positive, default=1.0, help="multiplies every rate limit (%(default)s)")
    add("--seed", type=int, default=1, help="seed of the tables' models (%(default)s)")
    add("--region", default="us-east-1", help="Region named in ARNs (%(default)s)")
    add(
        "--publish-delay-s",
        type=_not_negative,
        default=0.0,
        help="from a minute's end to its metrics (%(default)s)",
    )
    add("--create-s", type=_not_negative, default=0.0, help="seconds that CreateTable takes (%(default)s)")
    add("--update-s", type=_not_negative, default=0.0, help="seconds that UpdateTable takes (%(default)s)")
    add(
        "--max-body-bytes",
        type=_whole(1),
        default=bounds.body_bytes,
        help="longest request body (%(default)s)",
    )
    add(
        "--max-head-bytes",
        type=_whole(256),
        default=bounds.head_bytes,
        help="longest request head (%(default)s)",
    )
    add(
        "--max-unfinished-bytes",
        type=_whole(1),
        default=bounds.unfinished_bytes,
        help="of all requests together that have begun and are not whole (%(default)s)",
    )
    add("--max-connections", type=_whole(1), default=bounds.connections, help="open at a time (%(default)s)")
    add(
        "--request-s",
        type=_whole(1),
        default=bounds.request_s,
        help="a request that is not whole after this time is refused (%(default)s)",
    )
    add(
        "--idle-s",
        type=_whole(1),
        default=bounds.idle_s,
        help="silent connections are closed after (%(default)s)",
    )
    add(
        "--max-stream-bytes",
        type=_whole(1),
        default=MAX_BYTES,
        help="of changes that one stream keeps, beyond them the oldest go (%(default)s)",
    )
    add(
        "--record",
        action="store_true",
        help="keep what each table was asked, key by key, at /_keyheat/recorded",
    )
    add("--exit-with-stdin", action="store_true", help="end when standard input, a pipe, ends")
    return parser.parse_args(arguments)


async def _serve(options: argparse.Namespace) -> int:
    loop = asyncio.get_running_loop()
    told_to_stop = asyncio.Event()
    _watch_signals(loop, told_to_stop)
    if options.exit_with_stdin:
        _watch_stdin(loop, told_to_stop)
    housekeeping = Housekeeping()
    server = Server(_router(options), _bounds(options), housekeeping)
    port = await server.start(options.host, options.port)
    housekeeping.start()
    print(f"ready http://{_in_url(options.host)}:{port}", flush=True)
    await told_to_stop.wait()
    await server.stop()
    return 0


def _router(options: argparse.Namespace) -> Router:
    service = Service(
        clock=time.time,
        region=options.region,
        scale=options.scale,
        seed=options.seed,
        durations=Durations(create_s=options.create_s, update_s=options.update_s),
        streams=Streams(max_bytes=options.max_stream_bytes),
        recordings={} if options.record else None,
    )
    hosts = Hosts(frozenset(filter(None, (options.host, *options.allow_host))))
    return build_router(service, CONTROL, DATA, publish_delay_s=options.publish_delay_s, hosts=hosts)


def _bounds(options: argparse.Namespace) -> Bounds:
    return Bounds(
        body_bytes=options.max_body_bytes,
        head_bytes=options.max_head_bytes,
        unfinished_bytes=options.max_unfinished_bytes,
        connections=options.max_connections,
        request_s=options.request_s,
        idle_s=options.idle_s,
    )


def _watch_stdin(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    """Set `ended` when the other end of the pipe is gone. Raises OSError where stdin is not a pipe."""

    def read() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            ended.set()

    def read_on() -> None:
        while os.read(0, 4096):
            pass
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(ended.set)

    try:
        loop.add_reader(0, read)
    except NotImplementedError:  # Windows' loop reads no pipe that it did not open
        threading.Thread(target=read_on, daemon=True).start()


def _watch_signals(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    """Set `ended` on Ctrl-C and on SIGTERM."""
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, ended.set)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(ended.set))


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where it is installed: it has none for Windows. None: Python's own, which is slower."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _raise_open_files(connections: int) -> None:
    """Let the process hold so many sockets, as far as the system permits. Windows counts none."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 64
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard)
        )


def _why_not_listening(error: OSError, options: argparse.Namespace) -> str:
    where = f"port {options.port} on {options.host}"
    if error.errno == errno.EADDRINUSE:
        return f"{where} is taken; choose another with --port or 0 for any free one"
    return f"cannot listen on {where}: {error.strerror or error}"


def _whole(least: int, most: int = 2**31) -> Callable[[str], int]:
    def read(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text} is not between {least} and {most}")
        return number

    return read


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return number


def _not_negative(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return number


if __name__ == "__main__":
    sys.exit(main())
