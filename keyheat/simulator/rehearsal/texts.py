"""How a load test makes its keys: texts explained by what was drawn while they were made.

    customer-17#hot#country-3   and drawn were   hot, 17 of 10,000, 3 of 50
    customer-{0..9999}#{key}#country-{0..49}

What no draw explains is judged by how often each value was seen.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

from keyheat.simulator.rehearsal.mix import FRESH, Text

IN_TIME: Final = re.compile(r"\d{13}-\d{7,10}-\d{6,10}", re.ASCII)  # `TableUser.next_sort_key`
NUMBER: Final = re.compile(r"\d+", re.ASCII)
HOLE: Final = "{?}"
MARK: Final = re.compile(r"\{(key|time|\?)\}")
USER: Final = 987  # of the user that is rehearsed: not the first one, who may have more to do than others
OFTEN: Final = 5  # times that a value is seen before its part of all is believed
SURE: Final = 5.0  # standard deviations


Range = tuple[int, int]
"""The least and the greatest of numbers that are all equally likely."""


@dataclass(frozen=True, slots=True)
class Made:
    """One text with what explains it."""

    text: str
    shape: str  # `{?}` stands for each number that is not a part of a drawn key
    numbers: tuple[str, ...]  # which they are
    drawn_of: tuple[frozenset[Range], ...]  # and of which each may have been drawn
    fresh: bool  # whether enough was drawn meanwhile for a value that nobody had before


def made(text: str, keys: Sequence[str], numbers: Sequence[tuple[int, int, int]], *, fresh: bool) -> Made:
    """A text as the draws of its task explain it."""
    if text in keys:
        return Made(text, "{key}", (), (), fresh)
    if "{" in text:
        return Made(text, text, (), (), fresh)
    shape = text
    for key in sorted({key for key in keys if key in text}, key=len, reverse=True):
        shape = re.sub(rf"(?<![0-9A-Za-z]){re.escape(key)}(?![0-9A-Za-z])", "{key}", shape)
    shape = IN_TIME.sub("{time}", shape)
    found = NUMBER.findall(shape)
    drawn_of = tuple(
        frozenset((least, most) for value, least, most in numbers if value == int(one)) for one in found
    )
    return Made(text, NUMBER.sub(HOLE, shape), tuple(found), drawn_of, fresh)


def law_of(texts: Sequence[Made], *, shards: int, patient: bool = False, last: bool = False) -> Text | None:
    """The law of texts that were made in one place; None: it takes more of them to say.

    `patient`: they are many; `last`: they are all that there will be.
    """
    shapes = {one.shape for one in texts}
    if len(shapes) == 1:
        holes = [_filled(texts, place, shards) for place in range(len(texts[0].numbers))]
        if None not in holes:
            return Text(made=_joined(texts[0].shape, [hole or "" for hole in holes]))
    different = len({one.text for one in texts})
    if different == len(texts) and (patient or all(one.fresh for one in texts)):
        return FRESH
    return _seen([one.text for one in texts]) if last else None


def _joined(shape: str, holes: Iterable[str]) -> str:
    left = iter(holes)
    return "".join(next(left) if part == HOLE else part for part in re.split(r"(\{\?\})", shape))


def _filled(texts: Sequence[Made], place: int, shards: int) -> str | None:
    """What a number in a text is: one of so many, or always the same; None where nobody can say."""
    numbers = [one.numbers[place] for one in texts]
    ranges = frozenset.intersection(*(one.drawn_of[place] for one in texts))
    if len(set(numbers)) == 1 and int(numbers[0]) != USER:
        return numbers[0]
    if ranges:
        return _slot(*min(ranges, key=lambda one: one[1] - one[0]), numbers)
    values = Counter(int(number) for number in numbers)
    after_hash = texts[0].shape.split(HOLE)[place].endswith("#")
    if after_hash and max(values) < shards and _even(values, shards):
        return _slot(0, shards - 1, numbers)
    dense = max(values) + 1
    if len(values) == dense and len(numbers) >= OFTEN * dense and _even(values, dense):
        return _slot(0, dense - 1, numbers)
    return None


def _slot(least: int, most: int, numbers: Sequence[str]) -> str:
    """`{0..19}`, or `{0..19:2}` where numbers have leading zeros."""
    widths = {len(number) for number in numbers}
    padded = len(widths) == 1 and any(len(one) > 1 and one.startswith("0") for one in numbers)
    return f"{{{least}..{most}:{widths.pop()}}}" if padded else f"{{{least}..{most}}}"


def _even(values: Counter[int], count: int) -> bool:
    """Whether values are as even as those of so many that are all equally likely."""
    mean = values.total() / count
    return all(abs(values[one] - mean) <= SURE * sqrt(mean) + 1 for one in range(count))


def _seen(texts: Sequence[str]) -> Text:
    """Values in proportion to how often they were seen; of those seen seldom, how many there are."""
    counts = Counter(texts)
    often = {text: count for text, count in counts.items() if count >= OFTEN}
    if sum(often.values()) > len(texts) - OFTEN:
        often = dict(counts)
    others = [count for text, count in counts.items() if text not in often]
    pairs, left = sum(count * (count - 1) for count in others), sum(others)
    return Text(
        seen=tuple(sorted((text, count / len(texts)) for text, count in often.items())),
        distinct=left * (left - 1) / pairs if pairs else None,
    )
