"""One random scenario from a seed and a number: a table, its load, what disturbs it, what is lost."""

from dataclasses import dataclass
from random import Random
from typing import Any

from keyheat.accuracy.chance import a_duration_s
from keyheat.accuracy.disturbances import disturb, other_direction
from keyheat.accuracy.draft import Draft, a_kind
from keyheat.accuracy.loss import Loss, a_loss
from keyheat.accuracy.sent import Sent, Stream
from keyheat.accuracy.situations import BESIDE, a_situation
from keyheat.model import limits
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.words import Direction

BOTH_DIRECTIONS = 0.25
CLIENT_BESIDE_CAUSES = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A random scenario, whole."""

    number: int
    situation: str
    scenario: Scenario
    streams: tuple[Stream, ...]
    offset_s: int  # seconds into a minute at which it starts
    loss: Loss
    client: bool  # whether a client without reasons is there beside the cause metrics
    said: tuple[str, ...]

    def traffic(self) -> Sent:
        """What is sent, to be answered once."""
        return Sent(self.streams, self.scenario.seed)


def draw(seed: int, number: int) -> Drawn:
    """The `number`-th scenario of a seed; the same for the same two, whatever else is drawn."""
    rng = Random(f"keyheat accuracy {seed} {number}")
    main = rng.choice((Direction.WRITE, Direction.WRITE, Direction.READ))
    draft = Draft(rng=rng, duration_s=a_duration_s(rng), kind=a_kind(rng, main))
    situation = a_situation(rng)
    situation(draft)
    disturb(draft)
    if rng.random() < BOTH_DIRECTIONS:
        other_direction(draft, _beside(draft))
    offset_s = rng.choice((0, rng.randrange(60)))
    minutes = -(-(offset_s + draft.duration_s) // limits.MINUTE_S)
    loss = a_loss(rng, minutes)
    return Drawn(
        number=number,
        situation=situation.__name__.replace("_", " "),
        scenario=scenario_from_dict(_scenario(draft, number), f"scenario {number} of seed {seed}"),
        streams=tuple(draft.streams),
        offset_s=offset_s,
        loss=loss,
        client=rng.random() < CLIENT_BESIDE_CAUSES,
        said=(*draft.said, *loss.words),
    )


def _beside(draft: Draft) -> Draft:
    """What is asked of the table in the other direction."""
    rng = draft.rng
    direction = Direction.READ if draft.kind.direction is Direction.WRITE else Direction.WRITE
    other = Draft(
        rng=rng,
        duration_s=draft.duration_s,
        kind=a_kind(rng, direction),
        mode="on-demand" if draft.on_demand else "provisioned",
    )
    rng.choice(BESIDE[draft.on_demand])(other)
    return other


def _scenario(draft: Draft, number: int) -> dict[str, Any]:
    """As a person would write it; keys and rates are those of the traffic, which says more than these can."""
    return {
        "format": "keyheat.scenario/1",
        "name": f"random-{number}",
        "question": "Which constraint throttles it?",
        "loadtest": "user_id",
        "seed": draft.rng.randrange(2**31),
        "table": {"name": f"random-{number}", **draft.table},
        "keys": {"kind": "uniform"},
        "load": {"duration_s": draft.duration_s, "requests_per_s": max(1.0, draft.peak / draft.kind.units)},
        "timeline": draft.timeline,
    }
