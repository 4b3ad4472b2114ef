"""What is going on, in one sentence that comes before every chart."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from keyheat.load.web.recent import Refused
from keyheat.runs.capabilities import Known

RECENT_S = 5
ALL = 0.995
MOSTLY = 0.5

LIMITS: Mapping[str, str] = {
    "partition": "a partition's limit",
    "table": "the provisioned throughput",
    "max_on_demand": "the on-demand maximum",
    "account": "the account's quota for one table",
    "undetermined": "a limit that the answers do not name",
}


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and what it is about: a constraint, `good`, `invalid`, or `idle`."""

    text: str
    about: str


@dataclass(frozen=True, slots=True)
class HotKey:
    """The key that was throttled most just now."""

    name: str
    share: float  # of the throttles of its constraint


def whose(refused: Refused) -> str:
    """The table or the index that refused."""
    return "the table" if refused.index is None else f"index {refused.index}"


def throttling(recent: Counter[Refused], seconds: int, hot: HotKey | None) -> Sentence:
    """What is being throttled now, and by what."""
    total = recent.total()
    refused, number = recent.most_common(1)[0]
    per_s = total / seconds
    rate = f"{per_s:,.0f}" if per_s >= 1 else f"{per_s:.1f}"
    share = number / total
    part = "all" if share >= ALL else f"{share:.0%}"
    return Sentence(f"Throttling: {rate}/s, {part} {_by(refused, hot)}.", refused.constraint)


def _by(refused: Refused, hot: HotKey | None) -> str:
    where = "" if refused.index is None else f" of index {refused.index}"
    if refused.constraint == "partition":
        if hot is not None and hot.share >= ALL:
            return f"from the partition of key {hot.name}{where}"
        if hot is not None and hot.share >= MOSTLY:
            return f"for a partition's limit{where}, {hot.share:.0%} of them on key {hot.name}"
        return f"for a partition's limit{where}, on many keys"
    return f"for {LIMITS[refused.constraint]} of {whose(refused)}"


def quiet(total: int, ago_s: int | None, used: tuple[float, float, str] | None) -> Sentence:
    """Nothing is being throttled now. `used`: units/s consumed, units/s provisioned, and their name."""
    if used is not None and used[1]:
        consumed, limit, unit = used
        beside = f": {consumed:,.0f} of {limit:,.0f} {unit}/s are used"
    else:
        beside = ""
    if not total:
        return Sentence(f"No throttling{beside}.", "good")
    when = "earlier" if ago_s is None else f"the last {ago_s:,} s ago"
    return Sentence(f"Not throttling now{beside}. {total:,} throttles so far, {when}.", "good")


def unlimited(throttles: Known) -> Sentence:
    """Nothing was throttled so far, by an endpoint that never throttles, or that nobody saw throttle."""
    if throttles == "no":
        return Sentence("This endpoint has no capacity model: nothing is ever throttled there.", "invalid")
    said = "Nothing was throttled so far, but whether this endpoint ever throttles is not known."
    return Sentence(said, "invalid")


def ended(total: Counter[Refused], elapsed_s: float, hot: HotKey | None) -> Sentence:
    """The run is over: what it came to."""
    after = f"Ended after {elapsed_s:,.0f} s"
    if not total:
        return Sentence(f"{after}: nothing was throttled.", "good")
    refused, number = total.most_common(1)[0]
    share = number / total.total()
    part = "all" if share >= ALL else f"{share:.0%}"
    throttles = f"{total.total():,} throttle{'s' if total.total() != 1 else ''}"
    return Sentence(f"{after}: {throttles}, {part} {_by(refused, hot)}.", refused.constraint)
