"""Files that Keyheat ships beside its code, optional dependencies, and Python files by their path."""

import os
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Final

PACKAGE: Final = Path(__file__).resolve().parent
ROOT: Final = PACKAGE.parent
"""The folder that a child process needs on its path to import this package."""


def shipped(name: str) -> Path:
    """A shipped folder, such as `configs`: of the installed package, or of a checkout."""
    installed = PACKAGE / name
    return installed if installed.is_dir() else ROOT / name


def schema_beside(kind: str, file: Path) -> str | None:
    """Relative path from `file` to a JSON Schema; None if it would differ on other machines.

    Both must be below the working directory, as with a `.venv` beside the file.
    """
    schema, here = shipped("configs") / f"{kind}.schema.json", Path.cwd()
    if not (schema.is_relative_to(here) and file.resolve().is_relative_to(here)):
        return None
    return Path(os.path.relpath(schema, file.resolve().parent)).as_posix()


RUN_FILES: Final = ("pyarrow", "pandas", "hdrh")
"""Libraries for the files of a run; the extras `load` and `report` both install them."""
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "load": ("locust", "gevent", "geventhttpclient", "msgpack", "zmq"),
    "report": ("plotly", "jinja2", "markupsafe", *RUN_FILES),
    "regress": ("scipy",),
}
"""Optional modules by extra; the first one is its purpose."""


def require(extra: str, modules: Sequence[str] = ()) -> None:
    """Check that an extra, or these of its modules, are installed. Raises `ModuleNotFoundError`."""
    for module in modules or MODULES[extra]:
        if find_spec(module) is None:
            raise ModuleNotFoundError(_missing_text(module, extra), name=module)


def sentence(error: ImportError) -> str | None:
    """What to install for a missing module; None if it belongs to no extra."""
    module = (error.name or "").partition(".")[0]
    if module in RUN_FILES:  # the same message for each of them
        module = next((name for name in RUN_FILES if find_spec(name) is None), module)
    extra = next((extra for extra, modules in MODULES.items() if module in modules), None)
    return extra and _missing_text(module, extra)


def _missing_text(module: str, extra: str) -> str:
    return f"this needs {module}, which is not installed: pip install 'keyheat[{extra}]'"


def import_file(path: Path, name: str, *, inside: Sequence[str] | None = None) -> ModuleType:
    """Import a file under a name; `inside`: folders of its submodules. Raises whatever the file raises."""
    spec = spec_from_file_location(name, path, submodule_search_locations=list(inside) if inside else None)
    assert spec is not None and spec.loader is not None, "a Python file has a loader"  # noqa: PT018
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
