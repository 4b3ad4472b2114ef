"""What follows a load: collect, analyze and report, each a child process that reads the run's files.

They are children because importing Locust replaces sockets for the whole process.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from keyheat.runfiles import FILES
from keyheat.shipped import ROOT
from keyheat.words import INTERRUPTED


@dataclass(slots=True)
class Stages:
    """Runs the stages one after the other; `cancel`, from another greenlet, ends the one that is running."""

    folder: Path
    quiet_stdout: bool  # stdout carries progress: what the stages print goes to stderr
    _child: "subprocess.Popen[bytes] | None" = None
    _cancelled: bool = False

    def run(self, verb: str, *arguments: str) -> int:
        """Run one `keyheat` verb and give its exit code; what it prints is shown."""
        if self._cancelled:
            return INTERRUPTED
        paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._child = subprocess.Popen(
            [sys.executable, "-m", "keyheat", verb, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr if self.quiet_stdout else None,
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,  # Ctrl-C is ours: `cancel` ends it, without a traceback from its imports
        )
        code = self._child.wait()
        self._child = None
        return INTERRUPTED if self._cancelled or code < 0 else code

    def made(self, format_name: str) -> bool:
        """Whether a stage left its file."""
        return (self.folder / FILES[format_name]).exists()

    def cancelled(self) -> bool:
        """Whether nothing more is wanted."""
        return self._cancelled

    def cancel(self) -> None:
        """End the stage that is running, and start no further one."""
        self._cancelled = True
        if self._child is not None:
            self._child.terminate()
