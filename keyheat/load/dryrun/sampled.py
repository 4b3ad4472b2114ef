"""The requests of a task that was done many times, sorted into kinds: what, under which keys, how often.

Each key is compared with what its task drew from the scenario's pattern. An equal key follows the pattern;
one that contains a draw is the pattern within a few texts, such as `{key}#3`; of any other key the sample
itself says how often each was used.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt
from statistics import fmean
from typing import Final

from keyheat.load.dryrun.standin import MARK, SentItem
from keyheat.scenario.keys import shard_keys
from keyheat.scenario.spec.tables import IndexSpec, TableSpec
from keyheat.simulator.loadtest import (
    FRESH,
    KEY,
    WRITTEN,
    IndexKey,
    KeyLaw,
    Prefix,
    RequestKind,
    Within,
    even_law,
    family_of,
)

READS: Final = ("get", "query")
SEEN_OFTEN: Final = 5  # times that a text is seen before its share is believed
FEW_TEXTS: Final = 500  # around a drawn key; of more, each is used too seldom to matter
SURE: Final = 5.0  # standard deviations
NAMED: Final = 32  # of keys that are used seldom, so that a report shows some of them
PHASES: Final = 200  # texts that follow one another in the run, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """One execution of a task."""

    at_s: float  # of the run
    sent: tuple[SentItem, ...]
    draws: frozenset[str]  # keys that it drew from the scenario's pattern
    reads: tuple[int, ...]  # the last request of each read, as an application counts them
    remembered: frozenset[tuple[str, str | None]]  # items that its user remembers from earlier tasks


Row = tuple[int, SentItem]
"""The number of the execution, and an item that it sent."""


@dataclass(slots=True)
class Sample:
    """All executions of one task."""

    done: Sequence[Done]
    tables: Sequence[TableSpec]  # the judged one first
    shards: int  # of each key, as the scenario says
    sizes: Collection[int]  # of items of the scenario
    users: int  # that were sampled ...
    of_users: int  # ... of those that there are
    sure: bool = True  # whether it is large enough, as far as its kinds can tell

    def kinds(self) -> tuple[RequestKind, ...]:
        """The kinds, in the order in which the task sends them."""
        kinds, operations = [], set[str]()
        for rows in self._groups():
            kind = self._kind(rows)
            if kind.operation.startswith(("Batch", "Transact")):
                kind = replace(kind, beside=kind.operation in operations)
                operations.add(kind.operation)
            kinds.append(self._in_its_time(kind, rows))
        return tuple(kinds)

    def _groups(self) -> list[list[Row]]:
        groups: defaultdict[tuple[Hashable, ...], list[Row]] = defaultdict(list)
        for number, done in enumerate(self.done):
            for sent in done.sent:
                alike = (
                    sent.operation, sent.what, sent.table, sent.index, sent.consistent, sent.limit,
                    sent.prefix is None, sent.exact, sent.if_absent, self._source(number, sent),
                )  # fmt: skip
                groups[alike].append((number, sent))
        phases: list[list[Row]] = []
        for like, rows in groups.items():
            phases += _phases(rows) if like[-1] == "text" else [rows]
        return sorted(phases, key=lambda rows: (rows[0][0], rows[0][1].request))

    def _source(self, number: int, sent: SentItem) -> str:
        """Where a key comes from."""
        done = self.done[number]
        if (sent.key, sent.sort) in done.remembered:
            return "known"
        return (
            "pattern" if template(sent.key, done.draws) else sent.key if MARK.fullmatch(sent.key) else "text"
        )

    def _kind(self, rows: list[Row]) -> RequestKind:
        first, rounds = rows[0][1], len(self.done)
        earlier = (first.key, first.sort) in self.done[rows[0][0]].remembered
        key = WRITTEN if earlier else self._law([(number, sent.key) for number, sent in rows])
        if_missing = self._follows_misses(rows)
        counts = Counter(number for number, _sent in rows)
        self.sure &= if_missing or _regular([counts[number] for number in range(rounds)])
        sizes = [sent.size_bytes for _number, sent in rows]
        stated = first.what in READS or set(sizes) <= set(self.sizes)
        return RequestKind(
            operation=first.operation,
            what=first.what,
            key=key,
            times=1.0 if if_missing else len(rows) / rounds,
            items=len(rows) / len({(number, sent.request) for number, sent in rows}),
            together=first.operation.startswith("Transact"),
            table=None if first.table == self.tables[0].name else first.table,
            index=first.index,
            within="random" if earlier and first.sort is not None else _within(sent.sort for _, sent in rows),
            alone=first.sort is None or len({sent.sort for _number, sent in rows}) == 1,
            exists_share=fmean(sent.exists for _number, sent in rows),
            just_written=all(sent.exists and not sent.written_before for _number, sent in rows),
            if_absent=first.if_absent,
            if_missing=if_missing,
            own_bytes=None if stated else fmean(sizes),
            more_bytes=max(sent.more_bytes for _number, sent in rows),
            attributes=self._attributes(rows),
            removed=self._attributes(
                [(number, replace(sent, what="update", attributes=sent.removed)) for number, sent in rows]
            ),
            consistent=first.consistent,
            limit=1 if first.exact else first.limit,
            prefix=self._prefix(rows, key),
            reads=self._reads(rows) / rounds,
        )

    def _law(self, texts: Sequence[tuple[int, str]]) -> KeyLaw:
        """The law of texts, each of one execution."""
        if mark := MARK.fullmatch(texts[0][1]):
            return KeyLaw(attribute=mark[1])
        around = [(template(text, self.done[number].draws), text) for number, text in texts]
        if all(form for form, _text in around) and not _follow_from_keys(around):
            law = self._counted([form or "" for form, _text in around])
            is_whole = sum(share for _text, share in law.texts) > 1 - 1e-9  # it names all its texts
            return law if len(law.texts) <= FEW_TEXTS and is_whole else FRESH
        return self._counted([text for _form, text in around])

    def _counted(self, texts: Sequence[str]) -> KeyLaw:
        counts = Counter(texts)
        if len(counts) == 1:
            return even_law(list(counts))
        family = shard_keys(texts[0].rpartition("#")[0], self.shards)
        if counts.keys() <= set(family) and _even(counts, len(family)):
            return even_law(family)
        self.sure = False
        if len(counts) == self.users < self.of_users:
            return KeyLaw(distinct=self.of_users)
        return _as_seen(counts)

    def _attributes(self, rows: Sequence[Row]) -> tuple[tuple[str, IndexKey], ...]:
        """The key attributes of indexes, as far as the load test sets them."""
        table = next(spec for spec in self.tables if spec.name == rows[0][1].table)
        keys = {
            name: key
            for index in table.indexes
            for name in (index.sort_key, index.partition_key)
            if name not in (None, table.partition_key, table.sort_key)
            and (key := self._attribute(rows, name, index)) is not None
        }
        return tuple(sorted((name, key) for name, key in keys.items() if name is not None))

    def _attribute(self, rows: Sequence[Row], name: str, index: IndexSpec) -> IndexKey | None:
        """One of them: of a put, how many items have all that the index needs; None: an update leaves it."""
        needs = {index.partition_key, index.sort_key if index.enters_items else None} - {None}
        of_put = rows[0][1].what == "put" and name in needs
        needs = needs if of_put else {name}
        have = [(number, sent) for number, sent in rows if needs <= sent.attributes.keys()]
        if not have:
            return IndexKey(key=FRESH, within="point", present=0.0) if of_put else None
        sorts = [(number, sent.attributes.get(index.sort_key or "")) for number, sent in have]
        within: Within = _within(text for _number, text in sorts) if index.sort_key else "point"
        texts = [(number, sent.attributes[name]) for number, sent in have]
        return IndexKey(
            key=self._law(texts) if name == index.partition_key else FRESH,
            within="random" if within == "point" and index.sort_key else within,
            present=len(have) / len(rows),
            of_drawn_key=all(
                text and text.startswith(tuple(self.done[number].draws)) for number, text in sorts
            ),
        )

    def _prefix(self, rows: Sequence[Row], key: KeyLaw) -> Prefix | None:
        if rows[0][1].prefix is None:
            return None
        texts = [(number, sent.prefix or "") for number, sent in rows]
        drawn = all(template(text, self.done[number].draws) for number, text in texts)
        if drawn and not any(KEY in text for text, _share in key.texts):
            return Prefix(share=1 / max(1, len(key.texts)), of_drawn_key=True)
        law = self._law(sorted(set(texts)))  # each read asks all of its shards for the same one
        return Prefix(share=1 / max(1.0, law.distinct or len(law.texts) or len(texts)))

    def _reads(self, rows: Sequence[Row]) -> int:
        """How many reads, as an application counts them, these requests begin."""
        mine = {(number, sent.request) for number, sent in rows if sent.what in READS}
        begun = 0
        for number, done in enumerate(self.done):
            requests = [sent.request for sent in done.sent if sent.what in READS]
            for after, last in pairwise([0, *done.reads]):
                first = next((request for request in requests if after < request <= last), last)
                begun += (number, first) in mine
        return begun

    def _follows_misses(self, rows: Sequence[Row]) -> bool:
        """Whether these are the puts of what a read of the same key did not find, and all of them."""
        if rows[0][1].what != "put" or rows[0][1].if_absent:
            return False
        put = {(number, sent.key) for number, sent in rows}
        missed = {
            (number, sent.key)
            for number, done in enumerate(self.done)
            for sent in done.sent
            if sent.what in READS and not sent.exists
        }
        first = rows[0][1]
        return put == missed and any(
            sent.what in READS and sent.request < first.request for sent in self.done[rows[0][0]].sent
        )

    def _in_its_time(self, kind: RequestKind, rows: Sequence[Row]) -> RequestKind:
        """The kind with the phase of the run that it is sent in, if that is not all of it."""
        rounds, count = sorted({number for number, _sent in rows}), len(self.done)
        first, last = rounds[0], rounds[-1]
        if kind.if_missing or len(rounds) == count or last - first + 1 != len(rounds) or len(rounds) < 2:
            return kind
        self.sure = False
        each_s = 2 * self.done[0].at_s  # executions are in the middle of even parts of the run
        return replace(
            kind,
            times=kind.times * count / len(rounds),
            from_s=first * each_s,
            until_s=None if last + 1 == count else (last + 1) * each_s,
        )


def template(text: str, draws: Collection[str]) -> str | None:
    """The text with `{key}` for the longest drawn key that stands apart in it; None without one."""
    for key in sorted(draws, key=len, reverse=True):
        before, match, after = text.partition(key) if key else (text, "", "")
        if match and not before[-1:].isalnum() and not after[:1].isalnum():
            return f"{before}{KEY}{after}"
    return None


def _follow_from_keys(around: Sequence[tuple[str | None, str]]) -> bool:
    """Whether the text around a key follows from the key: then the most used one stays in one place."""
    if len({form for form, _text in around}) == 1:
        return False
    text, count = Counter(text for _form, text in around).most_common(1)[0]
    form = next(form for form, other in around if other == text) or ""

    def key_of(form: str, text: str) -> str:
        before, _, after = form.partition(KEY)
        return text[len(before) : len(text) - len(after)]

    key = key_of(form, text)
    same = sum(key == key_of(form or "", text) for form, text in around)
    return count == same >= 2 * SEEN_OFTEN


def _as_seen(counts: Counter[str]) -> KeyLaw:
    """Texts by how often they were seen; of those seen seldom their number, by pairs that are equal."""
    alike = _even(counts, len(counts))
    if alike and min(counts.values()) >= SEEN_OFTEN:
        return even_law(list(counts))
    often = {text: count for text, count in counts.items() if count >= SEEN_OFTEN and not alike}
    if often and sum(often.values()) > counts.total() - SEEN_OFTEN:
        often = dict(counts)
    others = [count for text, count in counts.items() if text not in often]
    pairs, rest = sum(count * (count - 1) for count in others), sum(others)
    distinct, shares = None, {text: count / counts.total() for text, count in often.items()}
    if pairs:
        distinct = rest * (rest - 1) / pairs
        seldom = [text for text, _count in counts.most_common() if text not in often]
        shares |= dict.fromkeys(seldom[: min(NAMED, int(distinct / 2))], rest / counts.total() / distinct)
    return KeyLaw(
        texts=tuple(sorted(shares.items())),
        distinct=distinct,
        family=family_of(next(iter(counts))) if pairs or often else "",
    )


def _even(counts: Counter[str], count: int) -> bool:
    """Return whether the counts agree with `count` equally likely texts."""
    mean = counts.total() / count
    seen = [*counts.values(), *([0] if len(counts) < count else [])]
    return all(abs(number - mean) <= SURE * sqrt(mean) + 1 for number in seen)


def _regular(counts: Sequence[int]) -> bool:
    """Whether something is sent equally often each time, or in one part of the run."""
    return len(set(counts)) == 1 or (
        min(counts) == 0 and sum(count != following for count, following in pairwise(counts)) <= 2
    )


def _phases(rows: list[Row]) -> Iterator[list[Row]]:
    """Texts that are used one after the other, each for some time of the run; else all rows together."""
    spans: dict[str, list[int]] = {}
    for number, sent in rows:
        spans.setdefault(sent.key, []).append(number)
    apart = all(span[-1] < following[0] for span, following in pairwise(spans.values()))
    if not 1 < len(spans) <= PHASES or not apart or min(len(set(span)) for span in spans.values()) < 2:
        yield rows
        return
    for key in spans:
        yield [(number, sent) for number, sent in rows if sent.key == key]


def _within(sorts: Iterator[str | None]) -> Within:
    """Where new items go in their collection, by their sort keys in the order in which they were made."""
    texts = [text for text in sorts if text is not None]
    if len(set(texts)) <= 1:
        return "point"
    return "rising" if all(text <= following for text, following in pairwise(texts)) else "random"
