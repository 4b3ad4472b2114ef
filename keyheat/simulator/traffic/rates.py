"""How much a scenario's load asks for within one second, and how many of its users are there by then."""

from math import floor, fsum

from keyheat.scenario.shape import Shape
from keyheat.scenario.spec.load import LoadSpec

LOOKS = 20  # within a second, while users are being started


def asked(shape: Shape, load: LoadSpec, at_s: float) -> float:
    """What the load asks for within a second, in the target's unit; the last second may be a shorter one."""
    return max(0.0, shape.total(min(at_s + 1.0, load.duration_s)) - shape.total(at_s))


def asked_of_users(shape: Shape, load: LoadSpec, at_s: float) -> float:
    """The same, as far as there are users: those of a closed loop are the load."""
    return asked(shape, load, at_s) * (1.0 if load.open_loop else spawned_share(load, at_s))


def spawned_share(load: LoadSpec, at_s: float) -> float:
    """The part of the users that is there, in the mean of a second.

    Locust starts them in groups of as many as come within a second, the first group at once.
    """
    group = max(1, floor(load.spawn_per_s))
    if load.users <= group * (1 + floor(at_s * load.spawn_per_s / group)):
        return 1.0
    looks = [at_s + (look + 0.5) / LOOKS for look in range(LOOKS)]
    there = [min(load.users, group * (1 + floor(look * load.spawn_per_s / group))) for look in looks]
    return fsum(there) / LOOKS / load.users
