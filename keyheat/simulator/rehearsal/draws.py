"""Chance in a rehearsal: every draw is noted, and the text of a key is explained by what was drawn for it.

The n-th task's i-th draw is the fraction of n times the square root of the i-th prime (a Kronecker sequence):
a hundred of them are spread as evenly as ten thousand at random.

    customer-17#hot#country-3   and drawn were   hot, 17 of 10,000, 3 of 50
    customer-{0..9999}#{key}#country-{0..49}

What no draw explains is judged by how often each value was seen.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isqrt, sqrt
from random import Random
from string import ascii_letters, digits
from typing import Any, Final

from keyheat.scenario.keys import KeyPattern
from keyheat.simulator.rehearsal.mix import FRESH, Text

FRESH_BITS: Final = 48  # of a draw: so many make a value that nobody has drawn before


def _roots(count: int) -> tuple[float, ...]:
    primes = (n for n in range(2, 20 * count) if all(n % d for d in range(2, isqrt(n) + 1)))
    return tuple(sqrt(prime) for prime, _ in zip(primes, range(count), strict=False))


OFTEN: Final = 100
ROOTS: Final = _roots(2 * OFTEN)


class Draws:
    """What the task that is going on has drawn."""

    def __init__(self) -> None:
        self.keys: list[str] = []  # of the scenario's pattern
        self.numbers: list[tuple[int, int, int]] = []  # each with the least and the greatest that it could be
        self.fresh = False  # whether it drew enough bits for a new value
        self._task = 0
        self._made = [0, 0]  # draws by the task itself, and by the pattern for it: neither moves the other's

    def begin(self, task: int) -> None:
        """The n-th time that a task is done begins."""
        self.keys, self.numbers, self.fresh = [], [], False
        self._task, self._made = task, [0, 0]

    def next(self, chance: Random, *, of_pattern: bool) -> float:
        """From 0 to 1; a task that draws very often has the rest from `chance`."""
        place = self._made[of_pattern]
        self._made[of_pattern] += 1
        if place >= OFTEN:
            return chance.random()
        return (self._task + 0.5) * ROOTS[place + OFTEN * of_pattern] % 1.0


class Noting(Random):
    """A user's source of chance."""

    def __init__(self, draws: Draws, seed: object, *, of_pattern: bool = False) -> None:
        super().__init__(str(seed))
        self._draws, self._chance, self._of_pattern = draws, Random(str(seed)), of_pattern

    def __new__(cls, *_what: object, **_how: bool) -> "Noting":
        return super().__new__(cls)

    def random(self) -> float:
        return self._draws.next(self._chance, of_pattern=self._of_pattern)

    def getrandbits(self, k: int, /) -> int:
        self._draws.fresh |= k >= FRESH_BITS
        return self._chance.getrandbits(k)

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        numbers = range(start) if stop is None else range(start, stop, step)
        value = numbers[int(self.random() * len(numbers))]
        if step == 1 and not self._of_pattern:  # how the pattern draws is the pattern's to say
            self._draws.numbers.append((value, numbers[0], numbers[-1]))
        return value

    def randint(self, a: int, b: int) -> int:
        return self.randrange(a, b + 1)

    def choice(self, seq: Any) -> Any:
        return seq[int(self.random() * len(seq))]


class NotedKeys:
    """The scenario's pattern, as users draw from it."""

    def __init__(self, pattern: KeyPattern, draws: Draws, seed: int) -> None:
        self._pattern, self._draws = pattern, draws
        self._rng = Noting(draws, f"{seed}/keys", of_pattern=True)

    def draw(self, _rng: Random, elapsed_s: float) -> str:
        """The key that is touched next."""
        key = self._pattern.draw(self._rng, elapsed_s)
        self._draws.keys.append(key)
        return key


IN_TIME: Final = re.compile(r"\d{13}-\d{7,10}-\d{6,10}", re.ASCII)  # `TableUser.next_sort_key`
IN_WORDS: Final = frozenset(ascii_letters + digits)
NUMBER: Final = re.compile(r"\d+", re.ASCII)
HOLE: Final = "{?}"
USER: Final = 987  # of the user that is rehearsed: not the first one, who may have more to do than others
SEEN_OFTEN: Final = 5  # times that a value is seen before its part of all is believed
SURE: Final = 5.0  # standard deviations


Range = tuple[int, int]
"""The least and the greatest of numbers that are all equally likely."""


@dataclass(frozen=True, slots=True)
class KeyText:
    """One text with what explains it."""

    text: str
    shape: str  # `{?}` stands for each number that is not a part of a drawn key
    numbers: tuple[str, ...]  # which they are
    drawn_of: tuple[frozenset[Range], ...]  # and of which each may have been drawn
    fresh: bool  # whether enough was drawn meanwhile for a value that nobody had before


def made(text: str, keys: Sequence[str], numbers: Sequence[tuple[int, int, int]], *, fresh: bool) -> KeyText:
    """A text as the draws of its task explain it."""
    if text in keys:
        return KeyText(text, "{key}", (), (), fresh)
    if "{" in text:
        return KeyText(text, text, (), (), fresh)
    shape = text
    for key in sorted({key for key in keys if key in text}, key=len, reverse=True):
        shape = _marked(shape, key)
    shape = IN_TIME.sub("{time}", shape)
    found = NUMBER.findall(shape)
    drawn_of = tuple(
        frozenset((least, most) for value, least, most in numbers if value == int(one)) for one in found
    )
    return KeyText(text, NUMBER.sub(HOLE, shape), tuple(found), drawn_of, fresh)


def _marked(text: str, key: str) -> str:
    """The text with `{key}` wherever the key stands apart; without a pattern, which takes long to compile."""
    parts, done, at = [], 0, text.find(key)
    while at >= 0 and key:
        end = at + len(key)
        if text[at - 1 : at] not in IN_WORDS and text[end : end + 1] not in IN_WORDS:
            parts += [text[done:at], "{key}"]
            done = end
        at = text.find(key, max(done, at + 1))
    return "".join([*parts, text[done:]])


def law_of(
    texts: Sequence[KeyText], *, shards: int, patient: bool = False, last: bool = False
) -> Text | None:
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


def _filled(texts: Sequence[KeyText], place: int, shards: int) -> str | None:
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
    if len(values) == dense and len(numbers) >= SEEN_OFTEN * dense and _even(values, dense):
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
    often = {text: count for text, count in counts.items() if count >= SEEN_OFTEN}
    if sum(often.values()) > len(texts) - SEEN_OFTEN:
        often = dict(counts)
    others = [count for text, count in counts.items() if text not in often]
    pairs, left = sum(count * (count - 1) for count in others), sum(others)
    return Text(
        seen=tuple(sorted((text, count / len(texts)) for text, count in often.items())),
        distinct=left * (left - 1) / pairs if pairs else None,
    )
