"""Words that a diagnosis and a report share: what a resource and a key are called."""

from typing import Final

DIGEST_DIGITS: Final = 12


def whose(resource: str | None) -> str:
    """A resource in a sentence: `the table`, or `index by_country`."""
    return "the table" if resource in (None, "table") else f"index {resource}"


def key_name(key: str, shown: str | None, digits: int = DIGEST_DIGITS) -> str:
    """A key as it is shown: its value where the run shows values, else the start of its digest."""
    if shown is not None:
        return shown
    kind, _, digest = key.partition(":")
    if digest:
        return f"{kind}:{digest[:digits]}"
    return key if len(key) <= digits else f"{key[: digits - 1]}…"
