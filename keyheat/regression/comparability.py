"""Whether baseline and candidate measured the same thing, else in what they differ, field by field.

What was sent, from where and to which target is the setup: where it differs, numbers say nothing about a
change. What the table is like (its mode, capacity, indexes) is no setup but a measured fact, and another
design is a change that somebody made: both are named as suspects, and the gates decide.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from keyheat.analysis.setup import Flat, grows_by_itself, sent_of
from keyheat.analysis.summary import RunSummary, Setup
from keyheat.regression.outcome import Difference, Gate
from keyheat.regression.suite_spec import statistical
from keyheat.scenario.scenario import Scenario
from keyheat.scenario.variants import ABSENT as NOT_STATED
from keyheat.scenario.variants import changes_of

Runs = Mapping[str, Sequence[RunSummary]]
Words = Callable[[Setup], str]
UNKNOWN, ABSENT, SIMULATED = "not known", "none", "simulated"
SAY_NOTHING = {UNKNOWN, ABSENT}  # of a fact that one mode of a table has, and nobody has stated
DIGITS = 12  # of a digest: enough to tell two apart
OWN = "keyheat"  # any other version of it is worth a note


def _machine(setup: Setup) -> str:
    if setup.machine is None:
        return UNKNOWN
    digest = setup.machine[:DIGITS]
    return f"{setup.machine_says} ({digest})" if setup.machine_says else digest


SCENARIO: tuple[str, Words] = ("scenario", lambda setup: (setup.scenario or UNKNOWN)[:DIGITS])
EVERY_GATE: Sequence[tuple[str, Words]] = (
    ("target", lambda setup: setup.target),
    ("scale", lambda setup: f"{setup.scale:g}"),
)
NOISY_GATES: Sequence[tuple[str, Words]] = (
    ("machine", _machine),
    ("region", lambda setup: setup.region or UNKNOWN),
    ("transport", lambda setup: setup.transport or UNKNOWN),
    ("processes", lambda setup: UNKNOWN if setup.processes is None else str(setup.processes)),
)


def differences(
    before: Runs,
    after: Runs,
    gates_by_case: Mapping[str, Sequence[Gate]] | None = None,
    designs: Collection[str] = (),
) -> tuple[Difference, ...]:
    """What forbids comparing the runs of a case, in the order of the cases; none: they can be compared.

    With the gates, only what forbids one of them; without, as if each case had statistical ones. `designs`
    are the cases that are compared whatever their scenario says. A case of one side only differs in nothing.
    """
    return tuple(
        Difference(case=case, what=what, before=first, after=last)
        for case, runs in after.items()
        if runs and before.get(case)
        for what, first, last in _of_case(
            before[case],
            runs,
            None if gates_by_case is None else gates_by_case.get(case, ()),
            design=case in designs,
        )
    )


def suspects(before: Runs, after: Runs, designs: Collection[str] = ()) -> tuple[Difference, ...]:
    """What changed of the table, and of the scenarios of `designs`: why numbers may be others now."""
    return tuple(
        Difference(case=case, what=what, before=first, after=last)
        for case, runs in after.items()
        if runs and before.get(case)
        for what, words in (
            *((SCENARIO,) if case in designs else ()),
            *((f"table.{name}", _table(name)) for name in _names(before[case], runs)),
        )
        for first, last in (_both(before[case], runs, words),)
        if first != last and {first, last} != SAY_NOTHING
    )


def notes(before: Runs, after: Runs) -> tuple[Difference, ...]:
    """What differs and forbids nothing, but may be why something changed: versions."""
    return tuple(
        Difference(case=case, what=f"versions.{name}", before=first, after=last)
        for case, runs in after.items()
        if runs and before.get(case)
        for name in sorted({name for run in (*before[case], *runs) for name in run.setup.versions})
        for first, last in (_both(before[case], runs, _version(name)),)
        if first != last
    )


def _of_case(
    before: Sequence[RunSummary],
    after: Sequence[RunSummary],
    gates: Sequence[Gate] | None,
    *,
    design: bool,
) -> list[tuple[str, str, str]]:
    """What differs, and both sides of it in words."""
    if gates is not None and not gates:
        return []
    looked = [*(() if design else (SCENARIO,)), *EVERY_GATE, ("table.name", _table("name"))]
    if (gates is None or any(map(statistical, gates))) and not _simulated((*before, *after)):
        looked += NOISY_GATES
    both = [(what, *_both(before, after, words)) for what, words in looked]
    return [(what, first, last) for what, first, last in both if first != last]


def _simulated(runs: Sequence[RunSummary]) -> bool:
    return all(run.setup.target == SIMULATED for run in runs)


def _names(before: Sequence[RunSummary], after: Sequence[RunSummary]) -> list[str]:
    """The facts of a table that are compared: of one that was there, warm throughput only where it fell.

    AWS raises it with the load and never lowers it: with less of it, the table was made anew. Of any table it
    is a fact of both sides: one that was switched to on demand had another measure before.
    """
    then, now = ([run.setup.table for run in side] for side in (before, after))
    was_there = any("name" in table for table in (*then, *now))
    names = {name for table in (*then, *now) for name in table}
    return sorted(
        name
        for name in names - {"name"}
        if not grows_by_itself(name)
        or _fell(name, then, now)
        or (not was_there and _of_both(name, then, now))
    )


def _of_both(name: str, before: Sequence[Flat], after: Sequence[Flat]) -> bool:
    return all(any(table.get(name) is not None for table in side) for side in (before, after))


def _fell(name: str, before: Sequence[Flat], after: Sequence[Flat]) -> bool:
    then, now = (
        [units for table in side if isinstance(units := table.get(name), int | float)]
        for side in (before, after)
    )
    return bool(then and now) and max(now) < min(then)


def _both(before: Sequence[RunSummary], after: Sequence[RunSummary], words: Words) -> tuple[str, str]:
    """A part of the setup in words, before and after; all of them where the runs of a side differ."""
    first, last = (" and ".join(sorted({words(run.setup) for run in side})) for side in (before, after))
    return first, last


def _table(name: str) -> Words:
    return lambda setup: _said(setup.table.get(name), name in setup.table)


def _said(value: str | float | bool | None, there: bool) -> str:
    match value:
        case None:
            return UNKNOWN if there else ABSENT
        case bool():
            return "yes" if value else "no"
        case str():
            return value
    return f"{value:,.12g}"


def _version(name: str) -> Words:
    def words(setup: Setup) -> str:
        version = setup.versions.get(name) or UNKNOWN
        return version if name == OWN else version.split(".")[0]

    return words


WHAT: Final = "scenario"
MOST: Final = 10


def in_fields(
    differences: Sequence[Difference], before: Mapping[str, Scenario], after: Mapping[str, Scenario]
) -> tuple[Difference, ...]:
    """The differences, those between scenarios told by their fields where both are known, by case.

    Scenarios of which another version made another digest differ in no field, and so in nothing.
    """
    return tuple(
        told
        for one in differences
        for told in (
            _fields(one, before[one.case], after[one.case])
            if one.what == WHAT and one.case in before and one.case in after
            else (one,)
        )
    )


def _fields(one: Difference, before: Scenario, after: Scenario) -> Iterator[Difference]:
    changes = changes_of(*(sent_of(scenario.model_dump(mode="json")) for scenario in (before, after)))
    for change in changes[:MOST]:
        first, last = (ABSENT if side == NOT_STATED else side for side in (change.before, change.after))
        yield replace(one, what=f"{WHAT} {change.path}", before=first, after=last)
    if len(changes) > MOST:
        yield replace(one, what=f"{WHAT}: {len(changes) - MOST} fields more", before="…", after="…")


SLIGHT: Final = 0.1
"""Of a load that is said as a number: so much more or less is the traffic of another night."""


def slight(one: Difference) -> bool:
    """Whether what differs is a load that is nearly the same."""
    if not one.what.startswith(f"{WHAT} load."):
        return False
    try:
        before, after = (float(side.replace(",", "")) for side in (one.before, one.after))
    except ValueError:
        return False
    return abs(after - before) <= SLIGHT * abs(before)
