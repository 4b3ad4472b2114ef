"""Made-up runs, written once for the whole test session of a worker."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tools.samples.cases import CASES
from tools.samples.make import make_run

GENERATED_AT = datetime(2026, 11, 20, 13, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every made-up run by name; read them, do not write."""
    folder = tmp_path_factory.mktemp("samples")
    return {case.name: make_run(case, folder / case.name) for case in CASES}


@pytest.fixture
def a_run(tmp_path: Path) -> Callable[..., Path]:
    """A made-up run to spoil: `a_run("hotkey", without=["keys.json"])`."""

    def make(name: str = "hotkey", *, without: tuple[str, ...] = ()) -> Path:
        case = next(case for case in CASES if case.name == name)
        run_dir = make_run(case, tmp_path / name, seconds=60)
        for file in without:
            (run_dir / file).unlink()
        return run_dir

    return make


@pytest.fixture
def generated_at() -> datetime:
    return GENERATED_AT
