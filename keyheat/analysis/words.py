"""Words that a diagnosis, a terminal and a report share: for limits, resources, keys and things to do."""

import re
from typing import Final

from keyheat.words import Constraint

DIGEST_DIGITS: Final = 12
LIMITS: Final[dict[Constraint, str]] = {
    "partition": "a partition's limit",
    "table": "the provisioned throughput",
    "max_on_demand": "the on-demand maximum",
    "account": "the account's quota",
    "undetermined": "a limit that the evidence does not tell",
    "none": "no limit",
}
TITLES: Final = {
    "auto_scaling": "Turn on auto scaling",
    "back_off": "Retry with jitter, or queue",
    "cache_reads": "Cache the popular items",
    "change_index_key": "Spread the index's partition key",
    "collect_evidence": "Collect more evidence",
    "on_demand": "Switch to on-demand mode",
    "pre_warm": "Pre-warm the table",
    "raise_account_quota": "Ask for a higher quota",
    "raise_capacity": "Raise the capacity",
    "raise_cardinality": "Use a partition key with more values",
    "raise_max_on_demand": "Raise or remove the maximum",
    "raise_minimum": "Keep a higher minimum",
    "ramp": "Ramp the load up",
    "read_eventually_consistent": "Read eventually consistent",
    "replicate_reads": "Keep copies of the hot item",
    "shard_date_key": "Shard every date",
    "shard_writes": "Shard the hot key",
}


def title_of(action: str) -> str:
    """What to do as a short command; an action that we do not know is said as it stands."""
    return TITLES.get(action) or action.replace("_", " ").capitalize()


def capital(text: str) -> str:
    """A line that begins as a sentence does; file names and identifiers keep their spelling."""
    return text[0].upper() + text[1:] if re.match(r"[a-z]+[ ,:]", text) else text


def sentence(text: str) -> str:
    """A note as a sentence: with a capital and a full stop."""
    return capital(text if text.endswith((".", "!", "?")) else f"{text}.")


def glued(text: object) -> str:
    """Text whose numbers stay on one line with their units."""
    return re.sub(r"(?<=\d) (?=(%|WCU|RCU|ms|s|min|h|d)\b|%)", "\u00a0", str(text))


def key_name(key: str, shown: str | None, digits: int = DIGEST_DIGITS) -> str:
    """A key as it is shown: its value where the run shows values, else the start of its digest."""
    if shown is not None:
        return shown
    kind, _, digest = key.partition(":")
    if digest:
        return f"{kind}:{digest[:digits]}"
    return key if len(key) <= digits else f"{key[: digits - 1]}…"
