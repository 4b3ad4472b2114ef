"""False alarms of a suite and losses that it finds: 200 comparisons with itself, 100 with a loss.

python -m benchmarks.regression                    on the simulator, each run made for its comparison
python -m benchmarks.regression collect DIR [N]    N runs on the local endpoint into DIR, one after the other
python -m benchmarks.regression pool [DIR|FILE]    comparisons drawn from such runs, else from recorded ones
python -m benchmarks.regression keep DIR FILE      the numbers of such runs in one file

Without noise there would be nothing to measure: on the simulator each run has a seed of its own, arrivals and
sizes of items are drawn; on the endpoint the machine does it, and the busier it is the better is the test.
The loss is real: a table with a tenth less capacity, and a hot key that is so much hotter that a tenth less
of the same demand is accepted. docs/regress.md says what came out.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

from benchmarks import _pool, _simulated
from benchmarks._compared import REPETITIONS, Counted, Sides, Two, apart, counted, interleaved, lost
from benchmarks._table import Row, show

AA, LOSSES = 200, 100
MOST_ALARMS, LEAST_FOUND = 2, 95
SEED: Final = 7
RUNS: Final = 180
RECORDED: Final = Path("benchmarks/recorded/regression.jsonl")
CASES: Final = ("limited", "hotkey")  # of the pool


def simulated(alarms: int = AA, losses: int = LOSSES) -> list[Row]:
    """Every run made for its comparison; each side has seeds of its own."""
    first, last = _simulated.SAME, _simulated.LESS
    same = (simulated_sides(first, first, number) for number in range(alarms))
    less = (simulated_sides(first, last, alarms + number) for number in range(losses))
    return _rows("simulated", counted(same), counted(less))


def drawn(path: Path, alarms: int = AA, losses: int = LOSSES) -> list[Row]:
    """Comparisons drawn from runs on the local endpoint, in turns and with an earlier baseline."""
    runs, invalid = _pool.pool(path)
    for (kind, case), of_kind in runs.items():
        print(f"{case}, {kind}: {len(of_kind)} valid runs")
    print(f"{invalid} left out as not valid")
    cases = [
        case
        for case in CASES
        if len(runs["same", case]) >= 2 * REPETITIONS and len(runs["less", case]) >= REPETITIONS
    ]
    less = list(_drawn(losses, cases, lambda rng, case: lost(runs["same", case], runs["less", case], rng)))
    turns = list(_drawn(alarms, cases, lambda rng, case: interleaved(runs["same", case], rng)))
    earlier = list(_drawn(alarms, cases, lambda rng, case: apart(runs["same", case], rng)))
    return [
        *_rows("in turns", counted(turns, paired=True), counted(less, paired=True)),
        *_rows("earlier baseline", counted(earlier), counted(less)),
    ]


def simulated_sides(first: _simulated.Raws, last: _simulated.Raws, number: int) -> Sides:
    """A comparison whose runs nobody else has: its seeds are its own."""
    seeds = range(2 * REPETITIONS * number, 2 * REPETITIONS * (number + 1))
    before, after = (
        {case: [_simulated.summary(raw, seed) for seed in seeds[side::2]] for case, raw in raws.items()}
        for side, raws in enumerate((first, last))
    )
    return before, after


def _drawn(count: int, cases: Sequence[str], sides: Callable[[Random, str], Two]) -> Iterator[Sides]:
    """Comparisons of all cases, which are drawn alike: the machine is the same for all."""
    for number in range(count):
        of_case = {case: sides(Random(f"{SEED} {number}"), case) for case in cases}
        before, after = ({case: both[side] for case, both in of_case.items()} for side in (0, 1))
        yield before, after


def _rows(how: str, same: Counted, less: Counted | None) -> list[Row]:
    said = "; ".join(f"{name} {count}" for name, count in same.gates.items())
    rows = [
        Row(what=f"{how}: false alarms", measured=same.worse, unit=f"of {same.compared}", at_most=MOST_ALARMS,
            note=said),
    ]  # fmt: skip
    if less is not None:
        rows += [
            Row(what=f"{how}: {case} lost 10 %", measured=found, unit=f"of {less.compared}",
                at_least=LEAST_FOUND * less.compared / LOSSES)
            for case, found in less.units_worse.items()
        ]  # fmt: skip
    return rows


def main() -> int:
    """Do what the first argument says; 0 where every goal is met."""
    match sys.argv[1:]:
        case []:
            return 0 if show("Suites on the simulator, five runs on each side", simulated()) else 1
        case ["collect", folder, *count]:
            _pool.collect(Path(folder), int(count[0]) if count else RUNS)
        case ["keep", folder, file]:
            _pool.keep(Path(folder), Path(file))
        case ["pool", *paths]:
            path = Path(paths[0]) if paths else RECORDED
            return 0 if show("Suites on the local endpoint, five runs on each side", drawn(path)) else 1
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
