"""Prints the installed packages that a package does not need to run, one a line: `unneeded.py keyheat`.

requirements.lock pins what developers need as well, and its hashes hold for all of it together. So an image
installs all of it, and then drops what this names.
"""

import re
import sys
from importlib.metadata import PackageNotFoundError, distributions, requires

from packaging.requirements import Requirement

KEPT = {"pip"}  # removes the others


def plain(name: str) -> str:
    """A package's name in the one spelling that can be compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(package: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """The package and everything that it needs, whichever extras of the others that takes."""
    found: set[str] = set()
    waiting = [(package, extras)]
    asked: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, wanted = waiting.pop()
        if (plain(name), wanted) in asked:
            continue
        asked.add((plain(name), wanted))
        try:
            lines = requires(name) or []
        except PackageNotFoundError:
            continue  # a marker of another platform
        found.add(plain(name))
        for line in map(Requirement, lines):
            marked = line.marker is None or any(
                line.marker.evaluate({"extra": extra}) for extra in (wanted or {""}) | {""}
            )
            if marked:
                waiting.append((line.name, frozenset(line.extras)))
    return found


def unneeded(package: str) -> list[str]:
    """Everything that is installed and not needed."""
    installed = {plain(found.metadata["Name"]) for found in distributions()}
    return sorted(installed - needed(package) - KEPT)


if __name__ == "__main__":
    print("\n".join(unneeded(sys.argv[1])))
