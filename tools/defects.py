"""Do the tests find what they are there for? Deliberate defects, put in one at a time.

    tools/defects.toml    a copy of the tree    its tests, until one fails
         defect      ->     with the defect  ->   found, by which test; or missed

`python -m tools.defects` tries every defect, `python -m tools.defects NAME ...` those that are named. Run it
before and after tests are cut: what was found before has to be found after. Exit code 1: a defect was missed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parent.parent
DEFECTS = Path(__file__).with_suffix(".toml")
NO_TESTS = 5  # pytest's exit code where nothing was selected
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Defect:
    """One wrong change: in `file`, `old` becomes `new`. `tests` are paths whose tests should find it."""

    name: str
    file: str
    old: str
    new: str
    tests: Sequence[str]

    def put_into(self, tree: Path) -> None:
        """Write the defect into a tree. Raises `SystemExit` unless its place is there exactly once."""
        path = tree / self.file
        text = path.read_text() if path.is_file() else ""
        if (count := text.count(self.old)) != 1:
            raise SystemExit(f"{self.name}: its place occurs {count} times in {self.file}: write it anew")
        path.write_text(text.replace(self.old, self.new))


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one defect: the first test that failed, None if every test passed."""

    defect: Defect
    found_by: str | None


def load_defects(path: Path = DEFECTS) -> list[Defect]:
    entries: Mapping[str, Mapping[str, str]] = tomllib.loads(path.read_text())
    return [_defect(name, entry) for name, entry in entries.items()]


def _defect(name: str, entry: Mapping[str, str]) -> Defect:
    old, new = (entry[side].removeprefix("\n") for side in ("old", "new"))
    return Defect(name=name, file=entry["file"], old=old, new=new, tests=entry["tests"])


def try_defect(defect: Defect, lane: str) -> Trial:
    """Run the defect's tests on a copy of the tree, then the whole lane; stop at the first failure."""
    with tempfile.TemporaryDirectory(prefix="keyheat-defect-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=_not_copied, symlinks=True)
        defect.put_into(tree)
        for paths in (defect.tests, ["tests"]):
            if failed := _first_failure(tree, paths, lane):
                return Trial(defect, failed)
    return Trial(defect, None)


def _not_copied(folder: str, names: Sequence[str]) -> Iterator[str]:
    left_out = {".git", ".venv", ".clients", ".compiled", "__pycache__", "node_modules", "out"}
    return (name for name in names if name in left_out)


def _first_failure(tree: Path, paths: Sequence[str], lane: str) -> str | None:
    """The id of a failed test; None if all passed. PYTHONPATH puts the copy before the installed package."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-m", lane, "-p", "no:cacheprovider", *paths]
    command += ["-n", "2", "--dist", "loadgroup", "-c", str(tree / "pyproject.toml"), "--rootdir", str(tree)]
    done = subprocess.run(
        command,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode in (0, NO_TESTS):
        return None
    failed = FAILED.search(done.stdout)
    return failed[1] if failed else f"pytest ended with {done.returncode}: {done.stdout[-500:]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the defects, print a line for each, and give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.defects", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="defects to try (default: all)")
    parser.add_argument("--lane", default="not nightly", help="pytest marker expression of the tests to run")
    parser.add_argument("--jobs", type=int, default=1, help="defects to try at the same time")
    options = parser.parse_args(arguments)
    defects = load_defects()
    if unknown := set(options.names) - {defect.name for defect in defects}:
        parser.error(f"no such defect: {', '.join(sorted(unknown))}")
    chosen = [defect for defect in defects if not options.names or defect.name in options.names]
    missed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for trial in pool.map(partial(try_defect, lane=options.lane), chosen):
            missed += trial.found_by is None
            print(f"{trial.defect.name:56} {trial.found_by or 'MISSED'}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} defects found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
