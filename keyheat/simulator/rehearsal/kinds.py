"""The requests of a task that was done again and again, sorted into kinds: what, on which keys, how often."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import prod
from statistics import fmean
from typing import Final

from keyheat.scenario.spec.tables import IndexSpec, TableSpec
from keyheat.simulator.rehearsal.draws import KeyText, law_of, made
from keyheat.simulator.rehearsal.mix import FRESH, IndexKey, Prefix, RequestKind, Text, Within
from keyheat.simulator.rehearsal.tables import SentItem

MANY: Final = 400  # times that are enough for what is sent now and then, since draws are even
FEW: Final = 8  # shapes of a key that are told apart
PERIODS: Final = range(1, 5)  # in which a task may take turns
LEAST: Final = 4  # times in a row that make a phase of the run
MILLISECOND_DIGITS: Final = 13
READS: Final = ("get", "query")
RANGE: Final = re.compile(r"\{(\d+)\.\.(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A task that was done once."""

    at_s: float  # of the run
    now_s: float  # epoch seconds
    sent: tuple[SentItem, ...]
    keys: tuple[str, ...]  # that it drew from the scenario's pattern
    numbers: tuple[tuple[int, int, int], ...]
    fresh: bool
    reads: tuple[int, ...]  # after which requests a read, as an application knows it, was over
    known: frozenset[tuple[str, str | None]] = frozenset()  # items that it remembers from earlier tasks
    explained: dict[str, KeyText] = field(default_factory=dict)  # texts that were asked for

    def made(self, text: str) -> KeyText:
        """A text, explained."""
        if (found := self.explained.get(text)) is None:
            found = self.explained[text] = made(text, self.keys, self.numbers, fresh=self.fresh)
        return found


@dataclass(frozen=True, slots=True)
class Performance:
    """What one of several users has done of the same task, and what it has drawn in its life."""

    done: Sequence[Done]
    keys: Sequence[str]  # that it drew when it was made, and in all its tasks
    numbers: Sequence[tuple[int, int, int]]  # that it drew when it was made

    def made(self, text: str) -> KeyText:
        """A text that the user stays with, explained by what it has ever drawn."""
        return made(text, self.keys, self.numbers, fresh=False)

    def same(self, slot: "Slot", of: Callable[[SentItem], str | None]) -> set[str | None]:
        """What it sends in one place of the task."""
        like, place = slot
        return {
            of(one.sent[place])
            for one in self.done
            if place < len(one.sent) and _likeness(one.sent[place], known=False) == like
        }


Slot = tuple[Hashable, int]
"""Like what something is that a task sends, and after how many others."""


@dataclass(slots=True)
class _Group:
    """What is of one kind, with the round in which it was sent."""

    sent: list[tuple[int, SentItem]] = field(default_factory=list)

    @property
    def first(self) -> SentItem:
        return self.sent[0][1]


class Kinds:
    """Sorts what one task has sent: so often by one user, and a few times by each of some others.

    `owners`: how many users of the class there are.
    """

    def __init__(
        self,
        parts: Sequence[Performance],
        tables: Sequence[TableSpec],
        *,
        shards: int,
        sizes: set[int],
        owners: int,
        last: bool,
    ) -> None:
        self._parts, self._owners = parts, owners
        self._done, self._shards, self._sizes, self._last = parts[0].done, shards, sizes, last
        self._tables = {table.name: table for table in tables}
        self._own = tables[0].name
        self.sure = True  # whether so many rounds were enough

    def of(self, again: Callable[[float], Done | None]) -> tuple[RequestKind, ...]:
        """The kinds; `again` does the task at another time of the run."""
        kinds, operations = [], set[str]()
        for group in self._groups():
            kind = self._kind(group)
            if kind.operation.startswith(("Batch", "Transact")):
                kind = replace(kind, beside=kind.operation in operations)
                operations.add(kind.operation)
            kinds.append(self._in_its_time(kind, group, again))
        return tuple(kinds)

    def _groups(self) -> list[_Group]:
        by_shape: defaultdict[Hashable, defaultdict[str, _Group]] = defaultdict(lambda: defaultdict(_Group))
        for number, done in enumerate(self._done):
            for sent in done.sent:
                like, shape = self._names(sent, done)
                by_shape[like][shape].sent.append((number, sent))
        groups: list[_Group] = []
        for shapes in by_shape.values():
            if len(shapes) <= FEW:
                groups += shapes.values()
            else:
                alike = [one for group in shapes.values() for one in group.sent]
                groups.append(_Group(sorted(alike, key=lambda one: one[0])))
        return sorted(groups, key=lambda group: (group.sent[0][0], group.first.request))

    def _names(self, sent: SentItem, done: Done) -> tuple[Hashable, str]:
        """What tells kinds apart: what is asked for, and how its key is made."""
        known = (sent.key, sent.sort) in done.known
        return _likeness(sent, known), "known" if known else done.made(sent.key).shape

    def _kind(self, group: _Group) -> RequestKind:
        first, rounds = group.first, len(self._done)
        requests = len({(number, sent.request) for number, sent in group.sent})
        known = (first.key, first.sort) in self._done[group.sent[0][0]].known
        key = Text(known=True) if known else self._text(group, lambda sent: sent.key)
        of_each = key.owners is not None and self._differs(group, lambda sent: sent.sort)
        if_missing = self._follows_misses(group)
        counts = Counter(number for number, _sent in group.sent)
        if not if_missing:
            self.sure &= rounds >= MANY or _regular([counts[number] for number in range(rounds)])
        sizes = [sent.size_bytes for _number, sent in group.sent]
        as_stated = set(sizes) <= self._sizes
        in_sort = [(number, sent.sort) for number, sent in group.sent]
        return RequestKind(
            operation=first.operation,
            what=first.what,
            key=key,
            times=1.0 if if_missing else len(group.sent) / rounds,
            items=len(group.sent) / requests,
            together=first.operation.startswith("Transact"),
            table=None if first.table == self._own else first.table,
            index=first.index,
            within="random" if of_each or (known and first.sort is not None) else self._within(in_sort),
            alone=first.sort is None or len({sort for _number, sort in in_sort}) == 1,
            found=fmean(sent.found for _number, sent in group.sent),
            known=known,
            just_written=all(sent.found and not sent.written_before for _number, sent in group.sent),
            if_absent=first.if_absent,
            if_missing=if_missing,
            own_bytes=None if first.what in READS or as_stated else fmean(sizes),
            more_bytes=max(sent.more_bytes for _number, sent in group.sent),
            attributes=self._attributes(group),
            consistent=first.consistent,
            limit=1 if first.exact else first.limit,
            prefix=self._prefix(group, key),
            reads=self._reads(group) / rounds,
        )

    def _text(self, group: _Group, of: Callable[[SentItem], str]) -> Text:
        if self._differs(group, of):
            return self._of_each_user(group, of)
        return self._law([self._done[number].made(of(sent)) for number, sent in group.sent])

    def _differs(self, group: _Group, of: Callable[[SentItem], str | None]) -> bool:
        """Whether every user always sends the same, and one user something else than another."""
        if (slot := self._slot(group)) is None:
            return False
        of_users = [part.same(slot, of) for part in self._parts]
        return all(len(one) == 1 for one in of_users) and len(set.union(*of_users)) > 1

    def _slot(self, group: _Group) -> Slot | None:
        """The place in the task where all that is of a group is sent; None: there are several."""
        first = group.first
        places = {self._done[number].sent.index(sent) for number, sent in group.sent}
        return (_likeness(first, known=False), places.pop()) if len(places) == 1 else None

    def _of_each_user(self, group: _Group, of: Callable[[SentItem], str]) -> Text:
        """The law of what each user has one of."""
        slot = self._slot(group)
        assert slot is not None, "it differs there"
        texts = [part.made(text) for part in self._parts for text in part.same(slot, of) if text is not None]
        law = law_of(texts, shards=self._shards, patient=True)
        return replace(FRESH if law is None else law, owners=self._owners)

    def _law(self, texts: Sequence[KeyText]) -> Text:
        """The law of texts; where it takes more of them to say, the best that can be said now."""
        found = law_of(texts, shards=self._shards, patient=len(texts) >= MANY, last=self._last)
        if found is None:
            self.sure = False
            found = law_of(texts, shards=self._shards, patient=True, last=True)
        assert found is not None, "the last word"
        return found

    def _within(self, places: Sequence[tuple[int, str | None]]) -> Within:
        """Where new items go in their collection, by their sort keys in the order in which they were made."""
        texts = [text for _number, text in places if text is not None]
        if len(set(texts)) <= 1:
            return "point"
        shape = self._done[places[0][0]].made(texts[0]).shape
        if "{time}" in shape and not shape.startswith("{time}"):
            return "random"
        return "rising" if all(one <= other for one, other in pairwise(texts)) else "random"

    def _attributes(self, group: _Group) -> tuple[tuple[str, IndexKey], ...]:
        """The key attributes of indexes, as far as items are given them."""
        table = self._tables[group.first.table]
        own, found = {table.partition_key, table.sort_key}, dict[str, IndexKey]()
        for index in table.indexes:
            for name in (index.sort_key, index.partition_key):
                if name is not None and name not in own:
                    made = self._attribute(group, name, index)
                    found |= {} if made is None else {name: made}
        return tuple(sorted(found.items()))

    def _attribute(self, group: _Group, name: str, index: IndexSpec) -> IndexKey | None:
        """One of them: of a put, how many items have all that the index needs; None: an update leaves it."""
        puts = group.first.what == "put"
        needs = {index.partition_key, index.sort_key if index.enters_items else None} - {None}
        had = needs if puts and name in needs else {name}
        have = [(number, sent) for number, sent in group.sent if had <= sent.attributes.keys()]
        if not have:
            return IndexKey(text=FRESH, within="point", present=0.0) if had is needs else None
        sorts = [(number, sent.attributes.get(index.sort_key or "")) for number, sent in have]
        within: Within = self._within(sorts) if index.sort_key else "point"
        texts = [self._done[number].made(sent.attributes[name]) for number, sent in have]
        return IndexKey(
            text=self._law(texts) if name == index.partition_key else Text(),
            within="random" if within == "point" and index.sort_key else within,
            present=len(have) / len(group.sent),
            of_drawn_key=self._sorts_by_drawn_key(sorts),
        )

    def _sorts_by_drawn_key(self, sorts: Sequence[tuple[int, str | None]]) -> bool:
        return all(
            text is not None and self._done[number].made(text).shape.startswith("{key}")
            for number, text in sorts
        )

    def _prefix(self, group: _Group, key: Text) -> Prefix | None:
        first = group.first
        if first.prefix is None:
            return None
        texts = [(self._done[number], sent.prefix or "") for number, sent in group.sent]
        if all(_is_time(text, done.now_s) for done, text in texts):
            window_s = 10.0 ** (MILLISECOND_DIGITS - len(first.prefix)) / 1000
            done, text = texts[0]
            return Prefix(window_s=window_s, ago_s=float(int(done.now_s / window_s) - int(text)) * window_s)
        law = self._law([done.made(text) for done, text in texts]).made or ""
        drawn = "{key}" in law and "{key}" not in (key.made or "")
        return Prefix(part=1 / _count(law) / (_count(key.made or "") if drawn else 1), of_drawn_key=drawn)

    def _reads(self, group: _Group) -> float:
        """How many reads, as an application knows them, the group's requests begin."""
        if group.first.what not in READS:
            return 0
        mine = {(number, sent.request) for number, sent in group.sent}
        return sum(
            (number, request) in mine
            for number, done in enumerate(self._done)
            for request in _first_requests(done)
        )

    def _follows_misses(self, group: _Group) -> bool:
        """Whether these are the puts of what a read of the same key has not found, and all of them."""
        if group.first.what != "put" or group.first.if_absent:
            return False
        sent = {(number, one.key) for number, one in group.sent}
        missed = {
            (number, one.key)
            for number, done in enumerate(self._done)
            for one in done.sent
            if one.what in READS and not one.found and one.request < min(_puts_of(done, one.key), default=0)
        }
        unanswered = {
            number
            for number, done in enumerate(self._done)
            for one in done.sent
            if one.what in READS and not one.found and (number, one.key) not in sent
        }
        return sent == missed and not unanswered

    def _in_its_time(
        self, kind: RequestKind, group: _Group, again: Callable[[float], Done | None]
    ) -> RequestKind:
        """The kind with the phase of the run that it is sent in, if that is not all of it."""
        rounds = sorted({number for number, _sent in group.sent})
        first, last, count = rounds[0], rounds[-1], len(self._done)
        whole = len(rounds) == count
        if whole or kind.if_missing or len(rounds) < LEAST or last - first + 1 != len(rounds):
            return kind
        if first and last + 1 < count:
            return kind
        times = kind.times * count / len(rounds)
        like, shape = self._names(group.first, self._done[first])

        def occurs(at_s: float) -> bool:
            done = again(at_s)
            return done is not None and any(self._names(sent, done) == (like, shape) for sent in done.sent)

        if first:
            before_s, at_s = self._done[first - 1].at_s, self._done[first].at_s
            return replace(kind, times=times, from_s=_turn(before_s, at_s, occurs, begins=True))
        at_s, after_s = self._done[last].at_s, self._done[last + 1].at_s
        return replace(kind, times=times, until_s=_turn(at_s, after_s, occurs, begins=False))


def _turn(low_s: float, high_s: float, occurs: Callable[[float], bool], *, begins: bool) -> float:
    """When something begins, or ends, between two times."""
    while high_s - low_s > 1e-6:
        middle_s = (low_s + high_s) / 2
        low_s, high_s = (low_s, middle_s) if occurs(middle_s) is begins else (middle_s, high_s)
    return round(high_s, 5)


def _likeness(sent: SentItem, known: bool) -> Hashable:
    return (
        sent.operation, sent.what, sent.table, sent.index, sent.consistent, sent.limit, sent.prefix is None,
        sent.exact, sent.if_absent, known,
    )  # fmt: skip


def _regular(counts: Sequence[int]) -> bool:
    """Whether something is sent equally often each time, or in turns, or in one part of the run."""
    if any(all(one == other for one, other in zip(counts, counts[n:], strict=False)) for n in PERIODS):
        return True
    turns = sum(one != other for one, other in pairwise(counts))
    return turns == 1 and min(counts) == 0


def _puts_of(done: Done, key: str) -> list[int]:
    return [sent.request for sent in done.sent if sent.what == "put" and sent.key == key]


def _first_requests(done: Done) -> Iterator[int]:
    """The first request of each read of an application."""
    for after, last in pairwise([0, *done.reads]):
        asked = (one.request for one in done.sent if one.what in READS and after < one.request <= last)
        yield next(asked, last)


def _is_time(text: str, now_s: float) -> bool:
    """Whether a text is the beginning of a time in milliseconds that is not long ago."""
    if not (text.isascii() and text.isdigit() and 8 <= len(text) <= MILLISECOND_DIGITS):
        return False
    window_s = 10.0 ** (MILLISECOND_DIGITS - len(text)) / 1000
    return 0 <= int(now_s / window_s) - int(text) <= max(1.0, 600 / window_s)


def _count(law: str) -> int:
    """How many texts a law makes of each drawn key."""
    return prod(int(most) - int(least) + 1 for least, most in RANGE.findall(law))
