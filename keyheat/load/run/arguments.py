"""What a person may say on Locust's command line about what is loaded, and what is allowed."""

import sys
from argparse import Action, ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keyheat.words import WRONG_USE

RETRIES = ("client", "off", "sdk")
RETRIES_HELP = (
    "client: as the scenario's [client] says, off without one; off: every request is sent once; "
    "sdk: sent again as the installed SDK would"
)


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
    """Add our options to Locust's parser; a word that is not said anywhere comes from the scenario."""
    _add_load(parser.add_argument_group("Keyheat", "what is loaded, and where the answer goes"))
    _add_exports(parser.add_argument_group("Keyheat's metrics", "of the load, for others, while it goes on"))
    _add_guards(parser.add_argument_group("Keyheat's guards", "what may be touched, and what it may cost"))


def _add_load(group: Any) -> None:
    add = group.add_argument
    add("--keyheat-help", action=ShowOurs, nargs=0, help="show these options alone, which --help cannot")
    add(
        "--scenario",
        metavar="SCENARIO",
        help="a file, or a name in configs/scenarios; default: the locustfile's",
    )
    add(
        "--set",
        dest="settings",
        metavar="PATH=VALUE",
        action="append",
        default=[],
        help="another value for a field of the scenario, such as keys.shards=20; may be repeated",
    )
    add(
        "--target",
        metavar="local|aws|URL",
        help="default local: an endpoint of our own",
    )
    add("--out", metavar="DIR", help="run directory, new or empty; default reports/out/<scenario>-<time>")
    add(
        "--transport",
        choices=("signed", "boto3"),
        default="signed",
        help="signed: small and fast; boto3: as an application",
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
        help="show partition keys, not only their digests",
    )
    add(
        "--throttled-keys",
        action="store_true",
        help="have CloudWatch Contributor Insights name throttled keys during the run, then put back "
        "what was there; AWS charges for its rules and for each throttled request",
    )
    add(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="answer on the web page when it is called by this name, such as a proxy's; may be repeated",
    )
    add("--progress", action="store_true", help="print JSON lines on stdout, and nothing else")
    add(
        "--no-report",
        action="store_true",
        help="write the run's files and no report",
    )


def _add_exports(group: Any) -> None:
    add = group.add_argument
    add(
        "--prometheus-port",
        metavar="PORT",
        type=int,
        help="have Prometheus read them at /metrics, such as 9464",
    )
    add("--prometheus-host", metavar="ADDRESS", help="where that port is; default 127.0.0.1")


def _add_guards(group: Any) -> None:
    add = group.add_argument
    add("--table", metavar="NAME", help="load this table, which is there already, as it is")
    add(
        "--allow-table",
        metavar="NAME",
        action="append",
        default=[],
        help="load this table although no run of ours created it; may be repeated",
    )
    add(
        "--allow-protected",
        metavar="NAME",
        action="append",
        default=[],
        help="load this table although it has deletion protection or point-in-time recovery; may be repeated",
    )
    add(
        "--share",
        action="store_true",
        help="load a table although another run is loading it; the verdicts of both say so",
    )
    add("--clean-up", action="store_true", help="delete the items of this run from the table when it is over")
    add("--keep-table", action="store_true", help="keep the tables that this run creates")
    add("--yes", action="store_true", help="do not ask whether to go on; needed where nobody can be asked")
    add("--max-dollars", type=float, metavar="D", help="what the run may cost; default the scenario's budget")
    add("--max-units", type=float, metavar="N", help="units that it may consume, reads and writes together")
    add("--max-minutes", type=float, metavar="M", help="minutes of load")
    add("--prices", metavar="FILE", help="the price list of the budget; default configs/prices.toml")
    add("--no-align", action="store_true", help="do not wait for a minute to begin before the load does")


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
    """What is to be said where more than one load test is named: no scenario is made for all of them."""
    names = ", ".join(sorted(Path(file).name for file in locustfiles))
    return (
        f"{len(locustfiles)} load tests are named, and a scenario is made for one: choose one with -f FILE, "
        f"or say --scenario SCENARIO for all of them together: {names}"
    )
