"""What is known of a table's partitions, in one sentence."""

from keyheat.numbers import some
from keyheat.runs.formats import PartitionFacts


def partition_words(facts: PartitionFacts) -> str | None:
    """All of it in one sentence, as a report says it; None where nothing is known."""
    parts = [_how_many(facts), _which_split(facts)]
    said = [part for part in parts if part]
    return f"{'; '.join(said)}." if said else None


def _how_many(facts: PartitionFacts) -> str:
    if facts.open_shards is not None:
        number = some(facts.open_shards, "partition")
        return f"The table had about {number}, by the open shards of its stream"
    if facts.estimated is None:
        return ""
    because = f": {facts.because}" if facts.because else ""
    return f"The table had at least {some(facts.estimated, 'partition')}{because}"


def _which_split(facts: PartitionFacts) -> str:
    if not facts.splits:
        return "" if facts.splits is None else "none split"
    number = "one" if len(facts.splits) == 1 else f"{len(facts.splits):,}"
    first, last = (f"{at:%H:%M:%S}" for at in (min(facts.splits), max(facts.splits)))
    return f"{number} split, at {first}" if first == last else f"{number} split, from {first} to {last}"
