"""Options that are stated once, as fields of a dataclass, for click and for `ArgumentParser`."""

import functools
from collections.abc import Callable
from dataclasses import Field, field, fields
from typing import Any

import click


def option(help_text: str, *, default: Any = None, flag: str = "", **settings: Any) -> Any:
    """A field that is read from the command line; `settings` are those of `click.option`.

    A field whose default is False is a flag; one whose default is an empty tuple may be repeated.
    """
    help_text += "; repeatable" if default == () else ""
    return field(default=default, metadata={"flag": flag, "help": help_text, **settings})


def takes(name: str, form: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a verb an option for each field of a dataclass that is one, as one argument `name`."""
    options = [one for one in fields(form) if "help" in one.metadata]

    def with_options(verb: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(verb)
        def read(**values: Any) -> Any:
            return verb(**{name: form(**{one.name: values.pop(one.name) for one in options})}, **values)

        for one in reversed(options):
            settings = {key: value for key, value in one.metadata.items() if key != "flag"}
            kind = {"is_flag": True} if one.default is False else {"multiple": one.default == ()}
            shown = one.default is not None and one.default is not False and one.default != ()
            settings |= kind | {"default": one.default, "show_default": shown}
            read = click.option(_flag(one), one.name, **settings)(read)
        return read

    return with_options


def add_arguments(group: Any, form: type) -> None:
    """Add an argument to a group of an `ArgumentParser` for each field of a dataclass."""
    for one in fields(form):
        settings = {name: value for name, value in one.metadata.items() if name != "flag"}
        if one.default is False:
            settings["action"] = "store_true"
        elif one.default == ():
            settings |= {"action": "append", "default": []}
        group.add_argument(_flag(one), **settings)


def _flag(one: "Field[Any]") -> str:
    return one.metadata["flag"] or f"--{one.name.replace('_', '-')}"


def values_of(form: Any) -> dict[str, Any]:
    """The fields of a dataclass by name, as they are."""
    return {one.name: getattr(form, one.name) for one in fields(form)}
