"""Options that are stated once, as fields of a dataclass, for click and for `ArgumentParser`."""

import functools
from collections.abc import Callable
from dataclasses import Field, field, fields
from math import isfinite
from typing import Any

import click


class Within(click.FloatRange):
    """A number in a range. `nan` is in none, though no comparison finds it outside; nor is infinity."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number. Ends the command where it is none, or outside."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number


def option(help_text: str, *, default: Any = None, flag: str = "", **settings: Any) -> Any:
    """A field that is read from the command line; `settings` are those of `click.option`.

    A field whose default is False is a flag; one whose default is an empty tuple may be repeated.
    """
    help_text += "; repeatable" if default == () else ""
    return field(default=default, metadata={"flag": flag, "help": help_text, **settings})


def takes(name: str, form: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a verb the options of a dataclass, as one argument `name`."""
    options = [entry for entry in fields(form) if "help" in entry.metadata]

    def with_options(verb: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(verb)
        def read(**values: Any) -> Any:
            return verb(**{name: form(**{entry.name: values.pop(entry.name) for entry in options})}, **values)

        for entry in reversed(options):
            settings = {key: value for key, value in entry.metadata.items() if key != "flag"}
            kind = {"is_flag": True} if entry.default is False else {"multiple": entry.default == ()}
            shown = entry.default is not None and entry.default is not False and entry.default != ()
            settings |= kind | {"default": entry.default, "show_default": shown}
            read = click.option(_flag(entry), entry.name, **settings)(read)
        return read

    return with_options


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
    """The fields of a dataclass by name, as they are."""
    return {entry.name: getattr(form, entry.name) for entry in fields(form)}
