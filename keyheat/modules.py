"""Import a Python file by its path."""

import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType


def import_file(path: Path, name: str, *, inside: Sequence[str] | None = None) -> ModuleType:
    """Import a file under a name; `inside`: folders of its submodules. Raises whatever the file raises."""
    spec = spec_from_file_location(name, path, submodule_search_locations=list(inside) if inside else None)
    assert spec is not None, "a Python file has a loader"
    assert spec.loader is not None, "a Python file has a loader"
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
