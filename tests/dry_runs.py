"""Dry runs of shipped load tests: each is made once for all workers of a session, which share the result."""

import fcntl
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from keyheat.simulator import dryrun
from keyheat.simulator.loadtest import DryRun

SHIPPED = ("", 0)
"""The process of all shipped load tests; a user's file has its own, whose results are not shared."""


@pytest.fixture(scope="session", autouse=True)
def shared_dry_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep results in a folder of the session. Workers of pytest-xdist have their folders side by side."""
    folder = tmp_path_factory.getbasetemp()
    if folder.name.startswith("popen-"):
        folder = folder.parent
    kept = folder / "dry-runs"
    kept.mkdir(exist_ok=True)
    original = dryrun._dry_run_of

    @cache
    def shared(file: tuple[str, int], job: bytes) -> DryRun:
        if file != SHIPPED:
            return original(file, job)
        return _once(kept / sha256(job).hexdigest(), file, job)

    def _once(path: Path, file: tuple[str, int], job: bytes) -> DryRun:
        with path.open("a+b") as result:
            fcntl.flock(result, fcntl.LOCK_EX)
            result.seek(0)
            if answer := result.read():
                return dryrun.ADAPTER.validate_json(answer)
            made = original(file, job)
            if made.loadtest is not None:
                result.write(dryrun.ADAPTER.dump_json(made))
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dryrun, "_dry_run_of", shared)
        yield
