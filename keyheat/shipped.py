"""What Keyheat ships beside its code for a person to read and copy: load tests, scenarios, page templates."""

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parent
ROOT: Final = PACKAGE.parent
"""Where `import keyheat` finds this package: what a child process needs on its path."""


def shipped(name: str) -> Path:
    """The folder `configs`, `loadtests` or `reports`: in an installed package, beside one in a checkout."""
    installed = PACKAGE / name
    return installed if installed.is_dir() else ROOT / name
