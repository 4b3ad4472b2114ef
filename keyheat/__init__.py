"""Keyheat: load testing and throttle detection for Amazon DynamoDB. Is it the partition, or the table?

Public names for tests, analyzers and notebooks are in `__all__`, such as `keyheat.load_run(...)`; each is
imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keyheat.analysis.diagnosis import load_run as load_run
    from keyheat.runs.formats import Finding as Finding
    from keyheat.runs.run import Run as Run
    from keyheat.testing.checks import assert_headroom as assert_headroom
    from keyheat.testing.checks import assert_label as assert_label
    from keyheat.testing.checks import assert_no_hot_partition as assert_no_hot_partition
    from keyheat.testing.checks import assert_no_throttles as assert_no_throttles
    from keyheat.testing.checks import assert_shards_suffice as assert_shards_suffice
    from keyheat.testing.checks import assert_units_per_operation as assert_units_per_operation
    from keyheat.testing.failure import CheckFailed as CheckFailed
    from keyheat.testing.local import LocalDynamoDB as LocalDynamoDB

_MODULE_OF = {
    "CheckFailed": "testing.failure",
    "Finding": "runs.formats",
    "LocalDynamoDB": "testing.local",
    "Run": "runs.run",
    "assert_headroom": "testing.checks",
    "assert_label": "testing.checks",
    "assert_no_hot_partition": "testing.checks",
    "assert_no_throttles": "testing.checks",
    "assert_shards_suffice": "testing.checks",
    "assert_units_per_operation": "testing.checks",
    "load_run": "analysis.diagnosis",
}
__all__ = ["__version__", *_MODULE_OF]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("keyheat")
    if name in _MODULE_OF:
        return getattr(import_module(f"keyheat.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
