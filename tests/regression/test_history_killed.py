"""Whatever is killed, and whenever: what a regress had kept is there, and half a session is never good."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.opens, pytest.mark.nightly]

SCRIPT = Path(__file__).with_name("regressing_until_killed.py")
MEMORY = Path(
    "/dev/shm"
)  # a disk there answers at once, and it is a process that is killed and not the machine


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_a_history_is_whole_after_kills_at_random_places() -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        said = subprocess.run(
            [sys.executable, str(SCRIPT), folder, "2026", "60"], capture_output=True, text=True
        )
    assert said.returncode == 0, said.stderr
    sessions, _, done, *_ = said.stdout.split()
    assert int(sessions) >= 20
    assert int(done) >= 40
