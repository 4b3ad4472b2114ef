"""Every attack that takes too long for a test, one after the other: `python -m benchmarks.attacks [WORD]`.

Each sends what a hostile or broken neighbour would send, to this machine alone, and says what became of it.
With a word, only attacks with that word in their name are tried. The exit code is 1 where one did harm.
"""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from time import monotonic

import benchmarks.attacks as rooms

Attack = Callable[[], str]
"""Tries it, and says in a sentence what was seen. Raises `AssertionError` where it did harm."""


def attacks(word: str) -> Iterator[tuple[str, Attack]]:
    """The attacks with the word in their name, which begins with their module's."""
    for module in pkgutil.iter_modules(rooms.__path__):
        if module.name.startswith("__"):
            continue
        for attack in importlib.import_module(f"{rooms.__name__}.{module.name}").ATTACKS:
            name = f"{module.name}.{attack.__name__}"
            if word in name:
                yield name, attack


def survived(name: str, attack: Attack) -> bool:
    """Try one, and print what became of it."""
    start = monotonic()
    try:
        seen, harmless = attack(), True
    except AssertionError as harm:
        seen, harmless = str(harm), False
    became = "survived" if harmless else "HARM"
    print(f"{became:<9}{name:<50}{monotonic() - start:6.1f} s  {seen}", flush=True)
    return harmless


def main(words: list[str]) -> int:
    """Try all, print all; 0 where none did harm."""
    outcomes = [survived(name, attack) for name, attack in attacks(*words[:1] or [""])]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
