"""A knee in words: what the table carries, what throttles next, and how near that limit is."""

from dataclasses import dataclass
from typing import Final

from keyheat.analysis.knee import Knee, KneeStep
from keyheat.analysis.knee_steps import LimitUse
from keyheat.numbers import NOTHING, percent, whole
from keyheat.plan.quotas import ON_DEMAND
from keyheat.runfiles import SIMULATED
from keyheat.scenario.scenario import Scenario
from keyheat.wording.constraints import NAMES, limit_of
from keyheat.words import Source

KEY_SHARE: Final = 0.5
"""Part of a partition's demand from which it is one key that is its limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KneeAnswer:
    """A search with what it was about. `uses`: the limits at the highest demand that was carried."""

    scenario: Scenario
    target: str
    step_s: float
    knee: Knee
    uses: tuple[LimitUse, ...]
    scale: float = 1.0
    assumed: tuple[str, ...] = ()  # of items, in sentences

    @property
    def source(self) -> Source:
        """What refused requests."""
        sources: dict[str, Source] = {SIMULATED: "simulated", "local": "local"}
        return sources.get(self.target, "aws")

    @property
    def unit(self) -> str:
        """What demands are in, a second."""
        return self.scenario.load.target_unit

    def demand(self, step: KneeStep) -> str:
        """A demand in words."""
        return f"{whole_or_not(step.demand_per_s)} {self.unit}/s"

    def use_of(self, step: KneeStep) -> LimitUse | None:
        """The limit that a step was held to, at the demand that was carried."""
        return next(
            (use for use in self.uses if (use.constraint, use.resource, use.direction) == step.limit), None
        )

    @property
    def one_key(self) -> bool:
        """Whether the limit is that of a partition most of whose demand is one key's."""
        step = self.knee.limited
        use = self.use_of(step) if step is not None and step.constraint == "partition" else None
        return use is not None and (use.key_per_s or 0.0) >= KEY_SHARE * use.asked_per_s


def whole_or_not(demand: float) -> str:
    """A demand with the digits in which it was tried."""
    return whole(demand) if demand >= 100 or demand == int(demand) else f"{demand:.4g}"


def chip_of(found: KneeAnswer) -> str:
    """Whose knee it is, in two words."""
    step = found.knee.limited
    if step is None:
        return "No constraint"
    if step.state != "limited":
        return "Generator-bound" if step.state == "generator" else "Not decided"
    if step.constraint == "partition":
        return "The key's knee" if found.one_key else "A partition's knee"
    if step.constraint == "undetermined":
        return "A knee"
    if step.constraint == "table":
        return "The table's knee" if step.resource == "table" else "The index's knee"
    return NAMES[step.constraint]


def sentence_of(found: KneeAnswer) -> str:
    """The answer, with the numbers that carry it."""
    knee = found.knee
    carried, above = knee.carried, knee.limited
    if above is None:
        most = found.demand(knee.in_order[-1])
        return f"No constraint up to {most}: everything was carried."
    so_far = f"{found.demand(carried)} are carried" if carried else "Nothing that was tried is carried"
    if above.state == "generator":
        return f"{so_far}; at {found.demand(above)} the load generator is the limit, not the table."
    if above.state == "undecided":
        return f"{so_far}; what {found.demand(above)} came to cannot be told."
    return f"{chip_of(found)}: {_small(so_far)}; {_above(found, above)}."


def _small(text: str) -> str:
    return text[0].lower() + text[1:]


def _above(found: KneeAnswer, step: KneeStep) -> str:
    """What happens at the lowest demand that is not carried."""
    which = limit_of(step.constraint, step.resource)
    if step.on_burst:
        return f"{found.demand(step)} live on what was saved, beyond {which} ({step.direction}s)"
    by = f"{percent(step.throttled_share)} of the attempts are throttled"
    return f"at {found.demand(step)}, {by}, by {which} ({step.direction}s)"


def notes_of(found: KneeAnswer) -> list[str]:
    """What has to be known beside the answer."""
    knee, above = found.knee, found.knee.limited
    said = list(found.assumed)
    if found.target == SIMULATED:
        said.append("Simulated, on a table that has spent its burst: what it carries, it carries for long.")
    if above is not None and above.on_burst:
        said.append(
            "A demand above what is provisioned is served for some minutes only, from unused capacity."
        )
    if not knee.confirmed:
        said.append("The knee was tried twice, and the second time it was not the same: the range is wide.")
    if knee.carried is None and above is not None and above.state == "limited":
        said.append(f"Nothing below {found.demand(above)} was tried: the knee is there, or below.")
    if above is not None and above.constraint == "partition" and not found.one_key:
        said += _of_partition(found)
    if found.scenario.changes_capacity:
        said.append("Timeline and auto scaling are left out: the capacity is the same all the time.")
    if found.scenario.load.shape is not None:
        said.append("The load's shape is left out: every step is a constant demand.")
    if found.scale != 1:
        said.append(f"At scale {found.scale:g} of every rate limit: divide by it for a real table.")
    return said


def _of_partition(found: KneeAnswer) -> list[str]:
    if found.scenario.table.billing_mode == ON_DEMAND:
        return ["A new on-demand table has few partitions: it grows with its peaks, or is pre-warmed."]
    return ["No key stands out on that partition: several of them share it, until it splits."]


def limited_by(step: KneeStep) -> str:
    """What a step was throttled by, in few letters; in brackets what is no limit of the table."""
    if step.state == "carried":
        return NOTHING
    if step.state != "limited":
        return "(generator)" if step.state == "generator" else "(not decided)"
    own = "" if step.resource == "table" else f" ({step.resource})"
    return f"{step.constraint.replace('_', ' ')}{own}{', on burst' if step.on_burst else ''}"
