"""What Keyheat ships beside its code to read and copy, and what is installed only for those who need it."""

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parent
ROOT: Final = PACKAGE.parent
"""Where `import keyheat` finds this package: what a child process needs on its path."""


def shipped(name: str) -> Path:
    """One of these folders, such as `configs`: in an installed package, beside one in a checkout."""
    installed = PACKAGE / name
    return installed if installed.is_dir() else ROOT / name


def schema_beside(kind: str, file: Path) -> str | None:
    """The path by which `file` can name a JSON Schema of ours to everybody who has it; None where it cannot.

    That is where both are below the working directory, as with a `.venv` beside the file: any
    other path is of one machine.
    """
    schema, here = shipped("configs") / f"{kind}.schema.json", Path.cwd()
    if not (schema.is_relative_to(here) and file.resolve().is_relative_to(here)):
        return None
    return Path(os.path.relpath(schema, file.resolve().parent)).as_posix()


RUN_FILES: Final = ("pyarrow", "pandas", "hdrh")
"""What reads and writes the files of a run: the extras `load` and `report` bring it both."""
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "load": ("locust", "gevent", "geventhttpclient", "msgpack", "zmq"),
    "report": ("plotly", "jinja2", "markupsafe", *RUN_FILES),
    "regress": ("scipy", "junitparser"),
}
"""Extra -> the modules that only those import who use it; the first is what it is for."""


def require(extra: str, modules: Sequence[str] = ()) -> None:
    """Go on only where an extra is installed, or these modules of it.

    Raises `ModuleNotFoundError`, which says how it is.
    """
    for module in modules or MODULES[extra]:
        if find_spec(module) is None:
            raise ModuleNotFoundError(_missing_text(module, extra), name=module)


def sentence(error: ImportError) -> str | None:
    """What to install for a module that is not there; None where it is no extra's."""
    module = (error.name or "").partition(".")[0]
    if module in RUN_FILES:  # whichever is asked for first, the same is said
        module = next((name for name in RUN_FILES if find_spec(name) is None), module)
    extra = next((extra for extra, modules in MODULES.items() if module in modules), None)
    return extra and _missing_text(module, extra)


def _missing_text(module: str, extra: str) -> str:
    return f"this needs {module}, which is not installed: pip install 'keyheat[{extra}]'"
