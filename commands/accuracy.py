"""The verb that says how right the labels are: accuracy."""

import os
from pathlib import Path

import click

from commands.codes import BROKEN, DONE
from commands.common import a_path
from commands.telling import in_json
from reports.terminal.console import bars, err, out, print_json, shown
from tablemodel.runfiles import write_atomically


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
    from accuracy.goals import missed
    from accuracy.run import outcomes, together
    from accuracy.tally import score_all
    from reports.accuracy import table as shown_as
    from reports.accuracy.page import markdown
    from reports.terminal.progress import counted

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
    from accuracy.draw import draw
    from accuracy.grades import BEST
    from accuracy.run import labels_of, play
    from analyzers.thresholds import load_thresholds
    from reports.accuracy import table as shown_as

    played, numbers = play(draw(seed, number)), load_thresholds()
    labels = {best: labels_of(played, best, numbers) for best in BEST}
    out.print(shown_as.explained(played, labels))
    return DONE
