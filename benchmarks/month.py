"""A month of nights under `keyheat regress`: is each change found on its night, are the others quiet?

python -m benchmarks.month              one month on the simulator
python -m benchmarks.month 1 20         the months of these numbers, from the first to the last
python -m benchmarks.month count        what came of all months that were played on the simulator
python -m benchmarks.month local        eight nights on the local endpoint

Each month leaves a folder in reports/out/months with what every night said (`month.json`), and its page
(`month.html`). A night is a session as the verb makes it, with runs, history, gates and baseline; only its
clock is made up, so that a month has its dates. docs/regress.md says what came out.
"""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click
import orjson

from benchmarks._nights import LOCAL, MONTH, Night, Plan, nights_of
from benchmarks._table import Row, show
from keyheat.cli.regress import SessionOptions, run_session
from keyheat.regression.history import History
from keyheat.regression.outcome import SessionOutcome
from keyheat.regression.suite_spec import RunSpec
from keyheat.runfiles import write_json
from keyheat.show.console import set_mode
from keyheat.show.history import sessions_answer
from keyheat.show.render import html_of, save

MOST_ALARMS: Final = 0.01  # of the nights: a suite is confident by 99 %
OUT: Final = Path("reports") / "out" / "months"
FIRST: Final = datetime(2026, 11, 1, 2, tzinfo=UTC)
FORMAT: Final = "keyheat.month/1"
FILE: Final = "month.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class NightSaid:
    """What came of one night, beside what should have."""

    month: int
    day: int
    change: str | None
    expected: str
    verdict: str
    because: tuple[str, ...]
    named: bool  # the change, by what it was; True where there was none

    @property
    def found(self) -> bool:
        """Whether a change was found on its night, and rightly named."""
        return self.change is not None and self.verdict == self.expected and self.named

    @property
    def false_alarm(self) -> bool:
        """Whether it was not quiet though nobody had changed anything."""
        return self.change is None and self.verdict != self.expected


def played(plan: Plan, folder: Path, number: int) -> list[NightSaid]:
    """All nights of one month, one after the other, in a history of their own."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    said: list[NightSaid] = []

    def now() -> datetime:
        return FIRST + timedelta(days=len(said))

    with History(folder / "history.sqlite", now) as history:
        for night in nights_of(plan, folder, number):
            said.append(_of(number, night, _session(night, folder, history)))
    return said


def _session(night: Night, folder: Path, history: History) -> SessionOutcome:
    """One session, as the verb makes it."""
    options = SessionOptions(
        new_baseline=night.accepted,
        accept=night.accepted,
        folder=folder / f"night-{night.day:02}",
    )
    suite = replace(night.suite, run=RunSpec(collect=False))
    with click.Context(click.Command("month")):
        return run_session(suite, options, history)


def _of(number: int, night: Night, outcome: SessionOutcome) -> NightSaid:
    change = night.change
    return NightSaid(
        month=number,
        day=night.day,
        change=change.what if change else None,
        expected=night.expected,
        verdict=outcome.verdict,
        because=outcome.because,
        named=change is None or any(change.named in line for line in outcome.because),
    )


def counted(said: Sequence[NightSaid]) -> list[Row]:
    """How many changes were found, each on its night, and how often it was not quiet on another."""
    rows = []
    for what in dict.fromkeys(night.change for night in said if night.change):
        nights = [night for night in said if night.change == what]
        found = sum(night.found for night in nights)
        rows.append(
            Row(
                what=f"{what}: found and named",
                measured=found,
                unit=f"of {len(nights)}",
                at_least=len(nights),
            )
        )
    quiet = [night for night in said if night.change is None]
    alarms = [night for night in quiet if night.false_alarm]
    rows.append(
        Row(
            what="false alarms",
            measured=len(alarms),
            unit=f"of {len(quiet)}",
            at_most=MOST_ALARMS * len(quiet),
            note=", ".join(f"month {night.month} day {night.day}" for night in alarms),
        )
    )
    return rows


def write_page(folder: Path) -> Path:
    """The page of a month, night by night."""
    file = folder / "history.sqlite"
    with History(file, lambda: FIRST) as history:
        made = sessions_answer(file, history.sessions(), set())
    return save(folder / "month.html", html_of(made, FIRST + timedelta(days=MONTH.nights)))


def main(arguments: Sequence[str]) -> int:
    """Play what the arguments say; 0 where every change was found and no night was a false alarm."""
    match arguments:
        case ["count"]:
            return told(MONTH, sorted(OUT.glob(f"{MONTH.target}-*")))
        case ["local"]:
            plan, numbers = LOCAL, range(1, 2)
        case [] | [_] | [_, _] if all(one.isdecimal() for one in arguments):
            first = int(arguments[0]) if arguments else 1
            plan, numbers = MONTH, range(first, int(arguments[-1] if arguments else 1) + 1)
        case _:
            print(__doc__)
            return 2
    set_mode(quiet=True)
    folders = [OUT / f"{plan.target}-{number}" for number in numbers]
    for folder, number in zip(folders, numbers, strict=True):
        nights = played(plan, folder, number)
        write_json(folder / FILE, FORMAT, {"nights": [asdict(night) for night in nights]})
        write_page(folder)
    return told(plan, folders)


def told(plan: Plan, folders: Sequence[Path]) -> int:
    """Print what came of the months in these folders, as `main` returns it."""
    said = [
        NightSaid(**night)
        for folder in folders
        for night in orjson.loads((folder / FILE).read_bytes())["nights"]
    ]
    for night in said:
        if night.change or night.false_alarm:
            print(
                f"month {night.month}, day {night.day}, {night.change or 'nothing changed'}: {night.verdict}"
            )
            print(*(f"    {line}" for line in night.because), sep="\n")
    return 0 if show(f"{len(folders)} x {plan.nights} nights, {plan.target}", counted(said)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
