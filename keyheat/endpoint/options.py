"""What a local endpoint may be told: its command line, and the bounds of what its clients can make it hold.

Nothing of the endpoint itself is loaded here, so that help does not wait for it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any

import click

from keyheat.flags import Within, option, takes
from keyheat.model.behaviour import Behaviour, behaving

MIB = 1024 * 1024
REGION_NAME = r"[a-z][a-z0-9-]{0,31}"
"""What may be the name of a Region: those of AWS, and words such as `local`, which people set for tests."""


def _behaviour(_context: click.Context, _option: click.Parameter, settings: tuple[str, ...]) -> Behaviour:
    try:
        return behaving(settings)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _region(_context: click.Context, _option: click.Parameter, text: str) -> str:
    if re.fullmatch(REGION_NAME, text) is None:
        raise click.BadParameter(f"{text!r} is not a Region name; use one such as eu-west-1 or local")
    return text


def _seeds(
    _context: click.Context, _option: click.Parameter, text: tuple[str, ...]
) -> tuple[tuple[str | None, Path], ...]:
    seeds: list[tuple[str | None, Path]] = []
    for entry in text:
        table, sign, path = entry.partition("=")
        named = sign and not Path(entry).exists()
        seeds.append((table or None, Path(path)) if named else (None, Path(entry)))
    return tuple(seeds)


SECONDS = Within(0)
FILE: dict[str, Any] = {"metavar": "FILE", "type": click.Path(path_type=Path)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientBounds:
    """What clients can make the endpoint hold.

    `body_bytes`: DynamoDB takes requests of 16 MB at most; the JSON around them needs some room.
    `drained_bytes`: a longer body is still read to its end (and dropped), so that its sender sees the answer.
    `request_s`: from a request's first bytes to its last.
    """

    body_bytes: int = 17 * MIB
    drained_bytes: int = 256 * MIB
    head_bytes: int = 64 * 1024
    connections: int = 4_096
    request_s: int = 60
    idle_s: int = 300
    linger_s: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """Seconds that a change takes. The service takes minutes for a table; the local endpoint need not."""

    create_s: float = option("seconds that CreateTable takes", default=0.0, type=SECONDS)
    update_s: float = option("seconds that UpdateTable takes", default=0.0, type=SECONDS)
    delete_s: float = 0.0
    # that a transaction takes; others on its items meet it meanwhile
    transaction_s: float = option(
        "seconds that a transaction takes (AWS: about 0.018)", default=0.0, type=SECONDS
    )


TRANSACTION_S = 0.005
"""That a transaction takes where a person started the endpoint, so that those that overlap meet, as in AWS.

Requests of one client's threads arrive a few milliseconds apart; in AWS one takes 18 ms more than a put.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """The files of what an endpoint starts with; items with the table that is named before them."""

    snapshot: Path | None = option("start with tables and items of GET /_keyheat/snapshot", **FILE)
    table: tuple[Path, ...] = option("create this table, as describe-table prints it", default=(), **FILE)
    seed_items: tuple[tuple[str | None, Path], ...] = option(
        "load items (JSON lines, plain or gzip)", default=(), metavar="[TABLE=]FILE", callback=_seeds
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointOptions:
    host: str = option("listen on this address; the default admits this machine only", default="127.0.0.1")
    allow_host: tuple[str, ...] = option("accept this further host name", default=(), metavar="NAME")
    port: int = option("listen on this port; 0: any free one", default=8000, type=click.IntRange(0, 65_535))
    scale: float = option("multiply every rate limit", default=1.0, type=Within(0, min_open=True))
    seed: int = option("seed of the tables' models", default=1, type=int)
    region: str = option(
        "Region of unsigned requests and of tables without an ARN", default="us-east-1", callback=_region
    )
    behaviour: Behaviour = option(
        "set an unpublished value, such as burst_s=120", default=(), metavar="NAME=VALUE", callback=_behaviour
    )
    record: bool = option("record requests per key, at /_keyheat/recorded", default=False)
    faults: Path | None = option("inject throttles, errors, late and lost answers (TOML)", **FILE)
    exit_with_stdin: bool = option("end when standard input, a pipe, ends", default=False)
    contents: Contents = Contents()
    durations: Durations = Durations()


def endpoint_options(verb: Callable[..., int]) -> Callable[..., int]:
    """Give a verb the options of an endpoint, as one argument `options`."""

    @takes("options", EndpointOptions)
    @takes("contents", Contents)
    @takes("durations", Durations)
    @wraps(verb)
    def read(options: EndpointOptions, **values: Any) -> int:
        parts = {name: values.pop(name) for name in ("contents", "durations")}
        return verb(options=replace(options, **parts), **values)

    return read
