"""What a run may consume is held from its first request on, whatever is in flight."""

from dataclasses import dataclass, field
from random import Random

import pytest

from keyheat.load.guard.budget import Allowance, Caps, Reservation
from keyheat.load.record.attempt import ConsumedUnits
from keyheat.plan.charges import Tariff


@dataclass
class Users:
    """Users that send at once, whose answers come back in any order, and what those consumed in all."""

    allowance: Allowance
    most: int
    dearer: float = 1.0  # than each was stated to be
    rng: Random = field(default_factory=lambda: Random(1))
    consumed: float = 0.0
    _out: list[tuple[Reservation, float]] = field(default_factory=list)

    def send(self, units: float) -> bool:
        """Send one, once a user is free; whether the budget had room for it."""
        if len(self._out) == self.most:
            self.answer()
        held = self.allowance.hold("PutItem", "write", units)
        if held is not None:
            self._out.append((held, units * self.dearer))
        return held is not None

    def answer(self) -> None:
        """One of those in flight is answered."""
        held, units = self._out.pop(self.rng.randrange(len(self._out)))
        self.consumed += units
        self.allowance.settle(held, ConsumedUnits(units, 0.0, 1))

    def all_back(self) -> float:
        while self._out:
            self.answer()
        return self.consumed


def sent(users: Users, *sizes: float) -> float:
    """What is consumed by requests of these sizes, in turn, until there is no room for one."""
    number = 0
    while users.send(sizes[number % len(sizes)]):
        number += 1
        assert number < 1_000_000
    return users.all_back()


@pytest.mark.parametrize("users", [1, 20, 2_000])
def test_a_cap_holds_with_any_number_of_requests_in_flight(users: int) -> None:
    assert sent(Users(Allowance(Caps(units=500.0)), users), 1.0) == 500.0
    assert 460.0 < sent(Users(Allowance(Caps(units=500.0)), users), 1.0, 40.0, 3.0) <= 500.0


def test_requests_dearer_than_stated_exceed_it_by_those_in_flight_before_the_first_answer() -> None:
    """Two indexes: each write is three. What is known after the first answers holds for all later ones."""
    consumed = sent(Users(Allowance(Caps(units=500.0)), most=20, dearer=3.0), 1.0)
    assert 440.0 <= consumed <= 500.0
    at_once = Users(Allowance(Caps(units=30.0)), most=20, dearer=3.0)
    assert 30.0 < sent(at_once, 1.0) <= 20 * 3.0  # all of them were on their way before anything was known


def test_what_cost_nothing_is_not_used_up() -> None:
    throttled = Users(Allowance(Caps(units=10.0)), most=5, dearer=0.0)
    assert all(throttled.send(1.0) for _ in range(1_000))


def test_dollars_are_held_alike_and_hours_beforehand() -> None:
    tariff = Tariff(per_hour=0.25, per_write_unit=1e-3, per_read_unit=0.0)
    assert sent(Users(Allowance(Caps(dollars=1.0, tariff=tariff)), 10), 1.0) == pytest.approx(750)
    assert sent(Users(Allowance(Caps(dollars=0.2, tariff=tariff)), 10), 1.0) == 0.0
    reads = Allowance(Caps(dollars=0.5, tariff=tariff))
    assert all(reads.hold("GetItem", "read", 1e9) for _ in range(3))  # they cost nothing more


def test_the_cap_that_is_nearest_is_the_one_that_is_named() -> None:
    caps = Caps(units=1_000.0, dollars=1.0, tariff=Tariff(per_hour=0, per_write_unit=2e-3, per_read_unit=0))
    assert caps.nearest(ConsumedUnits(499.0, 0.0), 1.0).rule == "max_dollars"
    assert caps.nearest(ConsumedUnits(0.0, 998.0), 1.0).rule == "max_units"


def test_who_has_a_share_asks_for_more_before_it_ends() -> None:
    allowance, granted = Allowance(Caps(units=1_000.0), 0.1), [0.2, 0.4]

    def ask() -> bool:
        if not granted:
            return False
        allowance.share = granted.pop(0)
        return True

    allowance.ask = ask
    assert sent(Users(allowance, 7), 1.0) == 400.0
