"""Whatever writes overlap, are refused or lost: what the ledger is certain of is so, and has been."""

from dataclasses import dataclass
from decimal import Decimal
from random import Random

import pytest

from keyheat.load.users.collections import NO_ORDER, Item
from keyheat.load.users.ledger import Ledger, Spot
from keyheat.scenario.spec.tables import CapacityPair, IndexSpec, TableSpec

CAPACITY = CapacityPair(read=1, write=1)
INDEX = IndexSpec(name="top", partition_key="slot", sort_key="views", provisioned=CAPACITY)
TABLE = TableSpec(name="images", provisioned=CAPACITY, indexes=(INDEX,))
KEY: Item = {"pk": {"S": "a"}}


@dataclass(slots=True)
class Sent:
    """A write that is in flight, and whether the table has applied it."""

    kind: str
    views: str
    slot: str
    applied: bool = False


class World:
    """A table of one item, and a ledger that sees only what a client sees."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.ledger = Ledger([TABLE], now=lambda: self.now_s)
        self.identity = self.ledger.identity("images", KEY)
        self.item: Item | None = None
        self.since_s: dict[Spot, float] = {}
        self.in_flight: list[Sent] = []

    def begin(self, sent: Sent) -> None:
        self.in_flight.append(sent)
        self.ledger.begin(self.identity, self.stated(sent))

    def stated(self, sent: Sent) -> Item | None:
        """What the request says of the item after it."""
        if sent.kind == "delete":
            return None
        return {**KEY, "slot": {"S": sent.slot}, "views": {"N": sent.views}} if sent.kind == "put" else KEY

    def apply(self, sent: Sent) -> None:
        if sent.applied:
            return
        sent.applied = True
        if sent.kind == "update":
            self.item = {**(self.item or KEY), "views": {"N": sent.views}}
        else:
            self.item = self.stated(sent)
        spots: set[Spot] = {(("images", None, "a"), NO_ORDER)} if self.item else set()
        if self.item and "slot" in self.item:
            spots.add((("images", "top", self.item["slot"]["S"]), Decimal(self.item["views"]["N"])))
        self.since_s = {spot: self.since_s.get(spot, self.now_s) for spot in spots}

    def land(self, sent: Sent, lost: bool) -> None:
        self.in_flight.remove(sent)
        if lost:
            self.ledger.unknown(self.identity)
        elif not sent.applied:
            self.ledger.refused(self.identity)
        elif sent.kind == "update":
            self.ledger.updated(self.identity, {**KEY, "views": {"N": sent.views}})
        else:
            self.ledger.applied(self.identity, self.stated(sent))

    def certain(self) -> dict[Spot, float]:
        item = self.ledger._items.get(self.identity)
        return item.since_s if item else {}

    def check(self) -> None:
        for spot, since_s in self.certain().items():
            assert spot in self.since_s, "it is not there"
            assert self.since_s[spot] <= since_s, "it was not there all the time"


@pytest.mark.parametrize("seed", range(4))
def test_what_is_certain_is_true_and_has_been(seed: int) -> None:
    rng, world = Random(seed), World()
    certain = 0
    for _event in range(10_000):
        world.now_s += 1.0
        event = rng.choice(["begin", "begin", "apply", "apply", "land", "land", "lose"])
        if event == "begin" and len(world.in_flight) < 3:
            kind = rng.choice(["put", "put", "update", "delete"])
            world.begin(Sent(kind, rng.choice("12"), rng.choice("st")))
        elif world.in_flight and event != "begin":
            sent = rng.choice(world.in_flight)
            if event == "apply":
                world.apply(sent)
            elif event == "land" or rng.random() < 0.2:
                world.land(sent, lost=event == "lose")
        world.check()
        certain += len(world.certain())
    assert certain > 1_000, "a ledger that knows nothing is never wrong"
