"""Shard iterators: a place in a shard as a text that a client hands back.

The text says everything, so the endpoint remembers none of them.
"""

from base64 import b64decode, b64encode
from dataclasses import dataclass

from keyheat.endpoint.errors import ServiceError, validation_error
from keyheat.model.limits import STREAM_ITERATOR_S

SEPARATOR = "|1|"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardIterator:
    """From which sequence number on a shard is to be read, and when the iterator was handed out."""

    arn: str
    shard_id: str
    sequence: int
    issued_s: float

    def text(self) -> str:
        """As a client sees it."""
        place = f"{self.shard_id} {self.sequence} {self.issued_s!r}"
        return f"{self.arn}{SEPARATOR}{b64encode(place.encode()).decode()}"


def parsed_iterator(text: str, now_s: float) -> ShardIterator:
    """The iterator of a text. Raises ValidationException, or ExpiredIteratorException after 15 minutes."""
    arn, _, place = text.partition(SEPARATOR)
    try:
        shard_id, sequence, issued_s = b64decode(place, validate=True).decode().split(" ")
        iterator = ShardIterator(arn=arn, shard_id=shard_id, sequence=int(sequence), issued_s=float(issued_s))
    except ValueError:
        raise validation_error("Invalid ShardIterator") from None
    if now_s - iterator.issued_s > STREAM_ITERATOR_S:
        raise ServiceError(
            "ExpiredIteratorException", "Iterator expired: it was issued more than 15 minutes ago"
        )
    return iterator
