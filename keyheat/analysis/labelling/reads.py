"""Whether reads got what had been written: the load test checked them, and a wrong answer is said first."""

from collections.abc import Mapping

from keyheat.numbers import some
from keyheat.runs.client import ClientFiles
from keyheat.runs.formats import Verdict

WRONG = {
    "reads.missing": ("item was not found", "items were not found"),
    "reads.duplicate": ("was found twice", "were found twice"),
    "reads.misordered": ("came out of order", "came out of order"),
}


def wrong_reads(client: ClientFiles | None) -> int | None:
    """Missing, duplicate and misordered items of all checked reads; None where no read was checked."""
    counted = _counted(client)
    if not counted.get("reads.checked"):
        return None
    return sum(round(counted.get(name, 0)) for name in WRONG)


def with_reads(made: Verdict, client: ClientFiles | None) -> Verdict:
    """The verdict, which begins with what was wrong about reads, if anything was."""
    if not wrong_reads(client):
        return made
    counted = _counted(client)
    found = [
        f"{number:,} {one if number == 1 else several}"
        for name, (one, several) in WRONG.items()
        if (number := round(counted.get(name, 0)))
    ]
    checked = some(round(counted["reads.checked"]), "checked read")
    said = f"Reads were wrong: of what {checked} should have got, {', '.join(found)}."
    return made.model_copy(update={"because": (said, *made.because)})


def _counted(client: ClientFiles | None) -> Mapping[str, float]:
    return client.manifest.counted if client and client.manifest else {}
