"""`python -m keyheat.endpoint`: the local table as a process of its own.

It prints one line when it answers (`ready http://127.0.0.1:8000`), serves until SIGTERM or SIGINT, and exits
0; with `--exit-with-stdin` also when its standard input ends, so that it does not outlive who started it.
"""

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
from typing import Final

import click

from keyheat.addresses import Hosts, on_this_machine
from keyheat.endpoint.options import ClientBounds, Contents, EndpointOptions, endpoint_options
from keyheat.endpoint.router import Router
from keyheat.endpoint.server import Housekeeping, Server
from keyheat.endpoint.service import Regions, Service, ServiceClock
from keyheat.words import INTERRUPTED, WRONG_USE


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@endpoint_options
def endpoint(options: EndpointOptions) -> int:
    """A DynamoDB and CloudWatch endpoint that throttles as DynamoDB does, for any client.

    It prints one line when it answers (ready http://127.0.0.1:8000) and serves until SIGTERM or Ctrl-C.
    """
    return serve(options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or Ctrl-C; return the exit code."""
    try:
        code: int = endpoint.main(arguments, prog_name="python -m keyheat.endpoint", standalone_mode=False)
        return code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return INTERRUPTED


def serve(options: EndpointOptions) -> int:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    if not on_this_machine(options.host):
        print(
            f"warning: listening on {options.host}: anyone who reaches it reads and writes these tables; "
            "no signature is checked",
            file=sys.stderr,
        )
    clock = ServiceClock(time.time)
    service = Service(
        clock=clock,
        region=options.region,
        scale=options.scale,
        seed=options.seed,
        durations=options.durations,
        behaviour=options.behaviour,
        recordings={} if options.record else None,
    )
    regions = Regions(service)
    try:
        if options.faults is not None:  # the readers of files are loaded for them alone
            from keyheat.endpoint.faultrules import load_rules
            from keyheat.endpoint.faults import Faults

            regions.set_faults(Faults(load_rules(options.faults), clock()))
        if options.contents != Contents():
            from keyheat.endpoint.contents import fill

            fill(regions, options.contents)
    except ValueError as error:
        print(error, file=sys.stderr)
        return WRONG_USE
    hosts = Hosts(frozenset(filter(None, (options.host, *options.allow_host))))
    router = Router(regions, hosts=hosts, clock=clock)
    bounds = ClientBounds(connections=_connections(ClientBounds().connections))
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    with suppress(ImportError):  # there is no uvloop for Windows; Python's own loop is slower
        import uvloop

        loop_factory = uvloop.new_event_loop
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return runner.run(_serve(options, bounds, router))
    except OSError as error:
        where, why = f"port {options.port} on {options.host}", error.strerror or error
        taken = f"{where} is taken; choose another with --port or 0 for any free one"
        print(
            taken if error.errno == errno.EADDRINUSE else f"cannot listen on {where}: {why}", file=sys.stderr
        )
        return WRONG_USE


async def _serve(options: EndpointOptions, bounds: ClientBounds, router: Router) -> int:
    loop = asyncio.get_running_loop()
    told_to_stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, told_to_stop.set)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(told_to_stop.set))
    if options.exit_with_stdin:
        _watch_stdin(loop, told_to_stop)
    housekeeping = Housekeeping()
    server = Server(router, bounds, housekeeping)
    port = await server.start(options.host, options.port)
    housekeeping.start()
    host = f"[{options.host}]" if ":" in options.host else options.host
    print(f"ready http://{host}:{port}", flush=True)
    await told_to_stop.wait()
    await server.stop()
    return 0


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


OTHER_FILES: Final = 64
"""Open files beside connections: a server that has none left cannot even refuse a request."""


def _connections(count: int) -> int:
    """The number of connections that the system permits; warns if that is fewer than wanted."""
    if sys.platform == "win32":
        return count
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = count + OTHER_FILES
    if soft == resource.RLIM_INFINITY or soft >= files:
        return count
    if hard != resource.RLIM_INFINITY and hard < files:
        files = max(hard, OTHER_FILES + 1)
        print(
            f"warning: at most {files - OTHER_FILES:,} connections instead of {count:,}, since this shell "
            f"permits {hard:,} open files; raise that with `ulimit -n`",
            file=sys.stderr,
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files, hard) if hard >= 0 else files, hard))
    return files - OTHER_FILES


if __name__ == "__main__":
    sys.exit(main())
