"""A knee in words and as a page: what the table carries, what throttles next, and how near every limit is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from keyheat.analysis.knee import Knee, KneeStep
from keyheat.analysis.knee_steps import SHARE_MOST, LimitUse
from keyheat.numbers import NOTHING, UNITS, exact_percent, measured, percent, rate, some, span, whole
from keyheat.pages.charts.figures import PageTable
from keyheat.pages.charts.knee import accepted_chart, throttled_chart
from keyheat.pages.page import PageAnswer, Stat, write_answer
from keyheat.pages.run.hero import PLACES
from keyheat.pages.run.sections import Section
from keyheat.pages.run.verdict import grade_words
from keyheat.plan.quotas import ON_DEMAND
from keyheat.runfiles import SIMULATED
from keyheat.scenario.scenario import Scenario
from keyheat.terms import DEMAND, THROTTLED_BY
from keyheat.wording.constraints import NAMES, limit_of
from keyheat.words import Source, capital

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


NAME: Final = "knee.html"


def answer_of(found: KneeAnswer) -> PageAnswer:
    """The first screen of the page."""
    knee, above = found.knee, found.knee.limited
    role: str = "none"
    if above is not None:
        role = above.constraint if above.state == "limited" else "invalid"
    place = PLACES.get(found.target, found.target)
    return PageAnswer(
        kind="knee",
        title=found.scenario.name,
        chip=chip_of(found),
        role=role,
        sentence=sentence_of(found),
        question="How much does it carry, and what throttles first?",
        where=f"{place} · {some(len(knee.steps), 'step')} of {span(found.step_s)}",
        stats=_stats(found),
        warnings=tuple(notes_of(found)),
    )


def _stats(found: KneeAnswer) -> tuple[Stat, ...]:
    knee = found.knee
    carried, above = knee.carried, knee.limited
    made = []
    if carried is not None:
        made.append(Stat(name="Carried", value=found.demand(carried), beside=_units(carried)))
    if above is not None:
        beside = "only what was saved carries it" if above.on_burst else _throttled(above)
        made.append(Stat(name="Not carried", value=found.demand(above), beside=beside))
    if above is not None and above.state == "limited":
        sure = f"confidence {percent(above.confidence)}; " if above.confidence else ""
        again = "said twice" if knee.confirmed else "the second time it was not the same"
        said = capital(grade_words(above.grade, found.source))
        made.append(Stat(name="Evidence", value=said, beside=f"{sure}{again}"))
    use = found.use_of(above) if above is not None else next(iter(found.uses), None)
    if use is not None:
        made.append(Stat(name="By the numbers", value=percent(use.share), beside=_of(use)))
    return tuple(made)


def _units(step: KneeStep) -> str:
    sides = ((step.write_units_per_s, "write"), (step.read_units_per_s, "read"))
    return ", ".join(rate(units, UNITS[side]) for units, side in sides if units) or "no units"


def _throttled(step: KneeStep) -> str:
    if step.state == "generator":
        return "the generator was the limit"
    return f"{measured(step.throttled_per_s)} of {measured(step.attempts_per_s)} attempts/s throttled"


def _of(use: LimitUse) -> str:
    """A limit in words, with the demand on it."""
    demand = f"{whole_or_not(use.asked_per_s)} of {whole(use.limit_per_s)} {UNITS[use.direction]}/s"
    return f"of {limit_of(use.constraint, use.resource)}: {DEMAND} {demand}"


def sections_of(found: KneeAnswer) -> tuple[Section, ...]:
    """Charts against the demand, every step, and the use of every limit."""
    charts = (accepted_chart(found.knee, found.unit), throttled_chart(found.knee, found.unit))
    tables = (steps_table(found),)
    apart = exact_percent(found.knee.range.precision)
    rule = (
        f"A step is carried where at most {exact_percent(SHARE_MOST)} of its attempts are throttled. Demand "
        f"is doubled until a step is not, then halved between, to {apart}; "
        "both ends are tried twice."
    )
    made = [
        Section(id="demand", title="Against the demand", short="Demand", charts=charts, notes=(rule,)),
        Section(id="steps", title="Step by step", short="Steps", charts=(), notes=(), tables=tables),
    ]
    if found.uses:
        told = "Demand on each limit at the highest one that was carried, by the numbers."
        made.append(
            Section(
                id="limits", title="How near every limit is", short="Limits", charts=(), notes=(told,),
                tables=(uses_table(found.uses),),
            )
        )  # fmt: skip
    return tuple(made)


def steps_table(found: KneeAnswer) -> PageTable:
    """Every step, by its demand."""
    columns = (
        f"{found.unit}/s", "attempts/s", "throttled/s", "throttled", "WCU/s", "RCU/s", THROTTLED_BY, "seed",
    )  # fmt: skip
    rows = tuple(
        (
            whole_or_not(step.demand_per_s), measured(step.attempts_per_s), measured(step.throttled_per_s),
            percent(step.throttled_share) if step.throttled_share else "none",
            measured(step.write_units_per_s), measured(step.read_units_per_s), limited_by(step),
            str(step.seed),
        )
        for step in found.knee.in_order
    )  # fmt: skip
    return PageTable(caption="Steps", columns=columns, rows=rows, numeric=frozenset({0, 1, 2, 3, 4, 5}))


def uses_table(uses: Sequence[LimitUse]) -> PageTable:
    """The limits, the most used one first."""
    rows = tuple(
        (
            limit_of(use.constraint, use.resource),
            f"{use.direction}s", whole_or_not(use.asked_per_s), whole(use.limit_per_s), percent(use.share),
            NOTHING if use.key_per_s is None else measured(use.key_per_s),
        )
        for use in uses
    )  # fmt: skip
    columns = ("limit", "of", f"{DEMAND}, units/s", "has, units/s", "used", "by its hottest key, units/s")
    return PageTable(caption="Limits", columns=columns, rows=rows, numeric=frozenset({2, 3, 4, 5}))


READING: Final = (
    ("Carried", "A demand of which hardly an attempt is throttled, however long it lasts."),
    ("Not carried", "The lowest demand that was tried of which more is."),
    ("By the numbers", "What the load test asks of the limit, by its keys, sizes and operations alone."),
    ("WCU/s, RCU/s", "Units that were consumed, of the table and its indexes together."),
)


def write_knee(path: Path, found: KneeAnswer, generated_at: datetime) -> Path:
    """Write the page; gives its path. Raises `CannotWrite`."""
    return write_answer(path, answer_of(found), sections_of(found), READING, generated_at)
