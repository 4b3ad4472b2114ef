"""Where the metrics of a load go while it goes on, as the command line and the environment say."""

from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from socket import gethostname
from typing import Any, Final

from keyheat.otlp import check_otlp, in_environment

HERE: Final = "127.0.0.1"
INTERVAL: Final = "OTEL_METRIC_EXPORT_INTERVAL"  # milliseconds
EVERY_S: Final = 5.0
"""A load is over in minutes, of which OpenTelemetry's own default, a minute, would show little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exports:
    """Where the metrics of a load go, as the command line and the environment say."""

    host: str = HERE
    port: int | None = None  # None: Prometheus reads nothing
    names: frozenset[str] = frozenset()  # by which `host` may be called
    collector: str | None = None  # the address that they are sent to; None: to nobody
    variable: str | None = None  # that names the collector; None: the command line does
    every_s: float = EVERY_S

    @property
    def any(self) -> bool:
        """Whether there is any."""
        return self.port is not None or self.collector is not None


def exports_of(
    options: Namespace, environ: Mapping[str, str], errors: list[str], say: Callable[[str], None]
) -> Exports:
    """What is said of exports; what is wrong with it goes to `errors`.

    A variable may be there for something else: where it cannot be followed, that is said, and nothing more.
    """
    host, port = options.prometheus_host, options.prometheus_port
    if port is not None and not 0 <= port <= 65_535:
        errors.append(f"--prometheus-port {port} is no port: 1 to 65535, or 0 for any that is free")
    if host is not None and port is None:
        errors.append(
            f"--prometheus-host {host} says where a port is to be: say which, --prometheus-port 9464"
        )
    return Exports(
        host=host or HERE,
        port=port,
        names=frozenset({gethostname(), host, *options.allow_host} - {None, ""}),
        every_s=_every_s(environ, errors),
        **_collector(options, environ, errors, say),
    )


def _note(errors: list[str], check: Callable[[], Any]) -> Any:
    """What a check gives; None where it raises, which is noted."""
    try:
        return check()
    except ValueError as error:
        errors.append(str(error))
        return None


def _collector(
    options: Namespace, environ: Mapping[str, str], errors: list[str], say: Callable[[str], None]
) -> dict[str, str | None]:
    if options.otlp is not None:
        return {"collector": _note(errors, lambda: check_otlp(options.otlp))}
    if (found := in_environment(environ)) is None:
        return {}
    (variable, url), wrong = found, list[str]()
    address = _note(wrong, lambda: check_otlp(url, variable))
    for words in wrong:
        say(f"no metrics are sent: {words}")
    return {"collector": address, "variable": variable}


def _every_s(environ: Mapping[str, str], errors: list[str]) -> float:
    word = environ.get(INTERVAL, "").strip()
    if word and not (word.isdecimal() and int(word)):
        errors.append(f"{INTERVAL}={word} is no number of milliseconds, such as 5000")
    return int(word) / 1000 if word.isdecimal() and int(word) else EVERY_S
