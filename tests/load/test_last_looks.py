"""What is looked up after the load: it is in the record, or the record says that it is not."""

from types import SimpleNamespace

from keyheat.load.record.record import Record
from keyheat.load.run.load import Load, LookFailed


def test_a_last_look_that_fails_is_said_and_the_others_are_taken() -> None:
    record = Record(heat={})

    def blind() -> None:
        raise LookFailed("how many there were is not known: no answer")

    looks = [blind, lambda: record.count("shards.ended_with", 3)]
    order = SimpleNamespace(url="http://localhost:8000")
    load = SimpleNamespace(record=record, order=order, last_looks=looks)
    Load.look_back(load)  # type: ignore[arg-type]
    assert record.health.problems == ["how many there were is not known: no answer"]
    assert record.counted["shards.ended_with"] == 3
