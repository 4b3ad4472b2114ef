"""Every mistake of a command line in one message, in place of the first alone."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click


class Several(click.UsageError):
    """More than one mistake, each with its own words."""

    def __init__(self, mistakes: Sequence[str], context: click.Context | None = None) -> None:
        lines = [f"  - {mistake}".replace("\n", "\n    ") for mistake in mistakes]
        super().__init__("\n".join((f"{len(mistakes)} mistakes:", *lines)), context)
        self.mistakes = mistakes


class Mistakes:
    """Collects what is wrong, to refuse all of it at once."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._first: Exception | None = None

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Go on after a mistake of the person's; a damaged file ends the verb."""
        from keyheat.runfiles import FileProblem  # a verb that is right does without

        try:
            yield
        except FileProblem:
            raise
        except Several as error:
            self._found += error.mistakes
        except click.UsageError as error:
            self._note(error.format_message(), error)
        except ValueError as error:
            self._note(str(error), error)

    def add(self, message: str) -> None:
        """Note what is wrong."""
        self._note(message, click.UsageError(message))

    def refuse(self) -> None:
        """Raise the only mistake as it is, or `Several`."""
        if len(self._found) == 1 and self._first is not None:
            raise self._first
        if self._found:
            raise Several(self._found)

    def _note(self, message: str, error: Exception) -> None:
        self._found.append(message)
        self._first = self._first or error


class CheckedCommand(click.Command):
    """A verb that refuses all its wrong options and arguments at once."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the command line. Raises `click.UsageError` with every mistake."""
        given = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as first:
            if ctx.resilient_parsing or not given:
                raise
            mistakes = list(self._mistakes(click.Context(self, ctx.parent, ctx.info_name), given))
            if len(mistakes) < 2:
                raise
            raise Several(mistakes, ctx) from first

    def _mistakes(self, ctx: click.Context, args: list[str]) -> Iterator[str]:
        """Check unknown options first, then each parameter, then the scenario."""
        unknown = False
        while True:
            try:
                values, rest, _order = self.make_parser(ctx).parse_args(list(args))
                break
            except (click.NoSuchOption, click.BadOptionUsage) as error:
                yield error.format_message()
                unknown = True
                args = _without(args, error.option_name)
        for parameter in sorted(self.get_params(ctx), key=lambda parameter: not parameter.is_eager):
            if parameter.name == "help":
                continue
            try:
                parameter.handle_parse_result(ctx, values, rest)
            except click.MissingParameter as error:
                if not unknown:  # else it may be what stands behind an unknown option
                    yield error.format_message()
            except click.UsageError as error:
                yield error.format_message()
        if rest and not unknown:
            yield f"Got unexpected extra argument{'s' if len(rest) > 1 else ''} ({' '.join(rest)})"
        yield from _of_scenarios(ctx.params)


def _without(args: Sequence[str], option: str) -> list[str]:
    """The arguments without an unknown option, and what may be its value."""
    numbers = [number for number, word in enumerate(args) if word.partition("=")[0] == option]
    if not numbers:  # one of several short options in a word
        return [word for word in args if word.startswith("--") or not word.startswith("-")]
    first = numbers[0]
    behind = args[first + 1 :]
    has_value = "=" not in args[first] and behind and not behind[0].startswith("-")
    return [*args[:first], *(behind[1:] if has_value else behind)]


def _of_scenarios(values: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the scenarios of the command line and their settings."""
    names, settings = values.get("scenarios") or values.get("scenario") or (), values.get("settings") or ()
    from keyheat.simulator.jobs import find_scenarios

    try:
        find_scenarios((names,) if isinstance(names, str) else names, settings)
    except (ValueError, OSError) as error:
        yield str(error)
