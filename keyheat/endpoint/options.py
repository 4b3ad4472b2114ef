"""What a local endpoint may be told: its command line, and the bounds of what its clients can make it hold.

Nothing of the endpoint itself is loaded here, so that help does not wait for it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any

import click

from keyheat.model.behaviour import Behaviour, behaving

MIB = 1024 * 1024
REGION_NAME = r"[a-z][a-z0-9-]{0,31}"
"""What may be the name of a Region: those of AWS, and words such as `local`, which people set for tests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientBounds:
    """What clients can make the endpoint hold.

    `body_bytes`: DynamoDB takes requests of 16 MB at most; the JSON around them needs some room.
    `drained_bytes`: a longer body is still read to its end (and dropped), so that its sender sees the answer.
    `unfinished_bytes`: all requests together that have begun and are not whole; fifteen of the longest fit.
    `request_s`: from a request's first bytes to its last.
    """

    body_bytes: int = 17 * MIB
    drained_bytes: int = 256 * MIB
    head_bytes: int = 64 * 1024
    unfinished_bytes: int = 256 * MIB
    connections: int = 4096
    request_s: int = 60
    idle_s: int = 300
    linger_s: int = 5


BOUNDS = ClientBounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Seconds that a change takes. The service takes minutes for a table; the local endpoint need not."""

    create_s: float = 0.0
    update_s: float = 0.0
    delete_s: float = 0.0
    insights_s: float = 1.0
    transaction_s: float = 0.0  # that a transaction takes; others on its items meet it meanwhile


MOST_STREAM_BYTES = 512 * MIB
"""Memory that one stream may keep from being freed, before its oldest entries are trimmed."""
TRANSACTION_S = 0.005
"""That a transaction takes where a person started the endpoint, so that those that overlap meet, as in AWS.

Requests of one client's threads arrive a few milliseconds apart; in AWS one takes 18 ms more than a put.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOptions:
    """What somebody said of an endpoint on its command line."""

    host: str
    allow_host: tuple[str, ...]
    port: int
    scale: float
    seed: int
    region: str
    publish_delay_s: float
    durations: Durations
    behaviour: Behaviour
    bounds: ClientBounds
    stream_bytes: int
    record: bool
    faults: Path | None
    snapshot: Path | None
    table: tuple[Path, ...]
    seed_items: tuple[tuple[str | None, Path], ...]
    exit_with_stdin: bool


class Within(click.FloatRange):
    """A number in a range. `nan` is in none, though no comparison finds it outside; nor is infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Ends the command where it is none, or outside."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number


def _some(flag: str, kind: Any, default: Any, help: str, **more: Any) -> Callable[[Any], Any]:
    return click.option(
        flag, flag[2:].removeprefix("max-").replace("-", "_"),
        type=kind, default=default, show_default=True, help=help, **more,
    )  # fmt: skip


def _behaviour(_context: click.Context, _option: click.Parameter, settings: tuple[str, ...]) -> Behaviour:
    try:
        return behaving(settings)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _region(_context: click.Context, _option: click.Parameter, said: str) -> str:
    if re.fullmatch(REGION_NAME, said) is None:
        raise click.BadParameter(f"{said!r} is no name of a Region, such as eu-west-1 or local")
    return said


def _seeds(
    _context: click.Context, _option: click.Parameter, said: tuple[str, ...]
) -> tuple[tuple[str | None, Path], ...]:
    """Files of items, each with the table that is named before it."""
    return tuple(_seed(one) for one in said)


def _seed(said: str) -> tuple[str | None, Path]:
    table, sign, path = said.partition("=")
    return (table or None, Path(path)) if sign and not Path(said).exists() else (None, Path(said))


WHOLE, SECONDS = click.IntRange(1, 2**31), Within(0)
ALL = (
    _some("--host", str, "127.0.0.1", "address to listen on; the default lets in this machine only"),
    click.option(
        "--allow-host", metavar="NAME", multiple=True,
        help="a further name by which it may be called, as in a network of containers; may be repeated",
    ),
    _some("--port", click.IntRange(0, 65_535), 8000, "0: any free one"),
    _some("--scale", Within(0, min_open=True), 1.0, "multiplies every rate limit"),
    _some("--seed", int, 1, "seed of the tables' models"),
    _some(
        "--region", str, "us-east-1", "of requests that are signed for none, and of tables without an ARN",
        callback=_region,
    ),
    _some("--publish-delay-s", SECONDS, 0.0, "from a minute's end to its metrics"),
    _some("--create-s", SECONDS, 0.0, "seconds that CreateTable takes"),
    _some("--update-s", SECONDS, 0.0, "seconds that UpdateTable takes"),
    _some(
        "--transaction-s", Within(0), 0.0,
        "seconds that a transaction takes: one that meets it on an item is cancelled (AWS: about 0.018)",
    ),
    click.option(
        "--behaviour", metavar="NAME=VALUE", multiple=True, callback=_behaviour,
        help="another value for what AWS does not publish, such as burst_s=120; may be repeated",
    ),
    _some("--max-body-bytes", WHOLE, BOUNDS.body_bytes, "longest request body"),
    _some("--max-head-bytes", click.IntRange(256, 2**31), BOUNDS.head_bytes, "longest request head"),
    _some(
        "--max-unfinished-bytes", WHOLE, BOUNDS.unfinished_bytes,
        "of all requests together that have begun and are not whole",
    ),
    _some("--max-connections", WHOLE, BOUNDS.connections, "open at a time"),
    _some("--request-s", WHOLE, BOUNDS.request_s, "a request that is not whole after this time is refused"),
    _some("--idle-s", WHOLE, BOUNDS.idle_s, "silent connections are closed after"),
    _some(
        "--max-stream-bytes", WHOLE, MOST_STREAM_BYTES,
        "of changes that one stream keeps, beyond them the oldest go",
    ),
    click.option(
        "--record", is_flag=True, help="keep what each table was asked, key by key, at /_keyheat/recorded"
    ),
    click.option(
        "--faults", metavar="FILE", type=click.Path(path_type=Path),
        help="rules of faults, in TOML: throttles, errors, late and lost answers",
    ),
    click.option(
        "--snapshot", metavar="FILE", type=click.Path(path_type=Path),
        help="tables and items to begin with, as GET /_keyheat/snapshot gave them",
    ),
    click.option(
        "--table", metavar="FILE", type=click.Path(path_type=Path), multiple=True,
        help="tables to begin with, as describe-table prints or create-table takes them; may be repeated",
    ),
    click.option(
        "--seed-items", metavar="[TABLE=]FILE", multiple=True, callback=_seeds,
        help="items to begin with, in lines of JSON, packed by gzip or not; may be repeated",
    ),
    click.option("--exit-with-stdin", is_flag=True, help="end when standard input, a pipe, ends"),
)  # fmt: skip


NAMES = {part.name for part in fields(EndpointOptions)}


def _taken(kind: type[Any], said: dict[str, Any]) -> Any:
    return kind(**{part.name: said.pop(part.name) for part in fields(kind) if part.name in said})


def endpoint_options(verb: Callable[..., int]) -> Callable[..., int]:
    """Give a verb the options of an endpoint, as one argument `options`."""

    @wraps(verb)
    def with_options(**said: Any) -> int:
        parts = {"durations": _taken(Durations, said), "bounds": _taken(ClientBounds, said)}
        options = EndpointOptions(**parts, **{name: said.pop(name) for name in NAMES & said.keys()})
        return verb(options=options, **said)

    for option in reversed(ALL):
        with_options = option(with_options)
    return with_options
