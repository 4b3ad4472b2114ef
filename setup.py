"""What is installed under the one name `keyheat`: the package, and folders that a person reads and copies.

They stand at the top of a checkout and inside the package once it is installed; `keyheat.shipped` finds
them in either place.

With KEYHEAT_COMPILED=3 (how hard the C compiler tries, 0 to 3) the modules that a put or a get passes through
are compiled by mypyc, for the Python and the system that it is built on. They are the same modules and answer
the same, in less time. A generator expression is a list there: none of them may be without end.
https://mypyc.readthedocs.io/en/stable/differences_from_python.html
"""

import os

from setuptools import Extension, find_packages, setup

SHIPPED = ("analyzers", "configs", "deploy", "loadtests", "reports")
FOLDERS = [f"analyzers.{name}" for name in find_packages("analyzers")]

MODEL = ("admission", "bucket", "keyspace", "meter", "minutes", "nodes", "partitions", "resources",
         "splits", "table", "transactions", "units")  # fmt: skip
ENDPOINT = ("delivery", "dynamodb", "http", "itemkeys", "itemstore", "items/capacity", "items/single",
            "recording", "regions", "requests", "router", "schema", "service", "tables/catalog",
            "values")  # fmt: skip


def compiled() -> list[Extension]:
    """The modules that are compiled where somebody asked for it."""
    level = os.environ.get("KEYHEAT_COMPILED")
    if not level:
        return []
    from mypyc.build import mypycify  # only there where Keyheat is worked on

    paths = [f"keyheat/model/{name}.py" for name in MODEL]
    paths += [f"keyheat/endpoint/{name}.py" for name in ENDPOINT]
    return mypycify(paths, opt_level=level, debug_level="0", group_name="keyheat")


setup(
    packages=[
        *find_packages(include=["keyheat", "keyheat.*"]),
        *(f"keyheat.{name}" for name in (*SHIPPED, *FOLDERS)),
    ],
    package_dir={f"keyheat.{name}": name for name in SHIPPED},
    ext_modules=compiled(),
)
