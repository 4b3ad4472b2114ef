"""One random scenario from a seed and a number: a table, its load, what disturbs it, what is lost."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final, TypeVar

from keyheat.model import limits
from keyheat.model.behaviour import DEFAULT, Behaviour
from keyheat.runs import metrics
from keyheat.runs.formats import Evidence, SecondCount, Series, ThrottleCount, Window
from keyheat.scenario.scenario import Scenario, scenario_from_dict
from keyheat.words import Direction
from tools.accuracy.situations import BESIDE, SITUATIONS, a_situation
from tools.accuracy.streams import RequestStream, a_duration_s, between, some_keys
from tools.accuracy.worlds import NOMINAL, WIDE, Draft, Publication, Worlds, a_kind


def disturb(draft: Draft) -> None:
    """Nothing, one disturbance or several, each by its own chance."""
    rng, chance = draft.rng, draft.worlds
    if rng.random() < chance.another_client:  # our client's record does not hold it
        keys, _word = some_keys(rng, "theirs", min(1.0, 0.5 * draft.kind.ceiling / draft.peak))
        draft.send(draft.peak * between(rng, 0.05, 1.0), (keys,), ours=False)
    if not draft.on_demand:
        kind = rng.random()
        if kind < chance.changed:
            _capacity_changes(draft)
        elif kind < chance.changed + chance.scaled:
            _auto_scaling(draft)
        elif kind < chance.changed + chance.scaled + chance.switched:
            at_s = _some_time(draft)
            draft.timeline.append({"at_s": at_s, "billing_mode": "PAY_PER_REQUEST"})
            draft.said.append(f"on-demand after {at_s} s")


def _capacity_changes(draft: Draft) -> None:
    """UpdateTable in mid-window, up or down, of the table or of an index."""
    rng = draft.rng
    whose = rng.choice([draft.table, *draft.table.get("indexes", ())])
    now = whose["provisioned"][draft.side]
    factor = between(rng, 0.2, 0.8) if rng.random() < 0.5 else between(rng, 1.25, 4)
    step: dict[str, Any] = {
        "at_s": _some_time(draft),
        "provisioned": {draft.side: max(1, round(now * factor))},
    }
    if whose is not draft.table:
        step["index"] = whose["name"]
    if step["provisioned"][draft.side] != now:
        draft.timeline.append(step)
        draft.said.append(f"{now:,} becomes {step['provisioned'][draft.side]:,} after {step['at_s']} s")


def _auto_scaling(draft: Draft) -> None:
    """Target tracking, which comes minutes late."""
    now = draft.table["provisioned"][draft.side]
    most = max(now, round(now * between(draft.rng, 1.5, 10)))
    bounds = {"min": max(1, round(now * draft.rng.uniform(0.2, 1.0))), "max": most}
    draft.table["auto_scaling"] = {draft.side: bounds}
    draft.said.append(f"auto scaling from {bounds['min']:,} to {most:,}")


def _some_time(draft: Draft) -> int:
    return round(draft.duration_s * draft.rng.uniform(0.2, 0.8))


def other_direction(draft: Draft, other: Draft) -> None:
    """Let the same table also serve what another draft sends in the other direction, with its capacity."""
    for name in ("provisioned", "max_on_demand", "warm"):
        theirs = other.table.get(name, {}).get(other.side)
        if theirs is not None:
            own = draft.table.setdefault(name, {})
            own[other.side] = max(theirs, own.get(other.side) or 0)
    draft.streams += other.streams
    draft.said += other.said
    draft.duration_s = max(draft.duration_s, other.duration_s)


Row = TypeVar("Row", SecondCount, ThrottleCount)
MINUTE: Final = timedelta(minutes=1)
CHANCES: Final = {"beginning": 0.08, "minutes": 0.04, "end": 0.03, "series": 0.03}
SHORT_MINUTES: Final = 5
LOSABLE: Final = tuple(
    name(direction) for direction in Direction for name in (metrics.provisioned, metrics.on_demand_maximum)
)
"""Series whose loss leaves the question open, but not without an answer: the table's description is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """What is lost. Minutes are counted from the first one of the window."""

    first: int = 0  # minutes at the beginning, the load's own history: the window starts after them
    minutes: frozenset[int] = frozenset()  # of CloudWatch, within the window
    late: int = 0  # minutes of CloudWatch at the end that are not published yet
    series: str | None = None

    @property
    def words(self) -> tuple[str, ...]:
        found = []
        if self.first:
            found.append(f"the window begins {self.first} min into the load")
        if self.minutes:
            found.append(f"CloudWatch lacks {len(self.minutes)} min within")
        if self.late:
            found.append(f"CloudWatch lacks the last {self.late} min")
        if self.series:
            found.append(f"{self.series} never arrived")
        return tuple(found)

    def of(self, evidence: Evidence) -> Evidence:
        window = evidence.window
        start = window.start + self.first * MINUTE
        lost = self._lost(window)

        def left(series: Series) -> Series:
            setting = series.period_s == limits.SETTING_PERIOD_S  # asked for from before the window on
            points = () if series.metric == self.series else series.points
            kept = tuple(point for point in points if point[0] not in lost and (point[0] >= start or setting))
            return series.model_copy(update={"points": kept})

        return evidence.model_copy(
            update={
                "window": Window(start=start, end=window.end),
                "series": tuple(map(left, evidence.series)),
                "throttles": _since(evidence.throttles, start),
                "seconds": _since(evidence.seconds, start),
            }
        )

    def seen(self, window: Window) -> Callable[[int], bool]:
        """Whether a second of the whole window is in the evidence, in all of it."""
        start_s = (window.start + self.first * MINUTE).timestamp()
        lost = {int(at.timestamp()) for at in self._lost(window)}
        return lambda second: second >= start_s and second // limits.MINUTE_S * limits.MINUTE_S not in lost

    def _lost(self, window: Window) -> set[datetime]:
        published = window.end - self.late * MINUTE
        total = round((window.end - window.start) / MINUTE)
        every = [window.start + number * MINUTE for number in range(total)]
        return {at for number, at in enumerate(every) if number in self.minutes or at >= published}


def _since(rows: Sequence[Row] | None, start: datetime) -> tuple[Row, ...] | None:
    return None if rows is None else tuple(row for row in rows if row.second >= start)


def a_loss(rng: Random, minutes: int) -> Loss:
    """Mostly nothing; else one thing, and never all there is: short loads lose no minutes."""
    kind = rng.choices(("nothing", *CHANCES), weights=(1 - sum(CHANCES.values()), *CHANCES.values()))[0]
    if minutes >= SHORT_MINUTES:
        if kind == "beginning":
            return Loss(first=rng.randint(1, minutes // 2))
        if kind == "minutes":
            lost = rng.sample(range(1, minutes - 1), rng.randint(1, max(1, minutes // 6)))
            return Loss(minutes=frozenset(lost))
        if kind == "end":
            return Loss(late=rng.randint(1, 2))
    return Loss(series=rng.choice(LOSABLE)) if kind == "series" else Loss()


BOTH_DIRECTIONS = 0.25
CLIENT_BESIDE_CAUSES = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomScenario:
    number: int
    situation: str
    scenario: Scenario
    streams: tuple[RequestStream, ...]
    behaviour: Behaviour
    publication: Publication
    offset_s: int  # seconds into a minute at which it starts
    loss: Loss
    client: bool  # whether a client without reasons is there beside the cause metrics
    said: tuple[str, ...]


def draw(seed: int, number: int, worlds: Worlds = WIDE) -> RandomScenario:
    """The `number`-th scenario of a seed; the same for the same three, whatever else is drawn."""
    rng = Random(f"keyheat accuracy {seed} {number}")
    main = rng.choice((Direction.WRITE, Direction.WRITE, Direction.READ))
    draft = Draft(rng=rng, worlds=worlds, duration_s=a_duration_s(rng), kind=a_kind(rng, main))
    situation = a_situation(rng, worlds.name)
    situation(draft)
    disturb(draft)
    if rng.random() < BOTH_DIRECTIONS:
        other_direction(draft, _beside(draft))
    offset_s = rng.choice((0, rng.randrange(60)))
    minutes = -(-(offset_s + draft.duration_s) // limits.MINUTE_S)
    loss = a_loss(rng, minutes)
    client = rng.random() < CLIENT_BESIDE_CAUSES
    behaviour, publication = worlds.behaviour(rng), worlds.publication(rng)
    differs = (
        f"{name} {value:.3g}" for name, value in asdict(behaviour).items() if value != getattr(DEFAULT, name)
    )
    return RandomScenario(
        number=number,
        situation=situation.__name__.replace("_", " "),
        scenario=scenario_from_dict(_scenario(draft, number), f"scenario {number} of seed {seed}"),
        streams=tuple(draft.streams),
        behaviour=behaviour,
        publication=publication,
        offset_s=offset_s,
        loss=loss,
        client=client,
        said=(*draft.said, *differs, *publication.words, *loss.words),
    )


def _beside(draft: Draft) -> Draft:
    """What is asked of the table in the other direction."""
    rng = draft.rng
    direction = Direction.READ if draft.kind.direction is Direction.WRITE else Direction.WRITE
    other = Draft(
        rng=rng,
        worlds=draft.worlds,
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
        "loadtest": "hotkey",
        "seed": draft.rng.randrange(2**31),
        "table": {"name": f"random-{number}", **draft.table},
        "keys": {"kind": "uniform"},
        "load": {"duration_s": draft.duration_s, "requests_per_s": max(1.0, draft.peak / draft.kind.units)},
        "timeline": draft.timeline,
    }


SITUATION_ROWS: Final = tuple(
    (situation.__name__.replace("_", " "), wide, nominal, (situation.__doc__ or "").strip().rstrip("."))
    for situation, nominal, wide in SITUATIONS
)
"""Each situation: its name, how many of a hundred scenarios of wide worlds and of the nominal, what it is."""

CHANCE_ROWS: Final[tuple[tuple[str, float, float], ...]] = (
    ("the other direction is loaded, too", BOTH_DIRECTIONS, BOTH_DIRECTIONS),
    *(
        (what, getattr(WIDE, name), getattr(NOMINAL, name))
        for name, what in {
            "another_client": "another client uses the same table",
            "at_random": "requests arrive at random, not evenly (each stream)",
            "tried_again": "refused requests come again, after a wait (each stream)",
            "changed": "capacity is raised or lowered in mid-window (provisioned)",
            "scaled": "auto scaling is on (provisioned)",
            "switched": "the table is switched to on-demand in mid-window (provisioned)",
        }.items()
    ),
    *(
        (what, CHANCES[name], CHANCES[name])
        for name, what in {
            "beginning": "the window begins in the middle of the load",
            "minutes": "CloudWatch lacks minutes within the window",
            "end": "CloudWatch lacks the last minutes",
            "series": "a series of settings never arrived",
        }.items()
    ),
)
"""Each disturbance and its chance in each of the worlds."""
