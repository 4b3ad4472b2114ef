"""Regresses that are killed at random places, and what is left of their history.

A child says each thing once it is done, and is killed before a statement of its next transactions, or at any
moment. What it had said has to be there, and no half of what it had not.
"""

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from keyheat.regression.history import History
from tests.make import a_summary

CASES, REPETITIONS = ("hotkey", "sharded"), 2
WHOLE = len(CASES) * REPETITIONS
MOST_STATEMENTS = 60  # of a child: about three sessions
MOST_S = 0.05
LOOKS = 5  # kills between two looks; the next child looks too, when it begins


def regress_for_ever(path: Path, say: Callable[[str], object], dies_at: int | None) -> None:
    """Session after session; with `dies_at`, killed before that statement."""
    with History(path) as history:
        left = iter(range(dies_at or sys.maxsize, -1, -1))
        history._db.set_trace_callback(lambda _statement: next(left) or os.kill(os.getpid(), signal.SIGKILL))
        while True:
            session = history.begin("nightly")
            say(f"begin {session.id}")
            for repetition in range(REPETITIONS):
                for case in CASES:
                    history.add(session, case, repetition, a_summary(session.id), "file:///x")
                    say(f"add {session.id} {case} {repetition}")
            history.end(session, "good")
            say(f"end {session.id}")


def started(path: Path, rng: random.Random) -> tuple[int, int, bool]:
    """A child that regresses: its process, what it says, and whether it kills itself."""
    dies_at = rng.randrange(1, MOST_STATEMENTS) if rng.random() < 0.7 else None
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            regress_for_ever(path, lambda line: os.write(writing, f"{line}\n".encode()), dies_at)
        finally:
            traceback.print_exc()
            os._exit(1)  # it was not killed
    os.close(writing)
    return child, reading, dies_at is not None


def killed(path: Path, rng: random.Random) -> list[str]:
    """What a child, or two beside each other, had done when they were killed."""
    children = [started(path, rng) for _ in range(rng.choice((1, 1, 2)))]
    lines = []
    for child, reading, by_itself in children:
        if not by_itself:
            time.sleep(rng.random() * MOST_S)
            os.kill(child, signal.SIGKILL)
        with os.fdopen(reading) as said:
            lines += said.read().splitlines()
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status), f"the child ended by itself, by {status}"
    return lines


def check(path: Path, said: list[str]) -> int:
    """Hold a history against all that children said; gives how many sessions there are."""
    with History(path) as history:
        assert history._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        sessions = history.sessions()
        runs = {one.id: [(run.case, run.repetition) for run in history.runs(one)] for one in sessions}
        for one in sessions:
            assert len(set(runs[one.id])) == len(runs[one.id]) <= WHOLE
            assert one.verdict in ("good", None), one
            assert not one.good or len(runs[one.id]) == WHOLE, "half a session is good"
            assert all(run.summary == a_summary(one.id) for run in history.runs(one))
        by_id = {one.id: one for one in sessions}
        for line in said:
            what, number, *run = line.split()
            assert what != "end" or by_id[int(number)].good, line
            assert what != "add" or (run[0], int(run[1])) in runs[int(number)], line
        good = [one.id for one in sessions if one.good]
        last = history.last_good("nightly")
        assert (last and last.id) == max(good, default=None)
        return len(sessions)


def main(folder: Path, seed: int, kills: int) -> None:
    """Kill so many times, look whenever some are done, and say how much came of it."""
    rng, path = random.Random(seed), folder / "history.sqlite"
    said: list[str] = []
    for number in range(kills):
        said += killed(path, rng)
        if number % LOOKS == 0:
            check(path, said)
    print(check(path, said), "sessions,", len(said), "things done")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
