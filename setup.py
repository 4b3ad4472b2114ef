"""What is installed under the one name `keyheat`: the package, and folders that a person reads and copies.

They stand at the top of a checkout and inside the package once it is installed; `keyheat.shipped` finds
them in either place.
"""

from setuptools import find_packages, setup

SHIPPED = ("analyzers", "configs", "deploy", "loadtests", "reports")
FOLDERS = [f"analyzers.{name}" for name in find_packages("analyzers")]

setup(
    packages=[
        *find_packages(include=["keyheat", "keyheat.*"]),
        *(f"keyheat.{name}" for name in (*SHIPPED, *FOLDERS)),
    ],
    package_dir={f"keyheat.{name}": name for name in SHIPPED},
)
