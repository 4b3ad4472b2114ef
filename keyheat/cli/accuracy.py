"""The verb that says how right the labels are: accuracy."""

import os
from pathlib import Path

import click

from keyheat.cli.common import a_path
from keyheat.cli.telling import in_json
from keyheat.runfiles import write_atomically
from keyheat.terminal.console import bars, err, out, print_json, shown
from keyheat.words import BROKEN, DONE


@click.command()
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--scenarios", "count", type=click.IntRange(min=1), default=300, show_default=True)
@click.option("--only", type=click.IntRange(min=0), help="explain this one: scenario, truth, labels")
@click.option("--jobs", type=click.IntRange(min=1), help="processes  [default: one for each core]")
@click.option("--write", "page", type=a_path, help="write the whole result as a Markdown page")
@in_json("the scores")
def accuracy(
    seed: int, count: int, only: int | None, jobs: int | None, page: Path | None, as_json: bool
) -> int:
    """How right the labels are: random tables are simulated, evidence is hidden, labels are counted.

    Exit code 1 where a goal is missed.
    """
    from keyheat.accuracy.goals import missed
    from keyheat.accuracy.run import outcomes, together
    from keyheat.accuracy.tally import score_all
    from keyheat.pages.accuracy import table as shown_as
    from keyheat.pages.accuracy.page import markdown
    from keyheat.terminal.progress import counted

    if only is not None:
        if page is not None or as_json:
            raise click.UsageError("--only explains one scenario in words: leave --write and --json out")
        return _explain(seed, only)
    jobs = min(jobs or os.cpu_count() or 1, count)
    found = together(list(counted(outcomes(seed, range(count), jobs=jobs), count, "scenarios", bars)))
    scores = score_all(found.answered, found.judged)
    short = tuple(missed(scores))
    if page is not None:
        text = markdown(scores, short, seed=seed, count=count).encode()
        write_atomically(page, lambda file: file.write(text))
        err.print(f"Page: {shown(page.resolve())}", markup=False)
    if as_json:
        print_json(shown_as.plain(scores, short, seed=seed, count=count))
    else:
        out.print(shown_as.table(scores))
    for goal in short:
        err.print(f"missed: {goal}", markup=False)
    return BROKEN if short else DONE


def _explain(seed: int, number: int) -> int:
    """One scenario in full."""
    from keyheat.accuracy.draw import draw
    from keyheat.accuracy.grades import BEST
    from keyheat.accuracy.run import labels_of, play
    from keyheat.analysis.thresholds import load_thresholds
    from keyheat.pages.accuracy import table as shown_as

    played, numbers = play(draw(seed, number)), load_thresholds()
    labels = {best: labels_of(played, best, numbers) for best in BEST}
    out.print(shown_as.explained(played, labels))
    return DONE
