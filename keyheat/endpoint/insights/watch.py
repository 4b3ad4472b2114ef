"""Contributor Insights of a table and of its indexes: each on or off by itself, in one of two modes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from keyheat.endpoint.insights.rules import DEFAULT_MODE, Kind, Mode, Rule, kinds, rule_name
from keyheat.endpoint.schema import KeySchema
from keyheat.model.limits import INSIGHT_WRITE_WEIGHT
from keyheat.model.resources import Refusal
from keyheat.words import Direction

IndexUse = tuple[str, bytes, float]
"""Name of a global index, stored key of the entry, write units."""


@dataclass(slots=True)
class Watch:
    """One table or index: whether its keys are counted, since when, and by which rules.

    `settled_s`: when the change under way is done; while it is, nothing is counted.
    """

    keys: KeySchema
    updated_s: float
    on: bool = False
    mode: Mode = DEFAULT_MODE
    settled_s: float = 0.0
    rules: dict[Kind, Rule] = field(default_factory=dict)

    def status(self, now_s: float) -> str:
        """ContributorInsightsStatus."""
        if now_s < self.settled_s:
            return "ENABLING" if self.on else "DISABLING"
        return "ENABLED" if self.on else "DISABLED"

    def enable(self, resource: str, mode: Mode, now_s: float, takes_s: float) -> None:
        """Turn on, or switch the mode: rules of both modes go on as they were."""
        if self.on and mode == self.mode:
            return
        wanted = list(kinds(mode, self.keys))
        self.rules = {
            kind: self.rules.get(kind) or Rule(rule_name(kind, resource, now_s), kind, self.keys)
            for kind in wanted
        }
        self._change(on=True, mode=mode, now_s=now_s, takes_s=takes_s)

    def disable(self, now_s: float, takes_s: float) -> None:
        """Turn off: the rules go, and what they counted."""
        if self.on:
            self.rules = {}
            self._change(on=False, mode=self.mode, now_s=now_s, takes_s=takes_s)

    def _change(self, *, on: bool, mode: Mode, now_s: float, takes_s: float) -> None:
        self.on, self.mode, self.updated_s, self.settled_s = on, mode, now_s, now_s + takes_s

    def accessed(self, stored: bytes, value: float, now_s: float) -> None:
        """A request for a key was served."""
        self._count(("PKC", "SKC"), stored, value, now_s)

    def throttled(self, stored: bytes, now_s: float) -> None:
        """A request for a key was refused for want of capacity."""
        self._count(("PKT", "SKT"), stored, 1.0, now_s)

    def _count(self, kinds: Iterable[Kind], stored: bytes, value: float, now_s: float) -> None:
        if now_s < self.settled_s:
            return
        for kind in kinds:
            rule = self.rules.get(kind)
            if rule is not None:
                rule.count(stored, value, now_s)


@dataclass(slots=True)
class Insights:
    """The watches of one table: None is the table itself, names are its global indexes."""

    watches: dict[str | None, Watch] = field(default_factory=dict)

    @property
    def on(self) -> bool:
        """Whether anything is counted."""
        return any(watch.on for watch in self.watches.values())

    def wrote(self, stored: bytes, units: float, uses: Iterable[IndexUse], now_s: float) -> None:
        """A write was served, with what it wrote to the global indexes."""
        if (table := self.watches.get(None)) is not None:
            table.accessed(stored, INSIGHT_WRITE_WEIGHT * units, now_s)
        for index, entry, index_units in uses:
            if (watch := self.watches.get(index)) is not None:
                watch.accessed(entry, INSIGHT_WRITE_WEIGHT * index_units, now_s)

    def read(self, stored: bytes, units: float, now_s: float, index: str | None = None) -> None:
        """A read was served, of the table or of a global index."""
        if (watch := self.watches.get(index)) is not None:
            watch.accessed(stored, units, now_s)

    def read_or_refused(self, stored: bytes, units: float, refusal: Refusal | None, now_s: float) -> None:
        """One item of the table was read, or could not be."""
        if refusal is None:
            self.read(stored, units, now_s)
        else:
            self.refused(stored, refusal, now_s)

    def refused(self, stored: bytes, refusal: Refusal, now_s: float) -> None:
        """A request was throttled. Writes refused for an index's capacity are counted nowhere, as in AWS."""
        if refusal.index is not None and refusal.direction is Direction.WRITE:
            return
        if (watch := self.watches.get(refusal.index)) is not None:
            watch.throttled(stored, now_s)
