"""Options of a load test on Locust's command line: what to load, and what is allowed."""

import sys
from argparse import Action, ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keyheat.flags import add_arguments
from keyheat.load.guard.options import Guards
from keyheat.words import WRONG_USE

RETRIES = ("client", "off")
RETRIES_HELP = "choose the scenario's [client], or none"


class ShowOurs(Action):
    """Shows our options and ends: Locust's own --help comes before it has read the file that has them."""

    def __call__(self, parser: Any, *_more: object) -> None:
        ours = ArgumentParser(
            prog="locust -f FILE", usage="locust -f FILE [options]", add_help=False, allow_abbrev=False,
            description="Options of a Keyheat load test, beside those of Locust (locust --help).",
        )  # fmt: skip
        add_options(ours)
        print(ours.format_help())
        parser.exit()


def add_options(parser: Any) -> None:
    """Add our options to Locust's parser; what is not given comes from the scenario."""
    _add_load(parser.add_argument_group("Keyheat", "what to load, and where results go"))
    _add_exports(parser.add_argument_group("Keyheat's metrics", "metrics during the load"))
    guards = parser.add_argument_group("Keyheat's guards", "what a run may touch, and what it may cost")
    add_arguments(guards, Guards)
    guards.add_argument("--prices", metavar="FILE", help="price list  [default: configs/prices.toml]")


def _add_load(group: Any) -> None:
    add = group.add_argument
    add("--keyheat-help", action=ShowOurs, nargs=0, help="list these options alone, and exit")
    add(
        "--scenario",
        metavar="SCENARIO",
        help="a file, or a name in configs/scenarios  [default: the locustfile's]",
    )
    add(
        "--set",
        dest="settings",
        metavar="PATH=VALUE",
        action="append",
        default=[],
        help="set a field, such as keys.shards=20; repeatable",
    )
    add(
        "--target",
        metavar="local|aws|URL",
        help="where the table is  [default: local]",
    )
    add("--out", metavar="DIR", help="run directory  [default: reports/out/NAME-TIME]")
    add(
        "--transport",
        choices=("signed", "boto3"),
        default="signed",
        help="signed is the fastest; boto3 is what an application has",
    )
    add(
        "--retries",
        choices=RETRIES,
        default="client",
        help=RETRIES_HELP,
    )
    add(
        "--show-keys",
        action="store_true",
        help="write keys instead of their digests",
    )
    add(
        "--throttled-keys",
        action="store_true",
        help="have Contributor Insights name throttled keys (costs on AWS)",
    )
    add(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="accept this host name on the web page, such as a proxy's; repeatable",
    )
    add("--progress", action="store_true", help="print JSON lines only")
    add(
        "--no-report",
        action="store_true",
        help="write the files of the run without a report",
    )


def _add_exports(group: Any) -> None:
    add = group.add_argument
    add(
        "--prometheus-port",
        metavar="PORT",
        type=int,
        help="serve metrics for Prometheus at /metrics",
    )
    add("--prometheus-host", metavar="ADDRESS", help="address of that port  [default: 127.0.0.1]")


def one_load_test(arguments: list[str]) -> None:
    """End Locust where it has been given several load tests and no scenario.

    It would read them all before it fires an event, and end with two users of one name.
    """
    from locust.argument_parser import get_empty_argument_parser, parse_locustfile_paths

    from keyheat.load.run.progress import tell

    parser = get_empty_argument_parser(add_help=False)
    add_options(parser)
    for flag in ("--worker", "-h", "--help"):
        parser.add_argument(flag, action="store_true")
    said, _others = parser.parse_known_args(arguments)
    files = [file.strip() for file in said.locustfile.split(",")]
    if said.scenario or said.worker or (len(files) == 1 and not Path(files[0]).is_dir()):
        return
    if len(found := parse_locustfile_paths(files)) > 1:
        tell(f"keyheat: {several(found)}")
        sys.exit(WRONG_USE)


def several(locustfiles: Sequence[str]) -> str:
    """Why several load tests need a scenario."""
    names = ", ".join(sorted(Path(file).name for file in locustfiles))
    return (
        f"{len(locustfiles)} load tests are named, but a scenario is made for one: choose one with -f FILE, "
        f"or add --scenario SCENARIO for all of them together: {names}"
    )
