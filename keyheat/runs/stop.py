"""Why a run ended before its time: a cap of its budget was reached, or a stop rule saw harm being done."""

from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

Rule = Literal["max_dollars", "max_units", "max_minutes", "throttle_share", "error_share", "p99_ms"]
SHARES: Final = {"throttle_share": "were throttled", "error_share": "failed"}
AMOUNTS: Final = {"max_dollars": ("dollars", 4), "max_units": ("units", 0), "max_minutes": ("minutes", 1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One reason to end a run: the rule, what it allows, and what was seen when it ended the run."""

    rule: Rule
    limit: float
    seen: float
    at_s: float  # seconds of load

    @property
    def words(self) -> str:
        """The reason as it is said before anything else of the run."""
        after = f"after {self.at_s:,.0f} s"
        if self.rule in SHARES:
            what = (
                f"{_percent(self.seen)} of its attempts {SHARES[self.rule]}, and {_percent(self.limit)} may"
            )
            return f"stopped by its rule {self.rule} {after}: {what}"
        if self.rule == "p99_ms":
            return (
                f"stopped by its rule p99_ms {after}: 1 % of accepted requests took {self.seen:,.0f} ms "
                f"or more, and {self.limit:,.0f} ms are allowed"
            )
        return f"stopped by its budget {after}: {self.amount}"

    @property
    def amount(self) -> str:
        """Of a cap of the budget: how much there was of how much."""
        unit, digits = AMOUNTS[self.rule]
        return f"{_rounded(self.seen, digits)} of {_rounded(self.limit, digits)} {unit}"

    def to_json(self) -> dict[str, Any]:
        """As `run.json` says it."""
        return asdict(self)


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def _rounded(amount: float, digits: int) -> str:
    """An amount without zeros that say nothing, but for the cents of dollars."""
    text = f"{amount:,.{digits}f}"
    if digits == 0:
        return text
    whole, fraction = text.split(".")
    kept = fraction.rstrip("0").ljust(2 if digits > 1 else 0, "0")
    return f"{whole}.{kept}" if kept else whole
