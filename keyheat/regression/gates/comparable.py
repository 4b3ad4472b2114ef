"""Whether baseline and candidate measured the same thing, else in what they differ.

What forbids a comparison, and for which measures:

- every gate: the `scenario` (what is sent), the `target`, the `scale`, and all that is known of the `table`.
  Another table or another demand is another question. Of a table that was there before, its warm throughput
  is left out: AWS moves it from one night to the next.
- statistical gates of runs that were not simulated: the `machine`, the `region`, the `transport` and the
  number of `processes` that send. Units, amplification and labels are the table's own; but how soon requests
  come, and how fast they are answered, is decided by what sends them and from where. A simulated run has a
  clock of its own and does not care.

What is not known on one side only is a difference: nobody can say that it is the same.

What only deserves a note (`notes`): other major versions of Python and of the libraries that send, and any
other version of Keyheat itself. They may be why something changed, which a comparison is there to find.
"""

from collections.abc import Callable, Mapping, Sequence

from keyheat.analysis.measures.setup import grows_by_itself
from keyheat.analysis.summary import RunSummary, Setup
from keyheat.regression.finding import Difference, Gate
from keyheat.regression.suites.gates import statistical

Runs = Mapping[str, Sequence[RunSummary]]
Words = Callable[[Setup], str]
UNKNOWN, ABSENT, SIMULATED = "not known", "none", "simulated"
DIGITS = 12  # of a digest: enough to tell two apart
OWN = "keyheat"  # any other version of it is worth a note


def _machine(setup: Setup) -> str:
    if setup.machine is None:
        return UNKNOWN
    digest = setup.machine[:DIGITS]
    return f"{setup.machine_says} ({digest})" if setup.machine_says else digest


EVERY_GATE: Sequence[tuple[str, Words]] = (
    ("scenario", lambda setup: (setup.scenario or UNKNOWN)[:DIGITS]),
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
    before: Runs, after: Runs, gates_by_case: Mapping[str, Sequence[Gate]] | None = None
) -> tuple[Difference, ...]:
    """What forbids comparing the runs of a case, in the order of the cases; none: they can be compared.

    With the gates, only what forbids one of them; without, as if each case had statistical ones. A case of
    one side only has nothing to differ from.
    """
    return tuple(
        Difference(case=case, what=what, before=first, after=last)
        for case, runs in after.items()
        if runs and before.get(case)
        for what, first, last in _of_case(
            before[case], runs, None if gates_by_case is None else gates_by_case.get(case, ())
        )
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
    before: Sequence[RunSummary], after: Sequence[RunSummary], gates: Sequence[Gate] | None
) -> list[tuple[str, str, str]]:
    """What differs, and both sides of it in words."""
    if gates is not None and not gates:
        return []
    looked = [*EVERY_GATE, *((f"table.{name}", _table(name)) for name in _names(before, after))]
    if (gates is None or any(map(statistical, gates))) and not _simulated((*before, *after)):
        looked += NOISY_GATES
    both = [(what, *_both(before, after, words)) for what, words in looked]
    return [(what, first, last) for what, first, last in both if first != last]


def _simulated(runs: Sequence[RunSummary]) -> bool:
    return all(run.setup.target == SIMULATED for run in runs)


def _names(*sides: Sequence[RunSummary]) -> list[str]:
    tables = [run.setup.table for runs in sides for run in runs]
    was_there = any("name" in table for table in tables)
    names = {name for table in tables for name in table}
    return sorted(name for name in names if not (was_there and grows_by_itself(name)))


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
