"""Evidence from anywhere, changed at random: an answer or a clear refusal, and never a crash.

Files in corpus/ whose name begins with `was-` crashed once.
"""

from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.mutations import mutated
from tests.fuzz.targets import read_as_answer, read_as_description, read_as_evidence

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
READERS = (read_as_evidence, read_as_answer, read_as_description)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "input.json"


def read(content: bytes, file: Path) -> None:
    """The bytes taken for each kind of file."""
    for reader in READERS:
        file.write_bytes(content)
        reader(file)


@pytest.mark.parametrize("seed", CORPUS, ids=[path.stem for path in CORPUS])
def test_the_corpus(seed: Path, file: Path) -> None:
    read(seed.read_bytes(), file)


def test_the_corpus_is_understood() -> None:
    """Fuzzing begins at files that are taken, not at files that are refused at once."""
    taken = {path.stem for path in CORPUS if read_as_evidence(path) is not None}
    assert {"minutes", "client", "on-demand", "contributors"} <= taken
    assert read_as_answer(CORPUS[0].with_name("answer.json")) is not None


@given(st.sampled_from(CORPUS), st.randoms(use_true_random=False), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_good_files_with_a_few_changes(file: Path, seed: Path, rng: Random, times: int) -> None:
    changed = mutated(seed.read_bytes(), rng, times)
    assert changed is not None
    read(changed, file)


@given(st.binary(max_size=300))
@settings(max_examples=50, deadline=None)
def test_any_bytes(file: Path, content: bytes) -> None:
    read(content, file)
