"""Evidence from anywhere, fuzzed: `.venv/bin/python tests/fuzz/fuzz_evidence.py -max_total_time=60`.

Guided by coverage of keyheat/. Takes libFuzzer's options: https://llvm.org/docs/LibFuzzer.html
A crash is written to the working directory; `fuzz_evidence.py FILE` repeats it.
"""

import sys
import tempfile
from pathlib import Path
from random import Random

import atheris

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1]))

with atheris.instrument_imports(include=["keyheat"]):
    from tests.fuzz.mutations import mutated
    from tests.fuzz.targets import read_as_answer, read_as_description, read_as_evidence

folder = tempfile.TemporaryDirectory()
FILE = Path(folder.name) / "input.json"


def one_input(data: bytes) -> None:
    """Any bytes, taken for each kind of file."""
    for read in (read_as_evidence, read_as_answer, read_as_description):
        FILE.write_bytes(data)
        read(FILE)


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """Most of the time JSON that is still JSON; else any bytes."""
    rng = Random(seed)
    changed = mutated(data, rng) if rng.random() < 0.9 else None
    if changed is None or len(changed) > max_size:
        return bytes(atheris.Mutate(data, max_size))
    return changed


def main() -> None:
    found = Path(folder.name) / "found"
    found.mkdir()
    files = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    places = [] if files else [str(found), str(HERE / "corpus")]
    atheris.Setup([*sys.argv, *places], one_input, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
