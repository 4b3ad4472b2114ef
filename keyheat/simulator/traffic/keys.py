"""Where the keys of a load test lie: the laws of its texts, as a rehearsal has learnt them, as masses."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from math import fsum, prod
from typing import Final

from keyheat.simulator.masses import Masses, even_masses, masses_of_shares
from keyheat.simulator.rehearsal.mix import ATTRIBUTE, Text
from keyheat.simulator.traffic.setting import MOST_NAMED, TrafficSetting, on_shards

SLOT: Final = re.compile(r"\{(?:key|time|(\d+)\.\.(\d+)(?::(\d+))?)\}")
SHARDS: Final = re.compile(r"\{key\}#\{0\.\.(\d+)\}")


def masses_of_text(setting: TrafficSetting, text: Text) -> Masses:
    """What texts of this law fall on; those of the same law are the same value."""
    if text.owners is not None:
        return setting.once(repr(text), lambda: _of_owners(setting, text, text.owners or 1))
    if text.made is None:
        return setting.once(repr(text), lambda: _seen(text))
    made = text.made
    if made == "{key}":
        return setting.keys
    if mark := ATTRIBUTE.fullmatch(made):
        return setting.values_of(list(setting.scenario.attribute_values)[int(mark[1])])
    if shards := SHARDS.fullmatch(made):
        count = int(shards[1]) + 1
        if count == setting.shards:
            return setting.sharded
        return setting.now(made, lambda: on_shards(setting.keys, count))
    if "{key}" in made:
        return setting.now(made, lambda: _of_keys(setting.keys, made))
    return setting.once(made, lambda: _of_numbers(made))


def _of_owners(setting: TrafficSetting, text: Text, owners: int) -> Masses:
    """One text for each of so many users, who have drawn it once and send as often as each other."""
    texts = (_drawn(setting, text) for _ in range(owners))
    return masses_of_shares({one: float(count) for one, count in Counter(texts).items()})


def _drawn(setting: TrafficSetting, text: Text) -> str:
    """One text by its law."""
    if text.made is None or "{time}" in text.made:
        return f"{setting.rng.getrandbits(64):016x}"

    def of(slot: re.Match[str]) -> str:
        if slot[1] is None:
            return setting.draw_key()
        return f"{setting.rng.randint(int(slot[1]), int(slot[2])):0{int(slot[3] or 0)}d}"

    return SLOT.sub(of, text.made)


def _seen(text: Text) -> Masses:
    distinct = float("inf") if text.distinct is None else text.distinct
    if not text.seen:
        return even_masses(distinct=distinct)
    even = max(0.0, 1.0 - fsum(share for _text, share in text.seen))
    return masses_of_shares(dict(text.seen), even=even, distinct=distinct)


def _of_numbers(made: str) -> Masses:
    """A text that is always the same, or has numbers in it that are all equally likely."""
    if "{time}" in made:
        return even_masses()
    count = _combinations(made)
    if count > MOST_NAMED:
        return even_masses(distinct=count)
    return masses_of_shares(dict.fromkeys(_spelt(made, ""), 1.0))


def _of_keys(keys: Masses, made: str) -> Masses:
    """A text around each key that the pattern draws."""
    count = _combinations(made)
    if "{time}" in made:
        return even_masses()
    if not len(keys.shares) or len(keys.shares) * count > MOST_NAMED:
        return even_masses(distinct=keys.distinct * count)
    named = (
        (text, share / count)
        for number, share in enumerate(keys.shares.tolist())
        for text in _spelt(made, keys.name(number))
    )
    return masses_of_shares(dict(named), even=keys.even, distinct=keys.distinct * count)


def _numbers(made: str) -> list[tuple[range, int]]:
    """The numbers of each slot, and how many digits they have at least."""
    slots = (slot for slot in SLOT.findall(made) if slot[0])
    return [(range(int(least), int(most) + 1), int(width or 0)) for least, most, width in slots]


def _combinations(made: str) -> int:
    """How many texts there are of each key."""
    return prod(len(numbers) for numbers, _width in _numbers(made))


def _spelt(made: str, key: str) -> Iterator[str]:
    """All of them."""
    slots = _numbers(made)
    for numbers in product(*(each for each, _width in slots)):
        texts = iter(f"{number:0{width}d}" for number, (_each, width) in zip(numbers, slots, strict=True))
        yield SLOT.sub(lambda slot, texts=texts: next(texts) if slot[1] else key, made)  # type: ignore[misc]
