"""What Keyheat ships beside its code to read and copy: load tests, analyzers, scenarios, page templates."""

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parent
ROOT: Final = PACKAGE.parent
"""Where `import keyheat` finds this package: what a child process needs on its path."""


def shipped(name: str) -> Path:
    """One of these folders, such as `configs`: in an installed package, beside one in a checkout."""
    installed = PACKAGE / name
    return installed if installed.is_dir() else ROOT / name
