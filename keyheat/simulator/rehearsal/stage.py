"""Where a load test is rehearsed: its own code and that of its users, with stand-ins for all that would send.

A file that we ship is run in this process: its imports of Locust, gevent and users are led to stand-ins and
to copies of the users' modules, which nobody else can import. Anybody else's file may import whatever it
likes, and is run in a process of its own (`keyheat.simulator.rehearsal`), which has nothing but stand-ins.
"""

import builtins
import importlib
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from keyheat.shipped import PACKAGE
from keyheat.simulator.rehearsal.standins import Clock, stand_ins

USERS: Final = "keyheat.load.users"
COPIES: Final = "keyheat rehearsal of "  # before the names of copies, which nobody can import by mistake


class Stage:
    """The modules of a rehearsal."""

    def __init__(self, *, alone: bool) -> None:
        """`alone`: this process is for the rehearsal only."""
        self.clock = Clock()
        self._alone = alone
        self._modules = stand_ins(self.clock)
        self._builtins = {**vars(builtins), "__import__": self._import}
        self.user_base: type = self._modules["locust"].User
        if alone:
            sys.modules.update(self._modules)

    def module(self, name: str) -> ModuleType:
        """A module of the users, made of stand-ins."""
        if self._alone:
            return importlib.import_module(name)
        return self._copy(name)

    def run(self, path: Path) -> dict[str, Any]:
        """Run a load test's file; what it defines. Raises whatever the file raises."""
        if self._alone:
            sys.path.insert(0, str(path.parent))  # as Locust does: its neighbours can be imported
            spec = spec_from_file_location(path.stem, path)
            assert spec is not None, "a path that ends in .py"
            assert spec.loader is not None
            module = module_from_spec(spec)
            sys.modules[path.stem] = module
            spec.loader.exec_module(module)
            return vars(module)
        names: dict[str, Any] = {"__builtins__": self._builtins, "__name__": f"{COPIES}{path.stem}"}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
        return names

    def _import(
        self,
        name: str,
        names: Any = None,
        here: Any = None,
        wanted: tuple[str, ...] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """What `import` means here."""
        if name in self._modules:
            return self._modules[name if wanted else name.partition(".")[0]]
        if name.startswith(f"{USERS}.") and wanted:
            return self._copy(name)
        return __import__(name, names, here, wanted or (), level)

    def _copy(self, name: str) -> ModuleType:
        if name not in self._modules:
            # Not `find_spec`, which would import the package of users, and so ask for Locust.
            spec = PathFinder.find_spec(name, [str(PACKAGE / "load" / "users")])
            assert spec is not None, "a module of ours"
            assert spec.loader is not None
            copy = self._modules[name] = sys.modules[COPIES + name] = ModuleType(COPIES + name)
            vars(copy)["__builtins__"] = self._builtins
            exec(spec.loader.get_code(name), vars(copy))  # type: ignore[attr-defined]
        return self._modules[name]
