"""What is installed under the one name `keyheat`: the package, and folders that a person reads and copies.

They stand at the top of a checkout and inside the package once it is installed; `keyheat.shipped` finds
them in either place.

With KEYHEAT_COMPILED=3 (how hard the C compiler tries, 0 to 3) the modules that a put or a get passes through
are compiled by mypyc, for the Python and the system that it is built on. They are the same modules and answer
the same, in less time. A generator expression is a list there: none of them may be without end.
https://mypyc.readthedocs.io/en/stable/differences_from_python.html
"""

import os
import sys
import tomllib
from pathlib import Path

from setuptools import Extension, find_packages, setup

SHIPPED = ("analyzers", "configs", "deploy", "loadtests", "reports")
FOLDERS = [f"analyzers.{name}" for name in find_packages("analyzers")]

MODEL = ("admission", "bucket", "meter", "minutes", "nodes", "partitions", "resources",
         "splits", "table", "transactions", "units")  # fmt: skip
ENDPOINT = ("dynamodb", "http", "itemkeys", "itemstore", "items/capacity", "items/single", "keycounts",
            "requests", "router", "schema", "service", "tables/catalog", "values")  # fmt: skip


LEVEL = os.environ.get("KEYHEAT_COMPILED")
ASKED_FIRST = ("egg_info", "dist_info", "sdist")
"""What pip asks before it builds: what is needed for that, and what comes of it."""


def compiled() -> list[Extension]:
    """The modules that are compiled where somebody asked for it, once all that it takes is there."""
    if not LEVEL or not set(sys.argv).isdisjoint(ASKED_FIRST):
        return []
    from mypyc.build import mypycify  # only there where somebody asked for it

    paths = [f"keyheat/model/{name}.py" for name in MODEL]
    paths += [f"keyheat/endpoint/{name}.py" for name in ENDPOINT]
    # What they import is read for its types; whether all of that is there is not the question here.
    mypy = ["--follow-imports=silent", "--ignore-missing-imports"]
    return mypycify([*mypy, *paths], opt_level=LEVEL, debug_level="0", group_name="keyheat")


def compiler() -> list[str]:
    """What it takes to compile, where pip builds in an environment of its own: mypyc, and what we import."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    return [*project["dependency-groups"]["compiled"], *project["project"]["dependencies"]] if LEVEL else []


setup(
    packages=[
        *find_packages(include=["keyheat", "keyheat.*"]),
        *(f"keyheat.{name}" for name in (*SHIPPED, *FOLDERS)),
    ],
    package_dir={f"keyheat.{name}": name for name in SHIPPED},
    ext_modules=compiled(),
    setup_requires=compiler(),
)
