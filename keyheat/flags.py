"""Options as fields of a dataclass, for click and `ArgumentParser`, and their value types."""

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import Field, field, fields
from datetime import UTC, datetime, timedelta, tzinfo
from math import isfinite
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import click


class Within(click.FloatRange):
    """A finite number in a range; click lets `nan` and infinity pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse the number. Ends the command if it is invalid or out of range."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value} is not a number.", param, ctx)
        return number


class TimeZone(click.ParamType[tzinfo]):
    """A time zone: an offset such as +02:00, or a name such as Europe/Berlin."""

    name = "zone"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tzinfo:
        """The zone by its offset or name."""
        if isinstance(value, tzinfo):
            return value
        try:
            offset = re.fullmatch(r"[+-]\d\d:?\d\d", value)
            return datetime.strptime(value, "%z").tzinfo or UTC if offset else ZoneInfo(value)
        except (ValueError, OSError, ZoneInfoNotFoundError):
            self.fail(f"{value!r} is not a zone such as UTC, +02:00 or Europe/Berlin", param, ctx)


class TimeSpan(click.ParamType[timedelta]):
    """A length of time, such as 90m, 3h or 2d."""

    name = "span"

    def convert(
        self, value: str | timedelta, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Raises `UsageError` with what is accepted."""
        if isinstance(value, timedelta):
            return value
        number, unit = value[:-1], {"m": "minutes", "h": "hours", "d": "days"}.get(value[-1:])
        if unit is None or not number.isdecimal() or not 0 < int(number) < 100_000:
            self.fail(f"{value!r} is not a length of time such as 90m, 3h or 2d", param, ctx)
        return timedelta(**{unit: int(number)})


class NamedSeries(click.ParamType[tuple[str, str]]):
    """The series in a file: FILE=METRIC/STATISTIC/PERIOD/RESOURCE."""

    name = "FILE=SERIES"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """The file's name, and the series as a label."""
        file, equals, series = value.partition("=")
        if not (file and equals and series):
            self.fail(f"{value!r} is not such as w.json=WriteThrottleEvents/Sum/60/table", param, ctx)
        return Path(file).name, series


def option(help_text: str, *, default: Any = None, flag: str = "", **settings: Any) -> Any:
    """A field that the command line sets; `settings` are those of `click.option`.

    A field with the default False is a flag; one with an empty tuple is repeatable.
    """
    help_text += "; repeatable" if default == () else ""
    return field(default=default, metadata={"flag": flag, "help": help_text, **settings})


def options_of(form: type) -> Any:
    """A field that holds the options of another dataclass."""
    return field(default_factory=form, metadata={"form": form})


def takes(name: str, form: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a verb the options of a dataclass, as one argument `name`."""

    def with_options(verb: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(verb)
        def read(**values: Any) -> Any:
            return verb(**{name: _filled(form, values)}, **values)

        for entry in reversed([*_options(form)]):
            settings = {key: value for key, value in entry.metadata.items() if key != "flag"}
            kind = {"is_flag": True} if entry.default is False else {"multiple": entry.default == ()}
            has_default = entry.default is not None and entry.default is not False and entry.default != ()
            settings = kind | {"default": entry.default, "show_default": has_default} | settings
            read = click.option(_flag(entry), entry.name, **settings)(read)
        return read

    return with_options


def _options(form: type) -> Iterator["Field[Any]"]:
    """The fields that are options, those of inner dataclasses among them, in their order."""
    for entry in fields(form):
        if "form" in entry.metadata:
            yield from _options(entry.metadata["form"])
        elif "help" in entry.metadata:
            yield entry


def _filled(form: type, values: dict[str, Any]) -> Any:
    """The dataclass with its values, which are taken out of `values`."""
    inner = {entry.name: entry.metadata.get("form") for entry in fields(form) if entry.metadata}
    return form(
        **{name: _filled(of, values) if of is not None else values.pop(name) for name, of in inner.items()}
    )


def add_arguments(group: Any, form: type) -> None:
    """Add an argument to a group of an `ArgumentParser` for each field of a dataclass."""
    for entry in fields(form):
        settings = {name: value for name, value in entry.metadata.items() if name != "flag"}
        if entry.default is False:
            settings["action"] = "store_true"
        elif entry.default == ():
            settings |= {"action": "append", "default": []}
        else:
            settings["default"] = entry.default
        group.add_argument(_flag(entry), **settings)


def _flag(entry: "Field[Any]") -> str:
    return entry.metadata["flag"] or f"--{entry.name.replace('_', '-')}"


def values_of(form: Any) -> dict[str, Any]:
    return {entry.name: getattr(form, entry.name) for entry in fields(form)}
