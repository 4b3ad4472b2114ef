"""The lines of a scenario file: that of each mistake, and those with a mark."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Final

Place = tuple[str | int, ...]
"""The way to a value: names of tables and fields, and numbers in arrays of tables."""
HEAD: Final = re.compile(r"\s*(\[\[?)([^\]\n]+)\]\]?\s*(?:#.*)?")
MOST_LINES: Final = 500  # of one value; a longer one is taken to have ended
ENDS: Final = ("]", "}", '"""', "'''")
NAME: Final = r"(?:[\w-]+|\"[^\"\n]*\"|'[^'\n]*')"
PART: Final = re.compile(NAME)
ASSIGNED: Final = re.compile(rf"\s*({NAME}(?:\s*\.\s*{NAME})*)\s*=")
STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
POINTS_TO: Final = re.compile(r"^(.*) @ \$((?:\.[^.\[\]]+|\[\d+\])+)$", re.DOTALL)


def located(errors: list[str], text: str) -> list[str]:
    """Mistakes of a TOML file (`message @ $.keys.share`), each with the line that it is about."""
    lines = dict(_lines(text))
    return [_with_line(error, lines) for error in errors]


def marked(text: str, mark: str) -> Iterator[str]:
    """The fields of a TOML file on whose line a comment has the mark, as `keys.exponent = 0.8`."""
    lines = text.splitlines()
    for path, number in _lines(text):
        setting, _, comment = lines[number - 1].partition(" #")
        if mark in comment and "=" in setting:
            steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
            yield f"{''.join(steps).lstrip('.')} = {setting.partition('=')[2].strip()}"


def _with_line(error: str, lines: Mapping[Place, int]) -> str:
    match = POINTS_TO.match(error)
    if match is None:
        return error
    steps = (name or int(number) for name, number in STEP.findall(match[2]))
    path: Place = tuple(steps)
    while path and path not in lines:
        path = path[:-1]
    return f"{error} (line {lines[path]})" if path else error


def _lines(text: str) -> Iterator[tuple[Place, int]]:
    """The line on which each table and each field begins."""
    table: Place = ()
    counts: dict[Place, int] = {}
    value, since = "", 0  # of a field that goes on over several lines
    for number, line in enumerate(text.splitlines(), start=1):
        if value:
            value = f"{value}\n{line}"
            if number - since > MOST_LINES:
                value = ""
            elif line.partition("#")[0].rstrip().endswith(ENDS):
                value = _going_on(value)
        elif head := HEAD.fullmatch(line):
            table = _within(_parts(head[2]), counts)
            if head[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, number
        elif field := ASSIGNED.match(line):
            yield (*table, *_parts(field[1])), number
            value, since = _going_on(line), number


def _going_on(assigned: str) -> str:
    """A field whose value does not end here; nothing where it does."""
    try:
        tomllib.loads(assigned)
    except tomllib.TOMLDecodeError:
        return assigned
    return ""


def _parts(name: str) -> tuple[str, ...]:
    return tuple(step.strip("\"'") for step in PART.findall(name))


def _within(parts: tuple[str, ...], counts: Mapping[Place, int]) -> Place:
    """A table's place; within an array of tables it is in the last one so far."""
    path: Place = ()
    for number, name in enumerate(parts, start=1):
        path = (*path, name)
        if path in counts and number < len(parts):
            path = (*path, counts[path])
    return path
